"""Whether the clock can represent the times of tasks: floats of us, whose step grows with the time."""

import math

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario


def out_of_time(scenario: Scenario, task: int, processor_type: int, now_us: float, service_us: float) -> Problem:
    """Return the problem of a task whose service does not advance the clock, or ends beyond the range of numbers."""
    work = scenario.workload
    job = int(np.searchsorted(work.job_first, task, "right")) - 1
    type_name = work.task_types[int(work.job_task_type[job])].name
    on = scenario.datacenter.processor_types[processor_type].name
    if now_us + service_us < math.inf:
        expected = f"a time that advances the clock: at {now_us:g} us its step is {np.spacing(now_us):g} us"
    else:
        expected = f"an end before {np.finfo(np.float64).max:.2g} us, the largest number; now is {now_us:g} us"
    where, remedy = ("workload", "task", task), "Check its size, and the unit of the arrivals."
    return Problem(where, expected, f"{service_us:g} us on {on} ({type_name}, job {job})", remedy)


def stuck_period(period_us: float, time_us: float) -> list[Problem]:
    """Return the problem of a period that does not advance the clock from a time."""
    if time_us == math.inf or time_us + period_us > time_us:
        return []
    expected = f"a period that advances the clock at {time_us:g} us"
    return [Problem(("period_us",), expected, f"{period_us:g} us")]


def surely_out_of_time(scenario: Scenario) -> list[Problem]:
    """Return the problem of the first task that no run can count, whichever unit the policy gives it.

    A task that starts later than it arrives only meets a coarser clock. Tasks whose time depends on where they run, or
    with which other tasks, because of data or consolidation, are left to the run.
    """
    work = scenario.workload
    if any(application.max_consolidated > 1 for application in scenario.applications) or _all_are_counted(scenario):
        return []
    per_job = np.diff(work.job_first)
    type_of_task, now_us = np.repeat(work.job_task_type, per_job), np.repeat(work.arrival_us, per_job)
    is_wrong, service_us, on = np.ones(work.n_tasks, bool), np.zeros(work.n_tasks), np.full(work.n_tasks, -1)
    for p in scenario.running_types.tolist():
        time_us, able = _times_us(scenario, p, type_of_task), scenario.affinity[p][type_of_task] > 0
        with np.errstate(over="ignore"):
            is_counted = (now_us < now_us + time_us) & (now_us + time_us < math.inf) | (time_us == 0)
        is_wrong &= ~able | ~is_counted
        service_us, on = np.where(able, time_us, service_us), np.where(able, p, on)
    is_wrong &= (on >= 0) & ~np.isinf(work.operations)
    if not all(map(math.isinf, scenario.network.tier_bandwidth)):
        is_wrong &= work.data_bytes == 0
    if work.withdraw_us is not None:
        is_wrong &= np.isinf(np.repeat(work.withdraw_us, per_job))
    if not is_wrong.any():
        return []
    task = int(np.argmax(is_wrong))
    return [out_of_time(scenario, task, int(on[task]), float(now_us[task]), float(service_us[task]))]


def _times_us(scenario: Scenario, p: int, kind: np.ndarray) -> np.ndarray:
    """[N] the time of each task alone on a processor type."""
    work, single_us = scenario.workload, scenario.single_times_us
    with np.errstate(all="ignore"):
        time_us = work.operations / scenario.affinity[p][kind] if single_us is None else single_us[:, p]
    if scenario.overhead_us is not None:
        time_us = time_us + scenario.overhead_us[p][kind]
    return time_us if work.time_factor is None else time_us * work.time_factor


def _all_are_counted(scenario: Scenario) -> bool:
    """Whether the shortest and the longest time that any task may take are counted at the last arrival."""
    work, speeds = scenario.workload, scenario.affinity[scenario.affinity > 0]
    is_given = scenario.single_times_us is not None
    overhead = np.zeros(1) if scenario.overhead_us is None else scenario.overhead_us.ravel()
    factors = np.ones(1) if work.time_factor is None else work.time_factor
    sizes = work.operations if scenario.single_times_us is None else scenario.single_times_us
    if not speeds.size:
        return True
    slow, fast = (1.0, 1.0) if is_given else (speeds.min(), speeds.max())
    with np.errstate(over="ignore"):
        least = min(_least(sizes) / fast, _least(overhead)) * min(1.0, _least(factors))
        most = (sizes[np.isfinite(sizes)].max(initial=0.0) / slow + overhead.max()) * max(1.0, factors.max())
        last = np.float64(work.arrival_us[-1])
        return bool(last < last + least and last + most < math.inf)


def _least(values: np.ndarray) -> float:
    """Return the least value above 0, infinite if there is none."""
    return float(values[values > 0].min(initial=math.inf))
