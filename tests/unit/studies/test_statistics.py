"""Intervals: against SciPy's own, hand values, and what cannot be said."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ttest_1samp

from vinesim import InputError
from vinesim.formats.results.table import Table
from vinesim.studies.statistics import mean_interval, quantile_interval, summarize_points


def test_mean_by_hand():
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.low, found.estimate, found.high) == pytest.approx((2 - 2.484138, 2.0, 2 + 2.484138), rel=1e-6)
    assert (found.n, found.missing, found.note, found.confidence) == (3, 0, "", 0.95)
    assert found.half_width == pytest.approx(2.484138, rel=1e-6)
    assert found.relative_half_width == pytest.approx(1.242069, rel=1e-6)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1),
    st.sampled_from([0.8, 0.95, 0.999]),
)
def test_mean_is_what_scipy_says(values, confidence):
    found = mean_interval(np.array(values), confidence)
    meant = ttest_1samp(values, 0).confidence_interval(confidence)
    assert (found.low, found.high) == pytest.approx((meant.low, meant.high), rel=1e-9, abs=1e-9)


def test_one_value_has_a_mean_and_no_interval():
    found = mean_interval([4.0])
    assert found.estimate == 4.0
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isnan(found.relative_half_width)
    assert found.note == "no interval from 1 replication"
    assert not found.relative_half_width <= 0.05  # what a stopping rule asks


def test_replications_without_a_value_are_counted():
    found = mean_interval([1.0, None, 3.0, float("nan"), math.inf])
    assert (found.estimate, found.n, found.missing) == (2.0, 2, 3)
    assert found.note == "3 replications without a value left out"
    nothing = mean_interval([None, float("nan")])
    assert math.isnan(nothing.estimate)
    assert (nothing.n, nothing.missing, nothing.note) == (0, 2, "no replication gives a value")


def test_equal_values_are_certain():
    found = mean_interval([7.0] * 5)
    assert (found.low, found.high, found.relative_half_width) == (7.0, 7.0, 0.0)
    assert mean_interval([0.0, 0.0]).relative_half_width == 0.0
    assert mean_interval([-1.0, 1.0]).relative_half_width == math.inf


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.5, "0.95", True, float("nan")])
def test_confidence_is_a_share(confidence):
    with pytest.raises(InputError, match="confidence: expected a number between 0 and 1"):
        mean_interval([1.0, 2.0], confidence)


@pytest.mark.parametrize(("n", "probability"), [(10, 0.5), (20, 0.5), (20, 0.25), (60, 0.9), (100, 0.5)])
def test_a_quantile_lies_between_two_values_with_enough_confidence(n, probability):
    found = quantile_interval(np.arange(1, n + 1), probability)
    low, high = int(found.low), int(found.high)  # ranks, as the values are 1..n
    covered = binom.cdf(high - 1, n, probability) - binom.cdf(low - 1, n, probability)
    assert covered >= 0.95
    narrower = binom.cdf(high - 2, n, probability) - binom.cdf(low, n, probability)
    assert narrower < 0.95
    assert low <= found.estimate <= high


def test_too_few_values_for_a_quantile_give_none():
    assert math.isnan(quantile_interval([1, 2, 3, 4, 5], 0.5).low)
    found = quantile_interval([1, 2, 3, 4, 5, 6], 0.5)
    assert (found.low, found.estimate, found.high) == (1, 3.5, 6)
    none = quantile_interval(range(20), 0.95)
    assert math.isnan(none.high)
    assert none.note == "no interval from 20 replications"
    assert quantile_interval([None, 1.0], 0.5).missing == 1
    assert math.isnan(quantile_interval([], 0.5).estimate)


def table() -> Table:
    return Table(
        {
            "policy": np.array(["high", "high", "high", "flat", "flat"]),
            "iat": np.array([7, 7, 6, 7, 7]),
            "mean": np.array([1.0, 3.0, 5.0, 4.0, np.nan]),
            "count": np.array([1, 1, 1, 2, 4]),
            "exit_reason": np.array(["ALL_DONE"] * 5),
        }
    )


def test_one_row_a_point():
    found = summarize_points(table(), ["policy", "iat"], ["mean", "count"])
    assert list(found["policy"]) == ["high", "high", "flat"]
    assert list(found["iat"]) == [7, 6, 7]
    assert list(found["mean.n"]) == [2, 1, 1]
    assert list(found["mean.mean"]) == [2.0, 5.0, 4.0]
    meant = mean_interval([1.0, 3.0])
    assert (found["mean.low"][0], found["mean.high"][0]) == (meant.low, meant.high)
    assert np.isnan(found["mean.low"][1:]).all()
    assert list(found["count.mean"]) == [1.0, 1.0, 3.0]
    assert found["iat"].dtype.kind == "i"


def test_no_axes_is_one_point():
    assert list(summarize_points(table(), [], ["count"])["count.n"]) == [5]


def test_labels_may_be_mixed_or_missing():
    mixed = Table({"x": np.array(["a", 1, None, None], object), "y": np.array([1.0, 2.0, 3.0, 5.0])})
    found = summarize_points(mixed, ["x"], ["y"])
    assert list(found["x"]) == ["a", 1, None]
    assert list(found["y.mean"]) == [1.0, 2.0, 4.0]


def test_wrong_names_and_text_are_refused():
    with pytest.raises(InputError, match=r"'polizy'\. Similar names: policy"):
        summarize_points(table(), ["polizy"], ["mean"])
    with pytest.raises(InputError, match=r"of: expected a column of the sweep, found 'means'\. Similar names: mean"):
        summarize_points(table(), ["policy"], ["means"])
    with pytest.raises(InputError, match="exit_reason, which is text"):
        summarize_points(table(), ["policy"], ["exit_reason"])
