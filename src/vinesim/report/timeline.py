"""The tasks of a result on their units as a timeline: Chrome's trace events in JSON, which Perfetto opens.

A rack is a process, and a unit is a thread. Each stay of a task on a unit is a slice; if its data had to be
transferred, the slice contains the transfer and the execution. The slice of a further unit that a task held has its
``part``. Tasks that share a unit at the same time get a thread each. Source: the Trace Event Format: complete events
(X), counters (C), metadata (M); times in us.
"""

import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.files import replacing
from vinesim.metrics.gaps import waits_us
from vinesim.model.errors import InputError, Problem

MAX_SLICES = 1_000_000

_IN_WINDOW = "FROM held WHERE begin_us < $to_us AND coalesce(end_us, $end_us) >= $from_us"
_SLICES = f"""
SELECT task, job, {{job_id}} AS job_id, task_type, unit, part, units.rack, begin_us, stay.start_us, end_us, outcome,
    share, eligible_us
FROM (SELECT * {_IN_WINDOW}) AS stay JOIN (SELECT task, job, task_type, eligible_us FROM tasks) AS tasks USING (task)
JOIN units USING (unit) ORDER BY begin_us, task, part LIMIT $n
"""  # noqa: S608
_OF_SEVERAL = f"""
SELECT task, begin_us, end_us FROM held WHERE part = 0 AND begin_us < $to_us
    AND task IN (SELECT task {_IN_WINDOW} AND segment > 0) ORDER BY task, segment
"""  # noqa: S608
_SAMPLES = """
SELECT t_start_us, "group", utilization, active FROM utilization WHERE t_start_us < $to_us AND t_end_us > $from_us
ORDER BY t_start_us, "group"
"""

Event = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """The counts of what a timeline contains."""

    n_tasks: int
    n_slices: int  # more than tasks if some were interrupted or moved, or held several units
    n_in_window: int  # slices in the window, including those beyond the limit
    n_units: int


@dataclass
class _Lanes:
    """The threads: for each unit, the time at which each of its lanes becomes free, us."""

    free_us: dict[int, list[float]] = field(default_factory=dict)
    rack: dict[int, int] = field(default_factory=dict)
    tasks: set[int] = field(default_factory=set)
    n_slices: int = 0

    def take(self, task: int, unit: int, rack: int, begin_us: float, end_us: float) -> int:
        """Return the first free lane of the unit, or a new one."""
        lanes = self.free_us.setdefault(unit, [])
        self.rack[unit] = rack
        self.tasks.add(task)
        self.n_slices += 1
        for lane, free in enumerate(lanes):
            if free <= begin_us:
                lanes[lane] = end_us
                return lane
        lanes.append(end_us)
        return len(lanes) - 1


def write_timeline(
    folder: str | Path,
    output: str | Path,
    from_us: float | str = 0.0,
    to_us: float | str | None = None,
    max_slices: int = MAX_SLICES,
) -> Written:
    """Write what ran on the units between two times: at most ``max_slices`` slices, the earliest first.

    Times are in us, or texts such as ``3 h``, or dates if the run has dates. The file is compressed if its name ends in
    ``.gz``. Raises :class:`~vinesim.model.errors.InputError`.
    """
    problems = [] if max_slices > 0 else [Problem("--limit", "at least 1", f"{max_slices}")]
    with open_result(folder) as result, replacing(output) as draft:
        try:
            since_us, until_us = result.clock.window_us(from_us, to_us)
        except InputError as error:
            problems += error.problems
        if problems:
            raise InputError(problems)
        window = {"from_us": since_us, "to_us": until_us}
        ended = {**window, "end_us": float(result.summary["makespan_us"])}
        in_window = result.rows(f"SELECT count(*) {_IN_WINDOW}", ended)[0][0]
        lanes = _Lanes()
        with _text_file(draft, is_packed=Path(output).suffix == ".gz") as text:
            text.write('{"displayTimeUnit":"ns","traceEvents":[\n')
            encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
            for i, event in enumerate(_events(result, lanes, window, {**ended, "n": max_slices})):
                text.write((",\n" if i else "") + encode(event))
            began = {"otherData": {"time 0": result.clock.at(0.0)}} if result.clock.start else {}
            text.write("\n]" + "".join(f",{encode(name)}:{encode(value)}" for name, value in began.items()) + "}\n")
        return Written(len(lanes.tasks), lanes.n_slices, in_window, len(lanes.free_us))


@contextmanager
def _text_file(path: Path, is_packed: bool) -> Iterator[TextIO]:
    """Open a file for UTF-8 text, compressed or not; the same text gives the same bytes."""
    with path.open("wb") as raw:
        if not is_packed:
            with io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
                yield text
            return
        with (
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            io.TextIOWrapper(packed, "utf-8", newline="\n") as text,
        ):
            yield text


def _events(result: ResultTables, lanes: _Lanes, window: dict[str, Any], chosen: dict[str, Any]) -> Iterator[Event]:
    n_units, n_racks = result.rows("SELECT count(*), max(rack) + 1 FROM units")[0]
    names = result.task_types
    clock = result.clock
    numbered = "(SELECT job_id FROM jobs WHERE jobs.job = tasks.job)" if result.has("jobs", "job_id") else "NULL"
    runs: dict[int, list[tuple[float, float]]] = {}
    for task, begin_us, end_us in result.rows(_OF_SEVERAL, {name: chosen[name] for name in (*window, "end_us")}):
        runs.setdefault(task, []).append((begin_us, end_us))
    for rows in result.in_pieces(_SLICES.format(job_id=numbered), chosen):
        for row, wait_us in zip(rows, _waits_us(rows, runs), strict=True):
            yield from _slices(row, wait_us, lanes, names, n_units, chosen["end_us"], result.is_shared, clock)
    if "utilization" in result.names:
        yield _named("process_name", n_racks, 0, "utilisation")
        for rows in result.in_pieces(_SAMPLES, window):
            for begin_us, group, allocated, active in rows:
                both = {f"{group}, allocated": allocated, f"{group}, active": active}
                for name, share in (both if result.is_shared else {group: allocated}).items():
                    args = {"percent": round(100 * share, 3)}
                    yield {"ph": "C", "name": name, "pid": n_racks, "tid": 0, "ts": begin_us, "args": args}
    yield from _names(result, lanes, n_units)


def _waits_us(rows: Sequence[tuple[Any, ...]], runs: Mapping[int, Sequence[tuple[float, float]]]) -> list[float]:
    """Return how long the task of each slice waited before the slice, us, given the runs of tasks that have several."""
    task, begin_us, eligible_us = (np.array([row[i] for row in rows]) for i in (0, 7, 12))
    earlier = [(i, *run) for i, one in enumerate(task.tolist()) for run in runs.get(one, ()) if run[0] < begin_us[i]]
    of, *times_us = np.array(earlier, np.float64).reshape(-1, 3).T
    return waits_us(begin_us, eligible_us, of.astype(np.int64), *times_us).tolist()


def _slices(
    row: tuple[Any, ...],
    wait_us: float,
    lanes: _Lanes,
    names: dict[int, str],
    n_units: int,
    run_end_us: float,
    is_shared: bool,
    clock: Clock,
) -> Iterator[Event]:
    """Yield the slice of a task on a unit and, if there was a transfer, the slices of transfer and execution in it."""
    task, job, job_id, task_type, unit, part, rack, begin_us, start_us, end_us, outcome, share, _ = row
    end = run_end_us if end_us is None else end_us
    place = {"pid": rack, "tid": unit + n_units * lanes.take(task, unit, rack, begin_us, end)}
    args: dict[str, Any] = {"task": task, "job": job, **({} if job_id is None else {"job_id": job_id})}
    args |= {"wait_us": wait_us, **({"begins": clock.at(begin_us), "ends": clock.at(end)} if clock.start else {})}
    if is_shared:
        args["percent_of_unit"] = round(100 * share, 3)
    if part:
        args["part"] = part  # a further unit that the task held
    if outcome != "finished":
        args[outcome] = True
    yield {
        "ph": "X",
        "name": names[task_type],
        "cat": "task",
        **place,
        "ts": begin_us,
        "dur": end - begin_us,
        "args": args,
    }
    there = end if start_us is None else start_us
    if there > begin_us:
        yield {"ph": "X", "name": "transfer", "cat": "transfer", **place, "ts": begin_us, "dur": there - begin_us}
        if end > there:
            yield {"ph": "X", "name": "execution", "cat": "execution", **place, "ts": there, "dur": end - there}


def _names(result: ResultTables, lanes: _Lanes, n_units: int) -> Iterator[Event]:
    """Yield the names and order of the racks and units."""
    types, places = result.processor_types, result.place_names
    for rack in sorted(set(lanes.rack.values())):
        yield _named("process_name", rack, 0, places.rack(rack))
        yield {"ph": "M", "name": "process_sort_index", "pid": rack, "tid": 0, "args": {"sort_index": rack}}
    for unit, unit_type, shelf in result.rows("SELECT unit, unit_type, shelf FROM units ORDER BY unit"):
        for lane in range(len(lanes.free_us.get(unit, ()))):
            place = (lanes.rack[unit], unit + n_units * lane)
            again = f" ({lane + 1})" if lane else ""
            yield _named(
                "thread_name",
                *place,
                f"{places.shelf(lanes.rack[unit], shelf)}: {types[unit_type]}, unit {unit}{again}",
            )
            sort = {"sort_index": unit}
            yield {"ph": "M", "name": "thread_sort_index", "pid": place[0], "tid": place[1], "args": sort}


def _named(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}
