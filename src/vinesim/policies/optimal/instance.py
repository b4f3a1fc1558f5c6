"""What to schedule: tasks with release times, and classes of units on which each task takes the same time."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vinesim.model.alone import alone_us
from vinesim.model.errors import InputError, Problem
from vinesim.state.model import classes_of_tasks
from vinesim.state.queries import INTER_RACK, INTRA_RACK, LOCAL

Objective = Literal["makespan", "sum_finish"]
Requests = Literal["strict", "relaxed"]

MAX_PAIRS = 500_000  # tasks x classes of units; the solver's model has an interval for each
EXACT_STEPS = 2**27  # finest grid for exact times; finer grids make the solver very slow
ROUNDED_STEPS = 2**24  # otherwise times are rounded down to this many steps of the longest schedule
NS_PER_US = 1000.0


@dataclass(frozen=True, eq=False)
class Instance:
    """N tasks on C classes of units, each unit for one task at a time."""

    release_us: np.ndarray  # [N] float64: arrival of the task's job
    job: np.ndarray  # [N] int32: not decreasing
    times_us: np.ndarray  # [N, C] float64: transfer plus execution; infinite: cannot run
    units: tuple[np.ndarray, ...]  # [C]: the units of each class

    @property
    def n_tasks(self) -> int:
        return len(self.release_us)

    @property
    def count(self) -> np.ndarray:
        """[C] int64: number of units in each class."""
        return np.array([len(units) for units in self.units])

    @classmethod
    def of(cls, model: Any, requests: Requests) -> "Instance":
        """Build the instance of a model. Raises :class:`InputError` for tasks whose requests no unit meets."""
        by_type = times_on_types(model)
        able = np.isfinite(by_type)
        if requests == "strict":
            by_type = np.where(meets_on_types(model), by_type, np.inf)
        _check_able(model, able, np.isfinite(by_type)[:, np.unique(model.unit_type)])
        times, units = _pooled(model, by_type)
        if times.size > MAX_PAIRS:
            found = f"{times.shape[0]:,} x {times.shape[1]:,}"
            raise InputError(
                [Problem(("workload",), f"at most {MAX_PAIRS:,} tasks x kinds of units, for the policy optimal", found)]
            )
        return cls(model.job_arrival_us[model.task_job], model.task_job, times, units)


def times_on_types(model: Any) -> np.ndarray:
    """[N, P] us: the true execution time on each processor type, including the overhead; infinite: cannot run."""
    own_type = classes_of_tasks(model)
    speed = model.affinity.T[own_type]
    measured_us = model.task_times_us if len(model.task_times_us) else None
    times = model.overhead_us.T[own_type] + alone_us(model.task_operations[:, None], speed, measured_us)
    if len(model.task_factor):
        times = times * model.task_factor[:, None]
    return np.where((speed > 0) & np.isfinite(times), times, np.inf)


def meets_on_types(model: Any) -> np.ndarray:
    """[N, P] bool: whether the type provides what the task requests, as the query ``meets`` defines it."""
    if not model.task_request.shape[1]:
        return np.ones((len(model.task_operations), len(model.affinity)), bool)
    provided = model.type_resource[None, :, :]
    return ((provided < 0) | (model.task_request[:, None, :] <= provided)).all(axis=2)


def transfers_to_nodes(model: Any) -> np.ndarray:
    """[N, V] us: the time to transfer each task's data to each node."""
    data = model.task_data_node
    same_rack = model.node_rack[data][:, None] == model.node_rack[None, :]
    tier = np.where(same_rack, INTRA_RACK, INTER_RACK)
    tier[np.arange(len(data)), data] = LOCAL
    size = model.task_data_bytes[:, None]
    return np.where(size > 0, model.tier_latency_us[tier] + size / model.tier_bandwidth[tier], 0.0)


def _pooled(model: Any, by_type: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Merge units on which every task takes the same time into classes: [N, C] times, and the units of each class."""
    if len(model.task_data_bytes) and model.task_data_bytes.any():
        to_node = transfers_to_nodes(model)
        place = model.unit_node.astype(np.int64) * len(model.affinity) + model.unit_type
        kinds, kind_of = np.unique(place, return_inverse=True)
        node, unit_type = kinds // len(model.affinity), kinds % len(model.affinity)
        times = to_node[:, node] + by_type[:, unit_type]
    else:
        kinds, kind_of = np.unique(model.unit_type, return_inverse=True)
        times = by_type[:, kinds]
    times, pooled = np.unique(times, axis=1, return_inverse=True)
    of_unit = pooled.ravel()[kind_of]
    used = np.isfinite(times).any(axis=0)
    return times[:, used], tuple(np.flatnonzero(of_unit == c) for c in np.flatnonzero(used))


def _check_able(model: Any, able: np.ndarray, meets: np.ndarray) -> None:
    problems = []
    for task in np.flatnonzero(~meets.any(axis=1)):
        if not able[task, np.unique(model.unit_type)].any():
            problems.append(
                Problem(("workload", "task", int(task)), "a finite time on some unit", "none", "Check its operations.")
            )
        else:
            expected, remedy = "requests that some unit meets", "Or set the option requests=relaxed."
            problems.append(Problem(("workload", "requests", int(task)), expected, "none that can run it", remedy))
    if problems:
        raise InputError(problems)


@dataclass(frozen=True, eq=False)
class WholeTimes:
    """An instance's times as whole numbers of steps, rounded down if the grid is too coarse for them."""

    step_us: float
    is_rounded: bool
    release: np.ndarray  # [N] int64
    times: np.ndarray  # [N, C] int64, -1: cannot run

    @classmethod
    def of(cls, instance: Instance, longest_us: float) -> "WholeTimes":
        """``longest_us`` is the makespan of some schedule."""
        can = np.isfinite(instance.times_us)
        every = np.concatenate([instance.release_us, instance.times_us[can]])
        exact_us = _common_step(every, longest_us)
        step_us = exact_us or max(longest_us, 1.0) / ROUNDED_STEPS
        times = np.full(can.shape, -1, np.int64)
        times[can] = _steps(instance.times_us[can], step_us)
        return cls(step_us, exact_us is None, _steps(instance.release_us, step_us), times)


def _common_step(values_us: np.ndarray, longest_us: float) -> float | None:
    """Return the largest common divisor of all values, if they are whole ns and it is not too small."""
    ns = values_us * NS_PER_US
    if ns.max(initial=0.0) >= 2.0**52 or (np.abs(ns - np.rint(ns)) > 1e-9 * np.maximum(ns, 1.0)).any():
        return None
    step = int(np.gcd.reduce(np.rint(ns).astype(np.int64)))
    if step == 0:
        return 1.0
    return step / NS_PER_US if longest_us * NS_PER_US / step < EXACT_STEPS else None


def _steps(values_us: np.ndarray, step_us: float) -> np.ndarray:
    """Return whole steps, rounded down, except that values are kept that are whole up to rounding errors."""
    steps = values_us / step_us
    near = np.rint(steps)
    return np.where(np.abs(steps - near) <= 1e-9 * np.maximum(near, 1.0), near, np.floor(steps)).astype(np.int64)
