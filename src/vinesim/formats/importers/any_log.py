"""Read arrivals, sizes and users from any form of log that VineSim knows: SWF, a workload's table, a list of times."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vinesim.formats.importers.request_times import read_request_times
from vinesim.formats.importers.swf import read_swf
from vinesim.formats.source.files import is_table
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload
from vinesim.workloads.fit_log import check_span


@dataclass(frozen=True, eq=False)
class Log:
    """The arrivals, sizes and users of the J jobs of a log."""

    arrival_us: np.ndarray  # [J], increasing
    sizes: np.ndarray | None = None  # [J]; None if the log has none
    is_time: bool = True  # whether sizes are times, us; otherwise they are operations
    user: np.ndarray | None = None  # [J] codes
    n_tasks: np.ndarray | None = None  # [J]
    demand: np.ndarray | None = None  # [J]; NaN stands for one slot


def read_log(path: Path, time: str | None = None) -> Log:
    """Read a log whose format follows from its suffix: .swf, .swf.gz, or .csv and .parquet for a workload's table.

    With ``time``, it is a CSV file, and that column holds seconds or dates. Raises :class:`InputError`.
    """
    if time is not None:
        return Log(read_request_times(path, time)[0])
    if ".swf" in path.suffixes:
        return _of_workload(read_swf(path)[0], is_time=True)
    if is_table(str(path)):
        from vinesim.formats.scenario.workload_table import read_with_places  # importing DuckDB takes 0.1 s

        work, place, _ = read_with_places(path)
        check_span(work.arrival_us, place(int(work.job_first[-2])))
        return _of_workload(work, is_time=work.times_us is not None)
    expected = "a name that ends in .swf, .swf.gz, .csv or .parquet; or --time COLUMN for a CSV file of requests"
    raise InputError([Problem(str(path), expected, path.name)])


def _of_workload(work: Workload, *, is_time: bool) -> Log:
    first = work.job_first[:-1]
    counts = np.diff(work.job_first)
    sizes = work.operations
    if work.times_us is not None:
        known = np.isfinite(work.times_us)
        sizes = np.where(known, work.times_us, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return Log(
        work.arrival_us,
        np.add.reduceat(sizes, first) / counts,
        is_time,
        work.application,
        counts,
        None if work.demand is None else work.demand[first],
    )
