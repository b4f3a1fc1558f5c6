"""A lower bound on the number of deadlines that any scheduler misses."""

from collections.abc import Mapping

import numpy as np

from vinesim.model.alone import alone_us
from vinesim.model.application import listed_by_code
from vinesim.model.arrays import distinct
from vinesim.model.consolidation import largest_sizes
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ONE_SLOT
from vinesim.state.demand import amounts

WINDOWS_US = (1e4, 1e5, 1e6, 1e7, 1e8)


def least_missed(scenario: Scenario, windows_us: tuple[float, ...] = WINDOWS_US) -> dict[str, int]:
    """Return the least number of requests that miss their deadline, even if the scheduler knows all times in advance.

    ``alone``: requests that even the fastest unit, idle at their arrival, could not finish in time. ``crowded``:
    further requests that capacity rules out. Time is cut into windows. A request that arrives and is due within one
    window needs a share of the window's capacity to be on time: at least the time that it adds to a leader with as many
    followers as allowed, on the unit type where that is the smallest share. The bound assumes free sharing and
    splitting, full consolidation, and types that a request cannot use idle for it, so no schedule can do better, and
    most cannot reach it. The best bound over several window lengths is returned. A job with several tasks counts as its
    largest task. Raises :class:`InputError` for serving engines, whose requests take no time that adds up.
    """
    work, center = scenario.workload, scenario.datacenter
    if len(scenario.engine_types):
        expected = "no batching, as the bound adds up times that requests take alone"
        raise InputError([Problem(("processor_types",), expected, "batching")])
    if work.deadline_us is None:
        return {"alone": 0, "crowded": 0, "missed": 0}
    time, added = _least_times(scenario)
    room = work.deadline_us - work.arrival_us
    deployed = distinct(center.unit_type)
    alone = ~(time[:, deployed] <= room[:, None] * (1 + 1e-12)).any(axis=1)
    speed = _speeds(scenario)[work.job_task_type]
    needed = np.where(time <= room[:, None], added * _amounts(scenario), np.inf)
    share = needed[:, deployed] / speed[:, deployed]
    least = share.min(axis=1)  # share of 1 us of the whole capacity, summed over types
    crowded = max(_crowded(work.arrival_us, work.deadline_us, least, alone, w, len(deployed)) for w in windows_us)
    n_alone = int(alone.sum())
    return {"alone": n_alone, "crowded": crowded, "missed": n_alone + crowded}


def _speeds(scenario: Scenario) -> np.ndarray:
    """Return [T, P] the highest total speed of tasks of each type on all units of each processor type.

    If task types have their own speed curves, every unit counts as the largest one: with units of several sizes, one
    task's use of a unit would otherwise count for more than another's.
    """
    center, types = scenario.datacenter, scenario.datacenter.processor_types
    n_units = np.bincount(center.unit_type, minlength=len(types))
    has_own = np.array([isinstance(p.rates, Mapping) for p in types])
    found = []
    for task_type in scenario.workload.task_types:
        most = (p.most_together(task_type.name) for p in types)
        together = np.array([np.inf if at_most is None else at_most for at_most in most])
        at_once = np.minimum(center.unit_capacity, together[center.unit_type])
        largest = np.zeros(len(types))
        np.maximum.at(largest, center.unit_type, at_once)
        together = np.bincount(center.unit_type, at_once, minlength=len(types))
        found.append(np.where(has_own, n_units * largest, together))
    return np.array(found)


def _amounts(scenario: Scenario) -> np.ndarray:
    """Return [J, P] or [P] the smallest amount of each type's capacity that a job takes."""
    work = scenario.workload
    center = scenario.datacenter
    capacity = np.array([p.capacity for p in center.processor_types], np.float64)
    capacity[center.unit_type] = np.inf
    np.minimum.at(capacity, center.unit_type, center.unit_capacity)
    if work.demand is None:
        return amounts(ONE_SLOT, capacity)
    of_task = amounts(work.demand[:, None], capacity)
    if work.application is not None and any(a.max_consolidated > 1 for a in scenario.applications):
        return of_task.min(axis=0)  # the leader's demand counts for all
    return np.minimum.reduceat(of_task, work.job_first[:-1], axis=0)


def _least_times(scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays [J, P], us: the time that a job takes alone, and the time that it adds to a leader with as many
    followers as allowed. Infinite where it cannot run."""
    work = scenario.workload
    head = work.job_first[:-1]
    if work.n_tasks > work.n_jobs:
        counts = np.diff(work.job_first)
        order = np.lexsort((work.operations, np.repeat(np.arange(work.n_jobs), counts)))
        head = order[work.job_first[1:] - 1]
    speed = scenario.affinity.T[work.job_task_type]
    size = work.operations[head][:, None]
    own = np.where(speed > 0, alone_us(size, speed, None if work.times_us is None else work.times_us[head]), np.inf)
    least, share = own, own
    if scenario.consolidated_us is not None:
        table = np.where(np.isnan(scenario.consolidated_us), np.inf, scenario.consolidated_us)
        has_table = (largest_sizes(table) > 0).T[work.job_task_type]
        n = np.arange(1, table.shape[2] + 1)
        least = np.where(has_table, table.min(axis=2).T[work.job_task_type], own)
        share = np.where(has_table, (table / n).min(axis=2).T[work.job_task_type], own)
    overhead = np.zeros_like(scenario.affinity) if scenario.overhead_us is None else scenario.overhead_us
    before = overhead.T[work.job_task_type]
    limit = np.ones(work.n_jobs)
    if work.application is not None and scenario.applications:
        listed = listed_by_code(work, scenario.applications)
        limit = np.array([1 if a is None else a.max_consolidated for a in listed])[work.application]
    factor = np.ones(work.n_jobs) if work.time_factor is None else work.time_factor[head]
    smallest = np.where(limit > 1, factor.min(), factor)[:, None]  # the leader's factor counts for all
    return (before + least) * smallest, (before / limit[:, None] + share) * smallest


def _crowded(
    arrival: np.ndarray, due: np.ndarray, share: np.ndarray, alone: np.ndarray, window_us: float, n_types: int
) -> int:
    """Count the requests that do not fit in windows of one length, if the smallest are done first."""
    window = np.floor(arrival / window_us)
    inside = np.flatnonzero((due <= (window + 1) * window_us) & ~alone)
    if not len(inside):
        return 0
    inside = inside[np.lexsort((share[inside], window[inside]))]
    number = window[inside]
    first = np.flatnonzero(np.diff(number, prepend=-1.0))
    total = np.cumsum(share[inside])
    before = np.repeat(np.concatenate(([0.0], total[first[1:] - 1])), np.diff(np.append(first, len(inside))))
    return int((total - before > n_types * window_us * (1 + 1e-9)).sum())
