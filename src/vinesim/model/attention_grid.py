"""A complete grid of attention times from measurements at some of its points.

Profilers measure what fits in memory, and often on several grids one after the other, so that the grid of all numbers
that occur has gaps. A gap between known points of an axis gets the time on the line between the two nearest, the mean
over the axes that have such points; this is repeated until nothing changes. Then a gap beyond the last known point of
an axis gets the time on the line through the last two, but at least that of the last; one before the first its time.
"""

import warnings

import numpy as np

MOST_POINTS = 4_000_000  # of a grid: 32 MB


def axes_of(points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the numbers that occur among measured points [M, 4], and 0, along each of the four axes."""
    return tuple(np.unique(np.append(points[:, i], 0.0)) for i in range(4))


def attention_grid(points: np.ndarray, times_us: np.ndarray) -> np.ndarray:
    """Return the times [C, C, C, C] us along the axes of measured points [M, 4] with times [M] us.

    Without tokens to prefill their memory does not count, and without sequences that decode neither does theirs;
    without both the time is 0. What the points do not tell is NaN.
    """
    axes = axes_of(points)
    grid = np.full([len(axis) for axis in axes], np.nan)
    grid[tuple(np.searchsorted(axis, points[:, i]) for i, axis in enumerate(axes))] = times_us
    grid[0, 0, 0, 0] = 0.0
    grid[0] = grid[0, :1]
    grid[:, :, 0] = grid[:, :, 0, :1]
    for fill in (_between, _outside):
        while (gaps := np.isnan(grid)).any():
            guesses = [np.moveaxis(fill(np.moveaxis(grid, i, -1), axis), -1, i) for i, axis in enumerate(axes)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no guesses is NaN
                grid[gaps] = np.nanmean(guesses, axis=0)[gaps]
            if np.isnan(grid).sum() == gaps.sum():
                break
    return grid


def _between(grid: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The times on the lines between known points along the last axis; NaN before the first and beyond the last."""
    before, after = _nearest(grid)
    is_inside = (before >= 0) & (after < len(axis))
    low, high = np.where(is_inside, before, 0), np.where(is_inside, after, 0)
    gap = axis[high] - axis[low]
    weight = np.where(gap > 0, axis - axis[low], 0.0) / np.where(gap > 0, gap, 1.0)
    line = (1 - weight) * np.take_along_axis(grid, low, -1) + weight * np.take_along_axis(grid, high, -1)
    return np.where(is_inside, line, np.nan)


def _outside(grid: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The times beyond the last of at least two known points along the last axis, and before the first; else NaN."""
    before, after = _nearest(grid)
    one_before = np.insert(before[..., :-1], 0, -1, axis=-1)  # of each point, the known one that is nearest below it
    last = np.maximum(before, 0)
    second = np.take_along_axis(one_before, last, -1)
    last_us, second_us = np.take_along_axis(grid, last, -1), np.take_along_axis(grid, np.maximum(second, 0), -1)
    slope = np.maximum(last_us - second_us, 0.0) / np.where(second >= 0, axis[last] - axis[second], 1.0)
    line = np.where(second >= 0, last_us + slope * (axis - axis[last]), np.nan)
    first_us = np.take_along_axis(grid, np.minimum(after, len(axis) - 1), -1)
    return np.where(before < 0, first_us, np.where(after == len(axis), line, np.nan))


def _nearest(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest known points along the last axis: at or before each, or -1; at or after it, or the axis' length."""
    n = grid.shape[-1]
    is_known, number = ~np.isnan(grid), np.arange(n)
    before = np.maximum.accumulate(np.where(is_known, number, -1), axis=-1)
    after = np.minimum.accumulate(np.where(is_known, number, n)[..., ::-1], axis=-1)[..., ::-1]
    return before, after
