"""Count the waiting tasks at each moment of a run, and find when the queue begins to grow faster than it is served.

A task waits from when its job is eligible until a unit takes it, and again after a segment that an outage, a failure or
a preemption ended. A task that never starts waits until its job is withdrawn, the policy drops it, or the run ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vinesim.formats.results.tables import ResultTables
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.segments import Segments
from vinesim.metrics.tables import Tables
from vinesim.model.result import FAILED, INTERRUPTED, MOVED, PREEMPTED, PREFILLED

_ROUNDING = 1e-9  # tasks
_LOW = 0.1  # share of the peak; a shorter queue counts as cleared


@dataclass(frozen=True)
class Queue:
    """A step function: ``length`` [n] tasks wait from ``time_us`` [n] on, until the run ends at ``end_us``."""

    time_us: np.ndarray
    length: np.ndarray
    end_us: float

    def means(self, edges: np.ndarray) -> np.ndarray:
        """Return the mean length in each interval between the edges, us: [len(edges) - 1]."""
        times = np.r_[self.time_us, max(self.end_us, self.time_us[-1])]
        area = np.r_[0.0, np.cumsum(self.length * np.diff(times))]
        return np.diff(np.interp(edges, times, area)) / np.diff(edges)

    @property
    def waited_us(self) -> float:
        """The total waiting time of all tasks, us."""
        return float((self.length * np.diff(np.r_[self.time_us, self.end_us])).sum())


@dataclass(frozen=True)
class TippingPoint:
    """The point from which the queue grew to its peak without clearing in between."""

    begin_us: float  # the last time before the peak when the queue was at most a tenth of it
    peak_us: float
    end_us: float | None  # when it was that short again; None: not by the end of the run
    peak: int  # tasks
    share: float  # of the run's total waiting, between begin and end


def queues_of(result: ResultTables, task_types: Iterable[int | None]) -> list[Queue]:
    """Return the queue of a stored run for each given task type; None stands for all tasks."""
    end_us = float(result.summary["makespan_us"])
    run = StoredColumns(result)
    time_us, step, task = _changes(run.segments(), run.given_up(), run.of("tasks", "eligible_us")[0], end_us)
    task_type = run.of("tasks", "task_type")[0][task]
    order = np.argsort(time_us, kind="stable")
    time_us, step, task_type = time_us[order], step[order], task_type[order]
    every = np.ones(len(time_us), bool)
    masks = [every if code is None else task_type == code for code in task_types]
    return [_queue(time_us[mine], step[mine].astype(np.int64), end_us) for mine in masks]


def _changes(
    segments: Segments, given_up: tuple[np.ndarray, np.ndarray], eligible_us: np.ndarray, end_us: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the time of each change of the queue, us; 1 for a task that enters or -1 for one that leaves; the task."""
    gone, gone_us = given_up
    came = np.flatnonzero(eligible_us <= end_us)
    began = np.flatnonzero((segments.row == np.arange(len(segments.row))) & (segments.unit >= 0))
    again = np.flatnonzero(segments.ended_by(PREEMPTED, MOVED, INTERRUPTED, FAILED, PREFILLED))
    time_us = np.r_[eligible_us[came], segments.begin_us[began], segments.end_us[again], gone_us]
    step = np.repeat(np.array([1, -1, 1, -1], np.int8), [len(came), len(began), len(again), len(gone)])
    return time_us, step, np.r_[came, segments.task[began], segments.task[again], gone]


def _queue(time_us: np.ndarray, step: np.ndarray, end_us: float) -> Queue:
    if not len(time_us):
        return Queue(np.zeros(1), np.zeros(1, np.int64), end_us)
    last = np.r_[time_us[1:] != time_us[:-1], True]  # simultaneous changes count as one
    return Queue(time_us[last], np.cumsum(step)[last], end_us)


def tipping_point(queue: Queue, n_units: int) -> TippingPoint | None:
    """Return when the queue began to outgrow the datacenter; None if it never had more tasks than there are units."""
    at = int(np.argmax(queue.length))
    peak = int(queue.length[at])
    if peak <= n_units:
        return None
    is_low = queue.length <= _LOW * peak
    before, after = np.flatnonzero(is_low[:at]), np.flatnonzero(is_low[at:])
    first = int(before[-1]) + 1 if len(before) else 0
    end = at + int(after[0]) if len(after) else None
    until = queue.end_us if end is None else float(queue.time_us[end])
    window = np.array([queue.time_us[first], until])
    inside = float(queue.means(window)[0] * (window[1] - window[0])) if window[1] > window[0] else 0.0
    return TippingPoint(
        begin_us=float(queue.time_us[first]),
        peak_us=float(queue.time_us[at]),
        end_us=None if end is None else until,
        peak=peak,
        share=inside / queue.waited_us if queue.waited_us > 0 else 0.0,
    )


def mean_queues(tables: Tables, task_types: Iterable[int | None], n_intervals: int) -> list[np.ndarray]:
    """Return the mean number of waiting tasks in each of ``n_intervals`` equal intervals of a run in memory, for each
    given task type; None stands for all tasks."""
    end_us = float(tables.makespan_us)
    time_us, step, task = _changes(tables.segments, tables.given_up, tables.task_eligible_us, end_us)
    task_type = np.repeat(tables.scenario.workload.job_task_type, tables.counts)[task]
    width = end_us / n_intervals
    at = np.minimum((time_us / width).astype(np.int64), n_intervals - 1)
    rest = step * ((at + 1) * width - time_us)
    found = []
    for code in task_types:
        own = slice(None) if code is None else task_type == code
        inside, steps = (np.bincount(at[own], weight[own], n_intervals) for weight in (rest, step))
        mean = inside / width + np.cumsum(steps) - steps
        found.append(np.where(mean < _ROUNDING, 0.0, mean))
    return found
