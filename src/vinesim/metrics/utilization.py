"""Utilisation: how much of the units was allocated, and how long they were active, in total and per interval.

A unit is active from when a task gets it until the task finishes, transfers included. During that time each of its
tasks holds a share of its capacity. The sum of these shares is the allocated part; it exceeds 1 if the unit is
over-committed. Source: VineSim report, sections 5.2.2, 5.3.3 and 5.4.1 (t_active, interval_active).
"""

from itertools import pairwise
from typing import Any

import numpy as np

from vinesim.metrics.segments import Segments, Stretches, numbered
from vinesim.model.arrays import distinct
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario_rules import MAX_SAMPLES

Intervals = tuple[np.ndarray, np.ndarray, np.ndarray]  # unit, begin and end, us


def busy_intervals(segments: Segments) -> Intervals:
    """Return (unit, begin, end), us, of the intervals in which units were active; disjoint for each unit."""
    if not segments.is_shared:
        return intervals(segments)
    unit, begin, end, _ = segments.ordered
    return merged(unit, begin, end)


def intervals(segments: Segments) -> Intervals:
    """Return (unit, begin, end), us, of every segment."""
    started = segments.unit >= 0
    unit, begin, end = numbered(segments.unit, segments.n_units), segments.begin_us, segments.end_us
    if started.all():
        return unit.ravel(), begin.ravel(), end.ravel()
    return unit[started], begin[started], end[started]


def merged(unit: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Intervals:
    """Merge overlapping or adjacent intervals of each unit. They must be sorted by unit and begin."""
    if not len(unit):
        return unit, begin, end
    end = end.copy()
    first_of_unit = np.r_[True, unit[1:] != unit[:-1]]
    bounds = np.r_[np.flatnonzero(first_of_unit), len(unit)]
    for low, high in pairwise(bounds):
        end[low:high] = np.maximum.accumulate(end[low:high])
    opens = first_of_unit
    opens[1:] |= begin[1:] > end[:-1]
    starts = np.flatnonzero(opens)
    return unit[starts], begin[starts], end[np.r_[starts[1:], len(unit)] - 1]


def loads(segments: Segments) -> Stretches:
    """Return the shares of units that tasks held, and when; at any time they add up to the unit's load.

    Consecutive stretches of the same share are merged unless tasks overlap on the unit. The allocated time of a unit
    that is held as a whole therefore equals its active time exactly.
    """
    if not segments.is_shared:
        unit, begin, end = intervals(segments)
        return unit, begin, end, np.ones(len(unit))
    lasts = segments.ordered[2] > segments.ordered[1]
    unit, begin, end, share = (column[lasts] for column in segments.ordered)
    if not len(unit):
        return unit, begin, end, share
    is_same = unit[1:] == unit[:-1]
    holds_several = np.bincount(unit[1:][is_same & (begin[1:] < end[:-1])], minlength=int(unit[-1]) + 1) > 0
    goes_on = is_same & (begin[1:] == end[:-1]) & (share[1:] == share[:-1]) & ~holds_several[unit[1:]]
    first = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    return unit[first], begin[first], end[np.append(first[1:], len(unit)) - 1], share[first]


def per_unit(unit: np.ndarray, weights: np.ndarray, segments: Segments) -> np.ndarray:
    """Return [..., U] the sum of the weights of each unit, numbered as in :func:`numbered`."""
    runs, n_units = segments.unit.shape[:-1], segments.n_units
    sums = np.bincount(unit, weights, minlength=int(np.prod(runs)) * n_units)
    return sums.astype(np.float64, copy=False).reshape(*runs, n_units)


def active_time(segments: Segments) -> np.ndarray:
    """Return [..., U] how long each unit was active, us."""
    unit, begin, end = busy_intervals(segments)
    return per_unit(unit, end - begin, segments)


def allocated_time(segments: Segments) -> np.ndarray:
    """Return [..., U] the integral over time of the share of each unit's capacity that tasks held, us."""
    unit, begin, end, load = loads(segments)
    return per_unit(unit, load * (end - begin), segments)


def weights_of(capacity: np.ndarray) -> np.ndarray | None:
    """Return [U] the weight of each unit in a mean of allocated shares: its capacity; None if all are equal."""
    return None if (capacity == capacity[0]).all() else capacity


def mean_of_units(share: np.ndarray, capacity: np.ndarray) -> Any:
    """Return [...] the mean of the units' shares [..., U], weighted by capacity."""
    weight = weights_of(capacity)
    return share.mean(axis=-1) if weight is None else (share * weight).sum(axis=-1) / weight.sum()


def time_series(
    segments: Segments,
    unit_type: np.ndarray,
    names: list[str],
    interval_us: float,
    end_us: float,
    runs_tasks: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return the utilisation per interval, of all units that run tasks (``runs_tasks`` [U]) and of each type in use.

    The last interval ends with the run. Allocated shares are weighted by capacity. A task that crosses a boundary is
    split exactly there.
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
    codes = [-1, *distinct(unit_type)]
    unit, begin, end = busy_intervals(segments)
    groups = [runs_tasks if code < 0 else unit_type == code for code in codes]
    active = allocated = _shares((unit, begin, end, np.ones(len(unit))), groups, edges, interval_us)
    if segments.is_shared or weights_of(segments.capacity) is not None:
        allocated = _shares(loads(segments), groups, edges, interval_us, segments.capacity)
    return {
        "t_start_us": np.tile(edges[:-1], len(codes)),
        "t_end_us": np.tile(edges[1:], len(codes)),
        "group": np.repeat(np.array(["all" if code < 0 else names[code] for code in codes]), n),
        "utilization": allocated,
        "active": active,
    }


def _shares(
    stretches: Stretches,
    groups: list[np.ndarray],
    edges: np.ndarray,
    interval_us: float,
    capacity: np.ndarray | None = None,
) -> np.ndarray:
    """Return [groups x intervals] the mean level of the units of each group, a mask [U], in each interval.

    Each unit has weight 1, or its capacity [U].
    """
    unit, begin, end, level = stretches
    n, widths = len(edges) - 1, np.diff(edges)
    first = np.minimum((begin // interval_us).astype(np.int64), n - 1)
    last = np.minimum((end // interval_us).astype(np.int64), n - 1)
    shares = []
    for units in groups:
        chosen = slice(None) if units.all() else units[unit]
        levels, size = level[chosen], int(units.sum())
        if capacity is not None and weights_of(capacity[units]) is not None:
            levels, size = levels * capacity[unit[chosen]], capacity[units].sum()
        busy = _busy_per_interval(begin[chosen], end[chosen], levels, first[chosen], last[chosen], edges)
        shares.append(busy / (size * np.where(widths > 0, widths, 1.0)))
    return np.concatenate(shares)


def _busy_per_interval(
    begin: np.ndarray, end: np.ndarray, level: np.ndarray, first: np.ndarray, last: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """Return the sum of time x level in each interval, us: the ends of each stretch and the whole intervals between."""
    return _busy_by_row(np.zeros(len(begin), np.int64), 1, begin, end, level, first, last, edges)[0]


def _busy_by_row(
    row: np.ndarray,
    n_rows: int,
    begin: np.ndarray,
    end: np.ndarray,
    level: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    edges: np.ndarray,
) -> np.ndarray:
    """Return [n_rows, intervals] the sum of time x level, us, of the stretches that ``row`` assigns to each row."""
    n = len(edges) - 1
    within = first == last

    def sums(interval: np.ndarray, weight: np.ndarray, rows: np.ndarray, width: int = n) -> np.ndarray:
        found = np.bincount(rows * width + interval, weight, minlength=n_rows * width)
        return found.reshape(n_rows, width).astype(np.float64, copy=False)  # int64 if there are none

    busy = sums(first[within], ((end - begin) * level)[within], row[within])
    b, e, w, f, g, r = (column[~within] for column in (begin, end, level, first, last, row))
    busy += sums(f, (edges[f + 1] - b) * w, r)
    busy += sums(g, (e - edges[g]) * w, r)
    covered = np.cumsum(sums(f + 1, w, r, n + 1) - sums(g, w, r, n + 1), axis=1)[:, :n]
    return busy + np.maximum(0.0, covered) * np.diff(edges)  # rounding can make it slightly negative


def shares_by_group(
    stretches: Stretches, group: np.ndarray, n_groups: int, weight: np.ndarray, end_us: float, n_intervals: int
) -> np.ndarray:
    """Return [n_groups, n_intervals] the mean level of each group's units, weighted by ``weight`` [U].

    The intervals divide the run into ``n_intervals`` equal ones.

    ``group`` [U] is the group of each unit, from 0; -1: none.
    """
    if end_us <= 0:
        return np.zeros((n_groups, n_intervals))
    counted = group >= 0
    unit, begin, end, level = stretches if counted.all() else (column[counted[stretches[0]]] for column in stretches)
    width = end_us / n_intervals
    first, last = (np.minimum((at / width).astype(np.int64), n_intervals - 1) for at in (begin, end))
    edges = np.arange(n_intervals + 1) * width
    busy = _busy_by_row(group[unit], n_groups, begin, end, level * weight[unit], first, last, edges)
    sizes = np.bincount(group[counted], weight[counted], minlength=n_groups)
    return np.maximum(0.0, busy / (width * np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]))
