"""Percentiles against hand values and NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.metrics.latency import distribution, quantiles
from vinesim.metrics.record import Record


@pytest.mark.parametrize(
    ("values", "probability", "nearest", "linear"),
    [
        ([10, 20, 30, 40], 0.5, 20, 25),
        ([10, 20, 30, 40], 0.25, 10, 17.5),
        ([10, 20, 30, 40], 0.26, 20, 17.8),
        ([10, 20, 30, 40], 1.0, 40, 40),
        ([10, 20, 30, 40], 0.0, 10, 10),
        ([7], 0.99, 7, 7),
        (range(1, 101), 0.99, 99, 99.01),
        (range(1, 1001), 0.999, 999, 999.001),
        ([3, 1, 2], 0.5, 2, 2),
    ],
)
def test_quantiles_by_hand(values, probability, nearest, linear):
    values = np.array(values, float)
    assert quantiles(values, [probability]) == [nearest]
    assert quantiles(values, [probability], "linear") == pytest.approx([linear])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats(0, 1e12), min_size=1, max_size=60), probability=st.sampled_from([0.5, 0.9, 0.99, 0.999])
)
def test_nearest_rank_is_the_smallest_value_with_enough_at_or_below(values, probability):
    (found,) = quantiles(np.array(values), [probability])
    assert found == sorted(values)[math.ceil(round(probability * len(values), 9)) - 1]
    (linear,) = quantiles(np.array(values), [probability], "linear")
    assert linear == pytest.approx(np.percentile(values, probability * 100), rel=1e-9, abs=1e-9)


def test_a_distribution_is_of_what_finished():
    found = distribution(np.array([1.0, np.nan, 3.0, 8.0]))
    assert found == {"mean": 4.0, "p50": 3.0, "p90": 8.0, "p99": 8.0, "p99_9": 8.0, "max": 8.0}
    assert np.isnan(list(distribution(np.array([np.nan])).values())).all()
    assert distribution(np.array([])).keys() == found.keys()


@pytest.mark.parametrize("method", ["nearest_rank", "linear"])
@pytest.mark.parametrize("unfinished", [0.0, 0.3, 1.0])
def test_rows_are_distributions_of_their_own(method, unfinished):
    random = np.random.default_rng(3)
    rows = random.exponential(7.0, (40, 321))
    rows[random.random(rows.shape) < unfinished] = np.nan
    together = distribution(rows, method)
    for k, row in enumerate(rows):
        alone = distribution(row, method)
        assert {name: values[k].tobytes() for name, values in together.items()} == {
            name: value.tobytes() for name, value in alone.items()
        }


def test_only_what_is_wanted_is_computed():
    values = np.arange(10.0)
    assert distribution(values, record=Record(["a.mean", "a.p9"]), name="a").keys() == {"mean"}
    assert distribution(values, record=Record(["a"]), name="a").keys() == distribution(values).keys()
    assert distribution(values, record=Record(["b"]), name="a") == {}
