"""What checksums cost besides writing and reading: parts and journals of sweeps, and results of single runs.

CPU times of this process, the best of several. Each is measured with checksums and with functions in their place that
compute none; so the same is written and read.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import vinesim as vs
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, figure
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.studies.chunks import Chunk, chunk_of
from vinesim.studies.damage import intact_parts
from vinesim.studies.journal import Journal, read_journals
from vinesim.studies.layout import Layout
from vinesim.studies.parts import write_chunk
from vinesim.studies.rows import read_rows
from vinesim.studies.run import Run

N_RUNS, N_NUMBERS = 1000, 60  # of a part: the most runs that one has, and about what a run's numbers are
LAYOUT = Layout({}, "", ())
WITHOUT: dict[str, Callable[..., Any]] = {
    "vinesim.studies.parts.add_checksum": lambda file: None,
    "vinesim.studies.parts.is_intact": lambda data: True,
    "vinesim.studies.journal.with_checksum": lambda data: data,
    "vinesim.studies.journal.is_intact": lambda data: True,
    "vinesim.formats.results.folder.write_sums": lambda folder: None,
    "vinesim.formats.results.tables.check_sums": lambda *_: [],
}


def run(quick: bool) -> Report:
    n_runs, n_tasks, repeats = (100, 20_000, 2) if quick else (N_RUNS, 1_000_000, 9)
    chunk, numbers = _part(n_runs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            _row(f"write a part of {n_runs:,} runs", repeats, lambda: _write_part(folder, chunk, numbers)),
            _row("read it", repeats, lambda: read_rows(intact_parts(folder))),
            _row(f"write a journal of {n_runs:,} runs", repeats, lambda: _write_journal(folder, numbers)),
            _row("read it", repeats, lambda: read_journals(folder)),
        ]
        scenario = _scenario(n_tasks)
        result = vs.simulate(scenario, engine="compiled")
        write = lambda: write_result(folder / "result", result)  # noqa: E731
        rows += [
            _row(f"write a result of {n_tasks:,} tasks", repeats, write),
            _row("read its tasks", repeats, lambda: _read_result(folder / "result")),
        ]
    note = f"A run has {N_NUMBERS} numbers. Reading a result is one pass of DuckDB over a column of its tasks."
    return Report([Table("What checksums cost", ["", "without, ms", "with, ms", "more"], rows, note)])


def _row(title: str, repeats: int, do: Callable[[], Any]) -> list[str]:
    """Without and with checksums by turns, since the machine's speed drifts."""
    times = []
    for _ in range(repeats):
        with ExitStack() as stack:
            for name, plain in WITHOUT.items():
                stack.enter_context(patch(name, plain))
            without_s, _ = best_of(1, lambda: do)
        with_s, _ = best_of(1, lambda: do)
        times.append((without_s, with_s))
    without_s, with_s = map(min, zip(*times, strict=True))
    return [title, figure(without_s * 1e3), figure(with_s * 1e3), f"{with_s / without_s - 1:.1%}"]


def _part(n_runs: int) -> tuple[Chunk, dict[str, Any]]:
    random = np.random.default_rng(1)
    runs = [Run(i, {}, {}, i, i, f"{i:016x}", 0) for i in range(n_runs)]
    names = [f"jobs.latency_us.number_{k}" for k in range(N_NUMBERS)]
    return chunk_of(runs), {each.run_id: dict(zip(names, random.random(N_NUMBERS), strict=True)) for each in runs}


def _write_part(folder: Path, chunk: Chunk, numbers: dict[str, Any]) -> None:
    write_chunk(folder, chunk, numbers, LAYOUT, is_done=False)


def _write_journal(folder: Path, numbers: dict[str, Any]) -> None:
    (folder / "journal" / "x.jsonl").unlink(missing_ok=True)
    with Journal(folder, "x", ()) as journal:
        for run_id, values in numbers.items():
            journal.add({run_id: values}, {})


def _scenario(n_tasks: int) -> vs.Scenario:
    center = vs.Datacenter.of([("GPU", 0, shelf) for shelf in range(20)])
    return vs.Scenario(center, vs.generator("500jobs").generate({"n_jobs": n_tasks // 5}, seed=0))


def _read_result(folder: Path) -> None:
    with open_result(folder) as result:
        result.rows("SELECT avg(finish_us - arrival_us) FROM tasks")
