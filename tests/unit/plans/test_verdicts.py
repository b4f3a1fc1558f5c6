"""Verdicts on limits: exact cases, and how often they are wrong."""

import numpy as np
import pytest
from scipy.stats import binom, t

from vinesim.model.plan import LOOKS, Limit
from vinesim.plans.candidate import Candidate, difference
from vinesim.plans.verdicts import FEWEST_EQUAL, UNSEEN, Verdict, judged, share_bounds, together

BELOW = Limit("x", "below", 10.0)


def test_the_mean_is_judged_by_its_interval():
    assert judged(BELOW, np.array([1.0, 1.1, 0.9]), 8).verdict is Verdict.HOLDS
    assert judged(BELOW, np.array([99.0, 99.1, 98.9]), 8).verdict is Verdict.FAILS
    found = judged(BELOW, np.array([9.0, 10.0, 9.5]), 8)
    assert (found.verdict, found.low < 9.5 < found.high) == (Verdict.UNDECIDED, True)


def test_above_is_the_mirror_of_below():
    above = Limit("x", "above", -10.0)
    for values in ([1.0, 1.1, 0.9], [99.0, 99.1, 98.9], [9.0, 10.0, 9.5]):
        one, other = judged(BELOW, np.array(values), 8), judged(above, -np.array(values), 8)
        assert (one.verdict, one.shortfall) == (other.verdict, other.shortfall)


def test_more_looks_ask_for_more():
    values = np.array([8.0, 8.6, 8.3, 8.45])
    assert judged(BELOW, values, 1).verdict is Verdict.HOLDS
    assert judged(BELOW, values, 100).verdict is Verdict.UNDECIDED


def test_runs_that_depend_on_no_seed_are_exact():
    assert judged(BELOW, np.array([10.0]), 1, is_random=False).verdict is Verdict.HOLDS
    assert judged(BELOW, np.array([10.001]), 1, is_random=False).verdict is Verdict.FAILS
    assert judged(BELOW, np.array([1.0]), 1).verdict is Verdict.UNDECIDED


def test_equal_values_of_random_runs_are_not_believed_at_once():
    for n in (3, FEWEST_EQUAL - 1):
        assert judged(BELOW, np.zeros(n), 8).verdict is Verdict.UNDECIDED
    assert judged(BELOW, np.zeros(FEWEST_EQUAL), 8).verdict is Verdict.HOLDS


def test_a_run_without_a_value_breaks_a_limit():
    assert judged(BELOW, np.array([1.0, np.nan, 1.0]), 8).verdict is Verdict.FAILS
    share = Limit("x", "below", 10.0, share=0.5)
    assert judged(share, np.full(40, np.nan), 8).verdict is Verdict.FAILS


def test_a_share_of_runs_is_judged_by_exact_bounds():
    limit = Limit("x", "below", 10.0, confidence=0.95, share=0.9)
    assert judged(limit, np.zeros(80), 8).verdict is Verdict.HOLDS
    assert judged(limit, np.zeros(12), 8).verdict is Verdict.UNDECIDED
    assert judged(limit, np.full(12, 11.0), 8).verdict is Verdict.FAILS
    low, high = share_bounds(70, 80, 0.05)
    assert binom.sf(69, 80, low) == pytest.approx(0.05)
    assert binom.cdf(70, 80, high) == pytest.approx(0.05)


def test_a_point_fails_if_any_limit_does():
    good, bad = judged(BELOW, np.ones(20) + np.arange(20) / 99, 8), judged(BELOW, np.full(20, 99.0), 8)
    assert together([good, bad]) is Verdict.FAILS
    assert together([good]) is Verdict.HOLDS
    assert together([]) is Verdict.HOLDS


@pytest.mark.parametrize("share", [None, 0.8])
def test_all_looks_together_err_no_more_often_than_stated(share):
    """At the very border either verdict is wrong half the time it is given; together at most 5 % on each side."""
    random, n_cases = np.random.default_rng(0), 2000
    limit = Limit("x", "below", 0.0, confidence=0.95, share=share)
    shift = 0.0 if share is None else -0.8416212335729143  # 80 % of the values are below 0
    wrong = dict.fromkeys(Verdict, 0)
    for _ in range(n_cases):
        values = random.standard_normal(LOOKS[-1]) + shift
        for n in LOOKS:
            verdict = judged(limit, values[:n], len(LOOKS)).verdict
            if verdict is not Verdict.UNDECIDED:
                break
        wrong[verdict] += 1
    at_most = 0.05 * n_cases + 3 * np.sqrt(0.05 * 0.95 * n_cases)
    assert 0 < wrong[Verdict.HOLDS] < at_most
    assert 0 < wrong[Verdict.FAILS] < at_most


def test_what_only_rounding_tells_apart_is_the_same():
    one, other, more = (Candidate(0, 3, objectives=np.array([values])) for values in (
        [30.0, 31.0, 32.0], [30.0 + 4e-15, 31.0, 32.0 - 8e-15], [30.0 + 1e-9, 31.0, 32.0]
    ))  # fmt: skip
    assert difference(one, other).estimate == 0.0
    assert difference(one, more).estimate > 0.0


@pytest.mark.parametrize("n_looks", [1, 8])
@pytest.mark.parametrize("side", ["below", "above"])
def test_the_bounds_are_those_of_student_by_hand(n_looks, side):
    """The bound on the limit's side also holds for one more value that is worse than all seen."""
    values = np.array([8.1, 8.9, 8.4, 9.6, 8.2])
    worse = 9.6 + UNSEEN * 1.5 / (np.sqrt(5) - 1) if side == "below" else 8.1 - UNSEEN * 1.5 / (np.sqrt(5) - 1)
    found = judged(Limit("x", side, 9.0, confidence=0.9), values, n_looks)

    def bounds(of):
        half = t.ppf(1 - 0.1 / n_looks, len(of) - 1) * of.std(ddof=1) / np.sqrt(len(of))
        return of.mean() - half, of.mean() + half

    (low, high), (wide_low, wide_high) = bounds(values), bounds(np.append(values, worse))
    expected = (low, max(high, wide_high)) if side == "below" else (min(low, wide_low), high)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)
    assert found.estimate == pytest.approx(values.mean())


def test_bounds_stay_where_a_number_can_be():
    values = np.array([0.0, 0.2, 0.9])
    of = {name: judged(Limit(name, "below", 1.0), values, 8) for name in ("deadlines.missed_pct", "jobs.wait_us.p99")}
    assert [found.low for found in of.values()] == [0.0, 0.0]
    assert of["jobs.wait_us.p99"].high > of["deadlines.missed_pct"].high - 1e-9
    percent = judged(Limit("deadlines.missed_pct", "above", 99.0), np.array([90.0, 100.0, 95.0]), 8)
    assert percent.high == 100.0
    assert judged(Limit("cost.total", "below", 1.0), values, 8).low < 0  # electricity may have a negative price


def test_how_far_a_point_is_from_holding():
    found = judged(BELOW, np.array([9.0, 10.0, 9.5]), 8)
    assert found.doubt == pytest.approx((found.high - 10) / 10)
    above = judged(Limit("x", "above", -10.0), -np.array([9.0, 10.0, 9.5]), 8)
    assert above.doubt == pytest.approx(found.doubt)
    share = judged(Limit("x", "below", 10.0, share=0.9), np.zeros(12), 8)
    assert share.doubt == pytest.approx(0.9 - share.low)
