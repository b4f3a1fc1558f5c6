"""The cells of a workload's table as SQL expressions: convert numbers and names, and find wrong cells."""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import math
from collections.abc import Mapping, Sequence

import numpy as np

from vinesim.formats.scenario.workload_columns import (
    COMPANION,
    LIMITS,
    NULLABLE,
    TIME_ANYWHERE,
    WORDS,
    is_amount,
    kind_of,
    right_of,
    word_of_infinity,
)
from vinesim.formats.source.database import name_of, text_of
from vinesim.formats.source.quantities import AMOUNTS, QUANTITY, SIZES
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource
from vinesim.model.catalog import ANY_PROCESSOR
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.workload_columns import Values

MAX_LINES = 5  # problems shown per column


def first_rows(row_of: np.ndarray, is_wrong: np.ndarray) -> list[int]:
    """Return the first rows with errors, each once, because one row may stand for all tasks of a gang."""
    rows = row_of[np.flatnonzero(is_wrong)]
    first = np.sort(np.unique(rows, return_index=True)[1])
    return [int(row) for row in rows[first[:MAX_LINES]]]


def number_of(name: str, cell: str | None) -> str:
    """Return the cell as a number in SQL; null if it holds none."""
    if cell is not None and is_amount(name):
        return amount_of(name, cell)
    number = f"TRY_CAST({cell} AS {kind_of(name)})"
    word = word_of_infinity(name)
    return f"CASE WHEN {cell}::VARCHAR = '{word}' THEN 'inf'::DOUBLE ELSE {number} END" if word else number


def amount_of(name: str, cell: str) -> str:
    """Return an amount in SQL: a number, or a size or a bandwidth with its unit, as ``quantities.amount`` reads it."""
    units = SIZES if name == "memory" else AMOUNTS
    number, unit = (f"regexp_extract({cell}::VARCHAR, {text_of(f'^{QUANTITY}$')}, {i})" for i in (1, 2))
    cases = " ".join(
        f"WHEN '{suffix}' THEN TRY_CAST({number} AS DOUBLE) * {by}::DOUBLE / {over}::DOUBLE"
        for suffix, (by, over) in units.items()
    )
    return f"coalesce(TRY_CAST({cell} AS DOUBLE), CASE {unit} {cases} END)"


def is_wrong(name: str, cell: str, is_text: bool) -> str:
    """Return an SQL condition that is true if the cell holds no valid number for the column."""
    number = amount_of(name, cell) if is_amount(name) else f"TRY_CAST({cell} AS DOUBLE)"
    values, word = right_of(name), word_of_infinity(name) if is_text else ""
    if kind_of(name) in LIMITS:
        least = max(values.least, -LIMITS["BIGINT"])
        right = f"{number} >= {least:.0f} AND {number} < {LIMITS[kind_of(name)]} AND {number} = floor({number})"
    else:
        right = _in(values, number, may_be_infinite=values.may_be_infinite and not word)
    if word:
        right = f"{cell} = '{word}' OR ({right})"
    if name == "gpus":
        right = f"{number} >= 0 AND {number} < {LIMITS['INTEGER']} AND ({number} = floor({number}) OR {number} < 1)"
    is_time = name.startswith(TIME_ANYWHERE)
    if is_time and not is_text:  # some tools write NaN for missing values
        right = f"({right}) OR isnan({number})"
    wrong = f"NOT coalesce({right}, false)"
    return f"{cell} IS NOT NULL AND {wrong}" if is_time or name in NULLABLE or COMPANION.fullmatch(name) else wrong


def _in(values: Values, number: str, may_be_infinite: bool) -> str:
    """Return an SQL condition that is true if a number is within the bounds of the values, whole or not."""
    if values.least == -math.inf:
        return f"abs({number}) < 'inf'::DOUBLE"
    right = f"{number} {'>' if values.is_above else '>='} {values.least!r}"
    if not may_be_infinite:
        return f"{right} AND {number} < 'inf'::DOUBLE"
    return right if values.may_be_nan else f"{right} AND NOT isnan({number})"  # NaN counts as null, above all numbers


def wrong_cells(
    source: TableSource, rows: str, match: Mapping[str, tuple[str, float]], wrong: Mapping[str, str]
) -> list[Problem]:
    """Return the first problems of cells, in the order of the rows."""
    select = [
        f"{part} AS {name_of(f'{kind} {ours}')}"
        for ours, condition in wrong.items()
        for kind, part in (("is", condition), ("text", f"{_as_written(source, match[ours][0])}::VARCHAR"))
    ]
    some = " OR ".join(f"({condition})" for condition in wrong.values())
    table = source.query(
        f"SELECT _row, {', '.join(select)} FROM {rows} WHERE {some} ORDER BY _row LIMIT {MAX_PROBLEMS}"
    )
    columns = {name: values.tolist() for name, values in table.items()}
    found = []
    for i, row in enumerate(columns["_row"]):
        for ours in wrong:
            if columns[f"is {ours}"][i]:
                given = match[ours][0]
                expected = source.written[given][1] if given in source.written else _expected(ours)
                found.append((row, given, expected, columns[f"text {ours}"][i]))
    return source.cells(found[:MAX_PROBLEMS])


def _as_written(source: TableSource, column: str) -> str:
    """Return SQL for a column's unconverted cells."""
    return source.written[column][0] if column in source.written else source.columns[column]


def _expected(ours: str) -> str:
    """Return what a cell of a column of numbers should hold, in words."""
    kind = "a whole number" if kind_of(ours) in LIMITS or ours == "gpus" else "a number"
    values = right_of(ours)
    least = f" above {values.least:g}" if values.is_above else f", {values.least:g} or more"
    least = "" if values.least == -math.inf else least
    word = "a share below 1" if ours == "gpus" else word_of_infinity(ours)
    return kind + least + (f", or {word}" if word else ", or with a unit: 16 GiB" if is_amount(ours) else "")


def check_names(source: TableSource, cells: Mapping[str, str], names: Mapping[str, list[str]]) -> None:
    """Raise :class:`InputError` for types that are not defined."""
    problems = []
    for name in ("task_type", "preferred_type"):
        for used in used_names(source, cells.get(name)):
            if used not in names[name] and used != ANY_PROCESSOR:
                remedy = did_you_mean(used, names[name]) or "Define the type first."
                problems.append(
                    Problem(f"{source.path}: {name}", "one of " + ", ".join(names[name]), repr(used), remedy)
                )
    for name in set(WORDS) & set(cells):
        for used in used_names(source, cells[name]):
            if used not in WORDS[name]:
                remedy = did_you_mean(used, WORDS[name])
                problems.append(Problem(f"{source.path}: {name}", " or ".join(WORDS[name]), repr(used), remedy))
    if problems:
        raise InputError(problems)


def used_names(source: TableSource, column: str | None) -> list[str]:
    """Return the names in a column, sorted."""
    if column is None:
        return []
    used = source.query(
        f"SELECT DISTINCT {column}::VARCHAR AS t FROM {source.sql} WHERE {column} IS NOT NULL ORDER BY t"
    )
    return [str(name) for name in used["t"].tolist()]


def list_of(names: Sequence[str]) -> str:
    """Return a list of names in SQL."""
    return f"CAST([{', '.join(map(text_of, names))}] AS VARCHAR[])"
