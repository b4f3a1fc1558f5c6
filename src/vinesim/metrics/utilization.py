"""Utilisation: the time for which units were active, over a run and per interval.

A unit is active from the moment a task is given to it until the task finishes: the transfer counts.
Source: VineSim report, sections 5.2.2, 5.3.3 and 5.4.1 (t_active, interval_active).
"""

from itertools import pairwise

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.result import Outcome
from vinesim.model.scenario import MAX_SAMPLES


def busy_intervals(outcome: Outcome, n_units: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(unit, begin, end) of the times at which units were active, those of one unit disjoint; us.

    Of several runs: one after the other, the units of run k numbered from k x ``n_units``.
    """
    started = outcome.task_unit >= 0
    unit, begin = numbered(outcome.task_unit, n_units), outcome.task_init_us
    end = ended(outcome)
    if started.all():
        unit, begin, end = unit.ravel(), begin.ravel(), end.ravel()
    else:
        unit, begin, end = unit[started], begin[started], end[started]
    return merge(unit, begin, end) if outcome.shares_units else (unit, begin, end)


def ended(outcome: Outcome) -> np.ndarray:
    """[..., N] us: when each task finished; the run's end for those that did not."""
    return np.where(np.isnan(outcome.task_finish_us), np.expand_dims(outcome.end_us, -1), outcome.task_finish_us)


def numbered(task_unit: np.ndarray, n_units: int) -> np.ndarray:
    """[..., N] with the units of run k numbered from k x ``n_units``."""
    if task_unit.ndim == 1:
        return task_unit
    return task_unit + n_units * np.arange(len(task_unit))[:, np.newaxis]


def per_unit(unit: np.ndarray, weights: np.ndarray, task_unit: np.ndarray, n_units: int) -> np.ndarray:
    """[..., U] sums of the weights of units as :func:`numbered` numbers them; ``task_unit`` tells how many runs."""
    runs = task_unit.shape[:-1]
    sums = np.bincount(unit, weights, minlength=int(np.prod(runs)) * n_units)
    return sums.astype(np.float64, copy=False).reshape(*runs, n_units)


def merge(unit: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join the intervals of a unit that overlap or touch."""
    if not len(unit):
        return unit, begin, end
    order = np.lexsort((begin, unit))
    unit, begin, end = unit[order], begin[order], end[order].copy()
    first_of_unit = np.r_[True, unit[1:] != unit[:-1]]
    bounds = np.r_[np.flatnonzero(first_of_unit), len(unit)]
    for low, high in pairwise(bounds):
        end[low:high] = np.maximum.accumulate(end[low:high])
    opens = first_of_unit.copy()
    opens[1:] |= begin[1:] > end[:-1]
    starts = np.flatnonzero(opens)
    return unit[starts], begin[starts], end[np.r_[starts[1:], len(unit)] - 1]


def active_time(outcome: Outcome, n_units: int) -> np.ndarray:
    """[..., U] us: how long each unit was active."""
    unit, begin, end = busy_intervals(outcome, n_units)
    return per_unit(unit, end - begin, outcome.task_unit, n_units)


def time_series(
    outcome: Outcome, unit_type: np.ndarray, names: list[str], interval_us: float, end_us: float
) -> dict[str, np.ndarray]:
    """Utilisation per interval, of all units and of each type that has one; the last interval ends with the run.

    A task that runs across a boundary counts on both sides, split exactly there.
    """
    n = max(1, int(np.ceil(end_us / interval_us)))
    if n > MAX_SAMPLES:
        raise InputError(
            [
                Problem(
                    "sampling_us",
                    f"an interval that gives at most {MAX_SAMPLES} samples",
                    f"{interval_us:g} us in a run of {end_us:g} us: {n} samples",
                    "Sample less often.",
                )
            ]
        )
    edges = np.minimum(np.arange(n + 1) * interval_us, end_us)
    unit, begin, end = busy_intervals(outcome)
    kinds = unit_type[unit]
    first = np.minimum((begin // interval_us).astype(np.int64), n - 1)
    last = np.minimum((end // interval_us).astype(np.int64), n - 1)
    widths = np.diff(edges)
    groups, shares = [], []
    for code in (-1, *np.unique(unit_type)):
        chosen = slice(None) if code < 0 else kinds == code
        busy = _busy_per_interval(begin[chosen], end[chosen], first[chosen], last[chosen], edges)
        n_units = len(unit_type) if code < 0 else int((unit_type == code).sum())
        groups.append("all" if code < 0 else names[code])
        shares.append(busy / (n_units * np.where(widths > 0, widths, 1.0)))
    return {
        "t_start_us": np.tile(edges[:-1], len(groups)),
        "t_end_us": np.tile(edges[1:], len(groups)),
        "group": np.repeat(np.array(groups), n),
        "utilization": np.concatenate(shares),
    }


def _busy_per_interval(
    begin: np.ndarray, end: np.ndarray, first: np.ndarray, last: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """Active us in each interval: the two ends of every busy interval, and the whole intervals between them."""
    n = len(edges) - 1
    within = first == last
    busy = np.bincount(first[within], (end - begin)[within], minlength=n).astype(np.float64)  # int64 if there is none
    b, e, f, g = begin[~within], end[~within], first[~within], last[~within]
    busy += np.bincount(f, edges[f + 1] - b, minlength=n)
    busy += np.bincount(g, e - edges[g], minlength=n)
    covered = np.cumsum(np.bincount(f + 1, minlength=n + 1) - np.bincount(g, minlength=n + 1))[:n]
    return busy + covered * np.diff(edges)
