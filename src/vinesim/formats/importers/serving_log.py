"""Measurements of a serving engine, by request or by step: CSV, tab-separated text, JSON Lines or Parquet.

Requests have ``input_tokens`` and ``output_tokens`` (or other names that logs use for them), and times in seconds on
one clock: when each was queued, when its first token came, and when its last. Steps have ``prefill_tokens`` (of
prompts, computed in the step), ``sequences`` (that decoded), ``memory_tokens`` (in memory for the sequences of the
step) and ``time_us``.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.csv_files import folder_for, open_log
from vinesim.formats.importers.csv_names import named
from vinesim.formats.source.csv_rows import CsvRows
from vinesim.model.errors import InputError, Problem
from vinesim.model.tokens import COUNTS

TIMES: Mapping[str, tuple[str, ...]] = {  # the names of each column in logs
    "queued": ("queued_ts", "arrival_ts"),
    "first_token": ("first_token_ts",),
    "last_token": ("last_token_ts",),
}
STEP_COLUMNS = ("prefill_tokens", "sequences", "memory_tokens", "time_us")
MOST_TOKENS = 1 << 30
US_PER_S = 1e6


class Requests(NamedTuple):
    """Measured requests in the order in which they were queued; the times are us since the first was."""

    input_tokens: np.ndarray  # [N] int64
    output_tokens: np.ndarray  # [N] int64
    queued_us: np.ndarray  # [N]
    first_token_us: np.ndarray  # [N]
    last_token_us: np.ndarray  # [N]


class StepTimes(NamedTuple):
    """Measured steps, in the order of the log."""

    prefill_tokens: np.ndarray  # [S]
    sequences: np.ndarray  # [S] that decoded
    memory_tokens: np.ndarray  # [S]
    time_us: np.ndarray  # [S]


def read_serving_log(path: Path) -> Requests | StepTimes:
    """Read a log of requests or of steps; its columns say which. Raises :class:`InputError` with every problem."""
    with folder_for(path) as folder:
        source, first_line = open_log(path, folder)
        header = list(source.columns)
        is_steps = {"prefill_tokens", "time_us"} <= set(header)
        names = _names(path, header, is_steps)
        select = ", ".join(f"{source.columns[own]}::VARCHAR AS {name}" for name, own in names.items())
        table = source.query(f"SELECT {select} FROM {source.sql}")
    found = CsvRows(str(path))
    for row, texts in enumerate(zip(*(table[name].tolist() for name in names), strict=True)):
        if any(texts):  # a line of JSON Lines may be empty
            found.rows.append(
                (row + first_line, dict(zip(names, ("" if t is None else t for t in texts), strict=True)))
            )
    if not found.rows:
        found.add(first_line, "at least one row", "none")
        found.raise_problems()
    return _steps(found, names) if is_steps else _requests(found, names)


def _names(path: Path, header: list[str], is_steps: bool) -> dict[str, str]:
    """Return the name of each column in the log. Raises :class:`InputError` for missing columns."""
    known = {name: (name,) for name in STEP_COLUMNS} if is_steps else TIMES
    found = {name: next((own for own in owns if own in header), "") for name, owns in known.items()}
    if not is_steps:
        found = {name: next((own for own in header if named(own).stem == name), "") for name in COUNTS} | found
    problems = [
        Problem(f"{path}:1", "a column " + " or ".join(known.get(name, (name,))), ", ".join(header)[:80])
        for name, own in found.items()
        if not own
    ]
    if problems and not is_steps:
        steps = ", ".join(STEP_COLUMNS)
        problems[-1] = replace(problems[-1], remedy=f"A log of steps has the columns {steps} instead.")
    if problems:
        raise InputError(problems)
    return found


def _requests(found: CsvRows, names: Mapping[str, str]) -> Requests:
    rows = []
    for line, row in found.rows:
        tokens = [found.number(line, names[n], row[n], least=1, most=MOST_TOKENS, is_whole=True) for n in COUNTS]
        queued, first, last = (found.number(line, names[n], row[n], least=0) for n in TIMES)
        if first < queued or last < first:
            found.add(line, "times that rise from queued to first token to last token", f"{queued}, {first}, {last}")
        rows.append((*tokens, queued, first, last))
    found.raise_problems()
    table = np.array(sorted(rows, key=lambda row: row[2]), np.float64).reshape(-1, len(names))
    times_us = (table[:, 2:] - table[0, 2]) * US_PER_S
    return Requests(*table[:, :2].T.astype(np.int64), *times_us.T)


def _steps(found: CsvRows, names: Mapping[str, str]) -> StepTimes:
    rows = [[found.number(line, name, row[name], least=0) for name in names] for line, row in found.rows]
    found.raise_problems()
    return StepTimes(*np.array(rows, np.float64).reshape(-1, len(STEP_COLUMNS)).T)
