"""Gaps in a grid of attention times."""

from itertools import product

import numpy as np
import pytest

from vinesim.model.attention_grid import attention_grid, axes_of

CHUNK, KV, SEQUENCES = (0, 16, 64), (16, 64, 128), (0, 1, 2, 4)


def true_us(chunk, kv_prefill, n, kv_decode):
    """Of prefill and of decoding, as if on two streams."""
    return chunk * (10 + 0.5 * kv_prefill) + n * (5 + 0.25 * kv_decode)


def points():
    found = []
    for chunk, n in product(CHUNK, SEQUENCES):
        for kv_prefill in (0, *KV) if chunk else (0,):
            found += [(chunk, kv_prefill, n, kv) for kv in (KV if n else (0,)) if chunk or n]
    return np.array(found, float)


def of(given, keep):
    kept = given[keep]
    return axes_of(kept), attention_grid(kept, np.array([true_us(*point) for point in kept]))


def at(axes, grid, *point):
    return grid[tuple(np.searchsorted(axis, x) for axis, x in zip(axes, point, strict=True))]


def test_memory_of_sequences_that_are_not_there_does_not_count():
    given = points()
    axes, grid = of(given, slice(None))
    assert not np.isnan(grid).any()
    assert at(axes, grid, 0, 0, 0, 0) == 0
    assert at(axes, grid, 0, 128, 4, 64) == true_us(0, 0, 4, 64)
    assert at(axes, grid, 64, 16, 0, 128) == true_us(64, 16, 0, 0)


def test_below_the_first_number_its_time_holds():
    axes, grid = of(points(), slice(None))
    assert at(axes, grid, 16, 16, 2, 0) == true_us(16, 16, 2, 16)


@pytest.mark.parametrize(
    "point",
    [(16, 64, 2, 64), (16, 128, 2, 64), (64, 128, 4, 128), (64, 16, 4, 128)],
    ids=["between", "at the end of an axis", "a corner", "beyond the ends of two"],
)
def test_a_gap_is_on_the_line(point):
    given = points()
    axes, grid = of(given, ~(given == point).all(axis=1))
    assert at(axes, grid, *point) == pytest.approx(true_us(*point), rel=0.1)


def test_what_does_not_fit_in_memory_is_extrapolated():
    given = points()
    axes, grid = of(given, given[:, 2] * given[:, 3] <= 256)
    assert at(axes, grid, 0, 0, 4, 128) == pytest.approx(true_us(0, 0, 4, 128))


def test_grids_that_were_measured_one_after_the_other_are_joined():
    other = points() * [1, 1, 1, 1.5]
    given = np.unique(np.concatenate([points(), other]), axis=0)
    axes, grid = of(given, slice(None))
    assert not np.isnan(grid).any()
    assert at(axes, grid, 16, 16, 4, 96) == true_us(16, 16, 4, 96)


def test_what_the_points_do_not_tell_is_unknown():
    axes, grid = of(np.array([(0, 0, 1, 16), (16, 0, 0, 0.0)]), slice(None))
    assert np.isnan(at(axes, grid, 16, 0, 1, 16))
