"""What was measured of a serving engine: its requests, or its steps. CSV with a header line, or JSON Lines; plain or
gzip.

Requests have ``input_tokens``, ``output_tokens``, and times in seconds on one clock: when each was queued, when it had
its first token and when its last. Steps have ``prefill_tokens`` (of prompts, computed in the step), ``sequences`` (that
decoded), ``memory_tokens`` (in memory of the sequences of the step) and ``time_us``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vinesim.formats.source.csv_rows import CsvRows, csv_records, read_csv_rows
from vinesim.formats.source.files import lines_of
from vinesim.model.errors import InputError, Problem

NAMES: Mapping[str, tuple[str, ...]] = {  # of each column, the names that logs give it; the first is ours
    "input_tokens": ("input_tokens", "input_toks"),
    "output_tokens": ("output_tokens", "output_toks"),
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
    """Read a log; its columns say of what it is. Raises :class:`InputError` with every problem."""
    header = _header(path)
    is_steps = {"prefill_tokens", "time_us"} <= set(header)
    names = {name: name for name in STEP_COLUMNS} if is_steps else _names(path, header)
    columns = list(names.values())
    found = _json_rows(path, columns) if _is_json(path) else read_csv_rows(path, columns)
    return _steps(found) if is_steps else _requests(found, names)


def _is_json(path: Path) -> bool:
    return any(suffix in (".jsonl", ".ndjson") for suffix in path.suffixes)


def _header(path: Path) -> list[str]:
    if _is_json(path):
        _, first = next(_documents(path), (1, {}))
        return list(first) if isinstance(first, dict) else []
    _, fields = next(csv_records(path), (1, []))
    return [name.strip() for name in fields]


def _names(path: Path, header: list[str]) -> dict[str, str]:
    """Return the log's name of each column. Raises :class:`InputError` for those it lacks."""
    found = {name: next((own for own in known if own in header), "") for name, known in NAMES.items()}
    problems = [
        Problem(f"{path}:1", "a column " + " or ".join(NAMES[name]), ", ".join(header)[:80] or "nothing")
        for name, own in found.items()
        if not own
    ]
    if problems:
        steps = ", ".join(STEP_COLUMNS)
        problems[-1] = replace(problems[-1], remedy=f"A log of steps has the columns {steps} instead.")
        raise InputError(problems)
    return found


def _documents(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield what each line of a file of JSON Lines holds, with its number; None for what is no JSON."""
    for number, line in enumerate(lines_of(path), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError:
                yield number, None


def _json_rows(path: Path, columns: list[str]) -> CsvRows:
    """Return the rows of a file of JSON Lines, with their values as text."""
    found = CsvRows(str(path))
    for number, given in _documents(path):
        if not isinstance(given, dict):
            found.add(number, "a JSON object in each line", "something else")
        elif missing := [name for name in columns if name not in given]:
            found.add(number, "a value of " + ", ".join(missing), "none")
        else:
            found.rows.append((number, {name: json.dumps(given[name]) for name in columns}))
    return found


def _requests(found: CsvRows, names: dict[str, str]) -> Requests:
    rows, columns = [], list(names.values())
    for line, row in found.rows:
        tokens = [found.number(line, n, row[n], least=1, most=MOST_TOKENS, is_whole=True) for n in columns[:2]]
        queued, first, last = (found.number(line, n, row[n], least=0) for n in columns[2:])
        if first < queued or last < first:
            found.add(line, "times that rise from queued to first token to last token", f"{queued}, {first}, {last}")
        rows.append((*tokens, queued, first, last))
    found.raise_problems()
    table = np.array(sorted(rows, key=lambda row: row[2]), np.float64).reshape(-1, len(NAMES))
    times_us = (table[:, 2:] - table[0, 2]) * US_PER_S
    return Requests(*table[:, :2].T.astype(np.int64), *times_us.T)


def _steps(found: CsvRows) -> StepTimes:
    rows = [[found.number(line, name, row[name], least=0) for name in STEP_COLUMNS] for line, row in found.rows]
    found.raise_problems()
    return StepTimes(*np.array(rows, np.float64).reshape(-1, len(STEP_COLUMNS)).T)
