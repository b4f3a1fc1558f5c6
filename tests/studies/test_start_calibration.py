"""Intervals of starts, widened by earlier forecasts."""

import numpy as np
import pytest

from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.snapshots import Snapshot
from vinesim.studies.start_calibration import LEAST, Earlier, _quantile, earlier_times, start_by, widened


def forecasts(n, median_s, seed=0, wait_s=np.inf, spread=0.5):
    """Starts around their medians, in intervals of a tenth to each side; known if they come within ``wait_s``."""
    random = np.random.default_rng(seed)
    medians = np.full(n, float(median_s))
    starts = medians * np.exp(random.normal(0.0, spread, n))
    return Earlier(medians * 0.9, medians, medians * 1.1, np.minimum(starts, wait_s), starts <= wait_s)


def ends(median_s):
    return np.array([[0.9], [1.0], [1.1]]) * median_s


def held(earlier, interval):
    return np.mean((interval[0] <= earlier.start_s) & (earlier.start_s <= interval[2]))


def test_widened_intervals_hold_8_of_10_further_starts():
    """They held 2 of 10 before; with few earlier forecasts a little more, on average."""
    shares = [
        held(forecasts(200, 900, seed), widened(ends(900), forecasts(50, 900, 1000 + seed))[0][:, 0])
        for seed in range(100)
    ]
    assert 0.79 < np.mean(shares) < 0.84
    assert held(forecasts(2000, 900), ends(900)[:, 0]) < 0.2


def test_starts_that_are_not_known_yet_count_as_later():
    """One job of six has not started yet: low ends stay, high ones are the last known start, and would lie before it if
    these jobs were left out."""
    all_known = forecasts(4000, 900)
    some = forecasts(4000, 900, wait_s=900 * np.exp(0.5))
    one, two = (widened(ends(900), earlier)[0][:, 0] for earlier in (all_known, some))
    assert one[0] == pytest.approx(two[0], rel=0.01)
    assert two[2] == pytest.approx(some.start_s.max(), rel=0.01)
    known = Earlier(*(values[some.is_known] for values in some))
    assert widened(ends(900), known)[0][2, 0] < two[2] < one[2]


def test_quantiles_are_those_of_kaplan_and_meier():
    """By hand: 1 leaves 4/5, 3 (after one that is not known at 2) 4/5 x 2/3, 4 half of that."""
    values, known = np.array([4.0, 1.0, 2.0, 3.0, 5.0]), np.array([True, True, False, True, False])
    assert [_quantile(values, known, p) for p in (0.0, 0.2, 0.21, 0.46, 0.47, 0.73, 0.9)] == [1, 1, 3, 3, 4, 4, 5]


def test_too_few_earlier_forecasts_leave_an_interval_as_it_is():
    for earlier in (forecasts(LEAST - 1, 900), forecasts(LEAST, 2000), forecasts(LEAST, 900, wait_s=1.0)):
        found, is_judged = widened(ends(900), earlier)
        assert found.tolist() == ends(900).tolist()
        assert not is_judged[0]
    assert widened(ends(900), forecasts(LEAST, 900))[1][0]


def test_forecasts_of_shorter_leads_count_where_those_of_the_same_are_too_few():
    """As parts of the lead time."""
    found, is_judged = widened(ends(900), forecasts(200, 400))
    assert is_judged[0]
    assert found[2, 0] > 1.5 * ends(900)[2, 0]


def test_intervals_do_not_become_narrower_and_never_stays_never():
    wide = Earlier(*(np.full(50, s) for s in (100.0, 200.0, 300.0, 200.0)), np.ones(50, bool))
    both = np.array([[100.0, np.inf], [200.0, np.inf], [300.0, np.inf]])
    found, is_judged = widened(both, wide)
    assert found.tolist() == both.tolist()
    assert is_judged.tolist() == [True, False]


def test_snapshots_are_those_of_the_day_before():
    """Six of them, with the first and the last one; one without a time is not used."""
    times = [0.0, *range(40_000, 140_000, 1000)]
    site = Site(None, queue=[Snapshot(time, []) for time in (*times, None)])
    assert earlier_times(site, 100_000.0) == [40_000, 52_000, 64_000, 75_000, 87_000, 99_000]
    assert earlier_times(site, 40_001.0) == [0.0, 40_000.0]


def test_a_start_is_known_when_it_has_been():
    """A job that was started twice, one that left without a start, one that the log does not have."""
    times = {(1, None): ([100.0, 500.0], 700.0), (2, 3): ([], 400.0)}
    assert start_by(times, "1", 50.0, 600.0) == (100.0, True)
    assert start_by(times, "1", 200.0, 600.0) == (500.0, True)
    assert start_by(times, "1", 200.0, 450.0) == (450.0, False)
    assert start_by(times, "2_3", 200.0, 450.0) == (400.0, False)
    assert start_by(times, "9", 200.0, 450.0) is None
