"""Convert a log with one request per row, a CSV file with a column of times, to a series of counts."""

import os
from pathlib import Path
from typing import Annotated

import numpy as np

from vinesim.formats.importers.counts import to_time_us
from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.report import ImportReport, zone_assumed
from vinesim.formats.source.clock import is_without_zone
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.formats.source.files import replacing
from vinesim.formats.source.quantities import format_time_us, time_us
from vinesim.model.errors import InputError, Problem

MAX_INTERVALS = 10_000_000


def import_requests(
    log: Annotated[Path, Argument("A CSV file with a header line and one request per line, plain or gzip.")],
    *,
    time: Annotated[str, Option("The column of times: seconds, or dates.", metavar="COLUMN")],
    interval: Annotated[str, Option("Length of the intervals in which requests are counted.")] = "1 s",
    output: Annotated[Path, Option("The series of counts, a CSV file.", short="-o")],
) -> Imported:
    """Turn a request log into counts per interval for the generator `requests`."""
    interval_us = time_us(interval, "--interval")
    times_us, report = read_request_times(log, time)
    counts = counted(times_us, interval_us)
    write_counts(output, counts, interval_us)
    most, span_us = int(counts.max()), float(times_us[-1])
    span, each = format_time_us(span_us), format_time_us(interval_us)
    report.made = f"{len(times_us):,} requests in {span}, at most {most:,} in {each}"
    report.numbers = {"requests": len(times_us), "span_us": span_us, "most_in_an_interval": most}
    return Imported(report, output, f"{len(counts):,} intervals", arrival_us=times_us)


IMPORTER = Importer("requests", import_requests)


def read_request_times(path: str | os.PathLike[str], column: str) -> tuple[np.ndarray, ImportReport]:
    """Return the sorted times of the requests, us since the first one, and a report.

    ``column`` holds seconds, or dates as in a series of counts. Raises :class:`InputError` with every problem.
    """
    found = read_csv_rows(path, (column,))
    times = []
    for line, row in found.rows:
        time = to_time_us(row[column])
        if time is None:
            found.add(line, f"{column}: a time in seconds, or a date", repr(row[column])[:40])
        else:
            times.append(time)
    found.raise_problems()
    report = ImportReport(str(path), len(found.rows), unused=found.unused)
    n_without = sum(is_without_zone(row[column]) for _, row in found.rows)
    if n_without:
        report.time_zone = zone_assumed(n_without)
    return np.sort(np.array(times)) - min(times), report


def counted(times_us: np.ndarray, interval_us: float) -> np.ndarray:
    """Count the times (increasing, from 0) in each interval. Raises :class:`InputError`."""
    n = times_us[-1] / interval_us if interval_us > 0 else 0.0
    if not 1 <= n < MAX_INTERVALS:
        expected = f"a time that divides the {times_us[-1] / 1e6:g} s of the log into 2 to {MAX_INTERVALS:,} intervals"
        raise InputError([Problem("interval", expected, f"{interval_us / 1e6:g} s")])
    return np.bincount((times_us / interval_us).astype(np.int64))


def write_counts(path: str | os.PathLike[str], counts: np.ndarray, interval_us: float) -> None:
    """Write ``time,count`` lines, in seconds from 0, for ``read_counts`` to read. Raises :class:`InputError`."""
    with replacing(path) as draft, open(draft, "w", encoding="utf-8") as stream:
        stream.write("time_s,requests\n")
        stream.writelines(f"{i * interval_us / 1e6:.12g},{n}\n" for i, n in enumerate(counts.tolist()))
