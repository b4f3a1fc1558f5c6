"""Read the token counts of the requests of a log: CSV, tab-separated text, JSON Lines or Parquet, plain or gzip."""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
import os
from pathlib import Path

import numpy as np

from vinesim.formats.importers.csv_files import folder_for, in_log, open_log
from vinesim.formats.importers.csv_names import named
from vinesim.formats.scenario.workload_cells import is_wrong, number_of, wrong_cells
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.tokens import COUNTS


def read_token_counts(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of the prompt and of the answer of each request. Raises :class:`InputError`.

    The columns have these names, or others that logs use for them, such as ``ContextTokens``.
    """
    log = Path(path)
    with folder_for(log) as folder:
        source, first_line = open_log(log, folder)
        match = _matched(source, log)
        cells = {ours: source.columns[name] for ours, (name, _) in match.items()}
        wrong = {ours: is_wrong(ours, cell, is_text=source.is_csv) for ours, cell in cells.items()}
        empty = {ours: f"({cells[ours]} IS NULL OR {wrong[ours]})" for ours in COUNTS}
        rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
        if problems := wrong_cells(source, rows, match, empty):
            raise in_log(InputError(problems), log, source.path, lambda row: row + first_line)
        select = ", ".join(f"{number_of(ours, cells[ours])} AS {ours}" for ours in COUNTS)
        table = source.query(f"SELECT {select} FROM {source.sql}")
    if not len(table[COUNTS[0]]):
        raise InputError([Problem(str(path), "at least one request", "none")])
    first, second = (np.asarray(table[ours], np.int64) for ours in COUNTS)
    return first, second


def _matched(source: TableSource, log: Path) -> dict[str, tuple[str, float]]:
    """Return the log's columns of tokens by VineSim's names."""
    found = {named(name).stem: (name, 1.0) for name in reversed(source.columns)}
    present = ", ".join(source.columns)[:80]
    problems = [Problem(str(log), f"a column {ours}", present) for ours in COUNTS if ours not in found]
    if problems:
        raise InputError(problems)
    return {ours: found[ours] for ours in COUNTS}
