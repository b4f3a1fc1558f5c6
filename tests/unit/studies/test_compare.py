"""Paired comparison: against SciPy's paired test, hand values, and what was left out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from vinesim import InputError
from vinesim.cli.compare import _difference, _p, _verdict
from vinesim.formats.results.table import Table
from vinesim.studies.compare import compare, direction_of, paired_p

OF = "jobs.latency_us.mean"


def sweep(values: dict[tuple, list[float]], of: str = OF, axes: tuple[str, ...] = ("policy",)) -> Table:
    """A table as a sweep gives it: values by labels, one a seed."""
    rows = [(*labels, seed, value) for labels, found in values.items() for seed, value in enumerate(found)]
    return Table(dict(zip((*axes, "seed", of), map(np.array, zip(*rows, strict=True)), strict=True)))


BASE = np.array([90.0, 110.0, 100.0, 130.0, 70.0])
NOISE = np.array([1.0, -1.0, 0.5, -0.5, 0.0])


def test_a_pair_is_the_mean_of_its_differences():
    first, second = BASE, BASE + 3 + NOISE
    (pair,) = compare(sweep({("high",): first, ("flat",): second}), "policy", OF).pairs
    meant = ttest_rel(second, first)
    bounds = meant.confidence_interval(0.95)
    assert (pair.first, pair.second, pair.point) == ("high", "flat", {})
    assert pair.difference.estimate == pytest.approx(3.0)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((bounds.low, bounds.high))
    assert pair.p == pair.p_corrected == pytest.approx(meant.pvalue)
    assert pair.ratio == pytest.approx(1.03)
    assert pair.variance_ratio == pytest.approx((first.var(ddof=1) + second.var(ddof=1)) / NOISE.var(ddof=1))
    assert pair.significant
    assert pair.better == "high"  # a lower latency


def test_runs_are_matched_by_seed_not_by_place():
    table = sweep({("high",): BASE, ("flat",): BASE + 3 + NOISE})
    order = np.random.default_rng(3).permutation(table.n_rows)
    shuffled = Table({name: values[order] for name, values in table.items()})
    found = compare(shuffled, "policy", OF, baseline="high").pairs[0]
    meant = compare(table, "policy", OF, baseline="high").pairs[0]
    assert found.difference.estimate == pytest.approx(meant.difference.estimate)
    assert found.variance_ratio == pytest.approx(meant.variance_ratio)


def test_higher_may_be_better():
    values = {("a",): BASE, ("b",): BASE + 3 + NOISE}
    assert compare(sweep(values, "jobs.finished"), "policy", "jobs.finished").pairs[0].better == "b"
    assert compare(sweep(values), "policy", OF, better="higher").pairs[0].better == "b"
    unknown = compare(sweep(values, "x"), "policy", "x")
    assert unknown.direction == ""
    assert unknown.pairs[0].significant
    assert unknown.pairs[0].better is None
    assert [direction_of(name) for name in ("makespan_us", "makespan_us_x", "utilization.overall")] == ["lower", "", ""]


def test_the_numbers_of_a_label_have_the_direction_of_those_of_a_run():
    numbers = ("wait_us", "wait_p99_us", "latency_p99_us", "slowdown", "token_p99_us", "finished", "goodput_pct")
    found = [direction_of(name) for number in numbers for name in (number, f"by.user.ann.lee.{number}")]
    assert found == ["lower"] * 10 + ["higher"] * 4
    assert [direction_of(f"by.user.ann.{name}") for name in ("utilization", "jobs")] == ["", ""]


def test_no_difference_is_not_significant():
    (pair,) = compare(sweep({("a",): BASE, ("b",): BASE + NOISE}), "policy", OF).pairs
    assert not pair.significant
    assert pair.better is None


def test_each_point_of_the_other_axes_and_each_pair():
    values = {(iat, policy): BASE + add for iat in (6, 7) for policy, add in (("high", 0), ("flat", 2), ("pref", 3))}
    found = compare(sweep(values, axes=("iat", "policy")), "policy", OF, axes=("iat", "policy")).pairs
    assert [(pair.point["iat"], pair.first, pair.second) for pair in found] == [
        (iat, *pair) for iat in (6, 7) for pair in (("high", "flat"), ("high", "pref"), ("flat", "pref"))
    ]
    against = compare(sweep(values, axes=("iat", "policy")), "iat", OF, axes=("iat", "policy"), baseline="7").pairs
    assert [(pair.point["policy"], pair.first, pair.second) for pair in against] == [
        ("high", 7, 6),
        ("flat", 7, 6),
        ("pref", 7, 6),
    ]


def test_interval_and_p_are_corrected_for_the_pairs_that_have_both():
    """Three labels are three pairs; those with a fourth that has one replication have no interval and do not count."""
    values = {("a",): BASE, ("b",): BASE + 3 + NOISE, ("c",): BASE + 1 - NOISE}
    found = compare(sweep(values | {("d",): BASE[:1]}), "policy", OF)
    assert found.n_comparisons == 3
    pair = found.pairs[0]
    meant = ttest_rel(BASE + 3 + NOISE, BASE)
    bounds = meant.confidence_interval(1 - 0.05 / 3)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((bounds.low, bounds.high))
    assert pair.p_corrected == pytest.approx(3 * meant.pvalue)
    plain = compare(sweep(values), "policy", OF, correction="none").pairs[0]
    bounds = meant.confidence_interval(0.95)
    assert (plain.difference.low, plain.difference.high) == pytest.approx((bounds.low, bounds.high))
    assert plain.p_corrected == plain.p == pair.p
    with pytest.raises(InputError, match="correction: expected bonferroni or none, found 'holm'"):
        compare(sweep(values), "policy", OF, correction="holm")


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(2, 6),
    n=st.integers(1, 8),
    spread=st.sampled_from([0.0, 1e-9, 0.3, 1.0, 30.0]),
    correction=st.sampled_from(["bonferroni", "none"]),
    confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_a_verdict_never_contradicts_its_interval(seed, n_labels, n, spread, correction, confidence):
    random = np.random.default_rng(seed)
    base = random.normal(100, 20, n)
    values = {(f"p{i}",): base + random.normal(0, 1) + random.normal(0, spread, n) for i in range(n_labels)}
    found = compare(sweep(values), "policy", OF, confidence=confidence, correction=correction)
    for pair in found.pairs:
        low, high = pair.difference.low, pair.difference.high
        assert pair.significant == (low > 0 or high < 0)
        assert (pair.better is not None) == pair.significant
        if n > 1 and not math.isclose(pair.p_corrected, 1 - confidence, rel_tol=1e-9):
            assert pair.significant == (pair.p_corrected < 1 - confidence)
        verdict = _verdict(found, pair, "first")
        assert (verdict in ("unclear", "-")) == (not pair.significant)
        if verdict == "unclear":
            _, interval = _difference(found, pair)
            ends = [float(end.split()[0].replace(",", "")) for end in interval.strip("[]").split(", ")]
            assert ends[0] <= 0 <= ends[1]
        assert (_p(pair) == "-") == (n == 1)


def test_equals_are_rarely_distinguished_whatever_their_number():
    """8 equal labels are 28 pairs: without the correction some of them nearly always look different."""
    random, n_wrong = np.random.default_rng(7), {"bonferroni": 0, "none": 0}
    for _ in range(40):
        values = {(f"p{i}",): random.normal(100, 20, 6) for i in range(8)}
        for correction in n_wrong:
            found = compare(sweep(values), "policy", OF, correction=correction)
            n_wrong[correction] += any(pair.significant for pair in found.pairs)
    assert n_wrong["bonferroni"] <= 5
    assert n_wrong["none"] >= 15


def test_many_comparisons_need_more_evidence():
    values = {("a",): BASE, ("b",): BASE + 0.8 + NOISE}
    (alone,) = compare(sweep(values), "policy", OF, confidence=0.9).pairs
    assert alone.significant
    random = np.random.default_rng(5)
    values |= {(f"n{i}",): BASE + random.normal(0, 20, 5) for i in range(10)}
    among = compare(sweep(values), "policy", OF, confidence=0.9).pairs[0]
    assert among.p == alone.p
    assert not among.significant


def test_unmatched_replications_are_named():
    first, second = sweep({("a",): BASE[:4]}), sweep({("b",): [1.0, np.nan, 3.0, 4.0, 5.0]})
    table = Table({name: np.concatenate([first[name], second[name]]) for name in first})
    (pair,) = compare(table, "policy", OF).pairs
    assert pair.difference.n == 3
    assert pair.unmatched == ("seed 1: no value of b", "seed 4: no run of a")
    assert pair.first_mean == pytest.approx(BASE[[0, 2, 3]].mean())


def test_a_point_where_one_has_no_run_is_shown():
    values = {(6, "a"): BASE, (6, "b"): BASE + 1, (7, "a"): BASE}
    found = compare(sweep(values, axes=("iat", "policy")), "policy", OF, axes=("iat", "policy")).pairs
    assert found[1].point == {"iat": 7}
    assert found[1].difference.n == 0
    assert found[1].unmatched == tuple(f"seed {seed}: no run of b" for seed in range(5))
    assert not found[1].significant


def test_one_replication_says_nothing():
    (pair,) = compare(sweep({("a",): [1.0], ("b",): [2.0]}), "policy", OF).pairs
    assert pair.difference.estimate == 1.0
    assert math.isnan(pair.difference.low)
    assert math.isnan(pair.p)
    assert not pair.significant


def test_runs_without_chance_are_exact():
    (same,) = compare(sweep({("a",): [5.0] * 3, ("b",): [5.0] * 3}), "policy", OF).pairs
    assert (same.p, same.significant) == (1.0, False)
    assert math.isnan(same.variance_ratio)
    (other,) = compare(sweep({("a",): [5.0] * 3, ("b",): [6.0] * 3}), "policy", OF).pairs
    assert (other.p, other.better) == (0.0, "a")
    assert compare(sweep({("a",): BASE, ("b",): BASE + 2}), "policy", OF).pairs[0].variance_ratio == math.inf
    assert paired_p(np.array([1.0])) != paired_p(np.array([1.0]))


@pytest.mark.parametrize("baseline", ["../p.py:Mine", "p.py:Mine"])
def test_a_policy_of_a_file_in_another_folder_is_found_by_its_last_words(baseline):
    (pair,) = compare(sweep({("high",): BASE, ("../p.py:Mine",): BASE + 1}), "policy", OF, baseline=baseline).pairs
    assert (pair.first, pair.second) == ("../p.py:Mine", "high")
    two = sweep({("a/p.py:Mine",): BASE, ("b/p.py:Mine",): BASE + 1})
    with pytest.raises(InputError, match="baseline: expected a label of policy"):
        compare(two, "policy", OF, baseline="p.py:Mine")


def test_bad_questions():
    table = sweep({("a",): BASE, ("b",): BASE})
    with pytest.raises(InputError, match="by: expected an axis: policy, found 'iat'"):
        compare(table, "iat", OF, axes=["policy"])
    with pytest.raises(InputError, match=r"of: expected a column .* Similar names: jobs.latency_us.mean"):
        compare(table, "policy", "jobs.latency_us.p99")
    with pytest.raises(InputError, match="baseline: expected a label of policy: a, b, found 'c'"):
        compare(table, "policy", OF, baseline="c")
    with pytest.raises(InputError, match="better: expected lower or higher"):
        compare(table, "policy", OF, better="faster")
    with pytest.raises(InputError, match="confidence: expected"):
        compare(table, "policy", OF, confidence=95)
    with pytest.raises(InputError, match="the sweep: expected finished runs, found none"):
        compare(Table({"policy": np.array([]), "seed": np.array([])}), "policy", OF)
    with pytest.raises(InputError, match="two labels or more"):
        compare(sweep({("a",): BASE}), "policy", OF)
    with pytest.raises(InputError, match="one run per seed for policy = a, found several"):
        compare(sweep({(6, "a"): BASE, (7, "a"): BASE, (6, "b"): BASE}, axes=("iat", "policy")), "policy", OF)


@pytest.mark.parametrize(("of", "better"), [(OF, None), ("deadlines.missed_pct", "flat"), ("jobs.finished", "high")])
def test_runs_that_stalled_are_better_only_in_numbers_that_count_all_jobs(of, better):
    table = sweep({("high",): BASE, ("flat",): BASE - 3 + NOISE}, of)
    reasons = np.array(["ALL_DONE"] * 5 + ["STALLED"] + ["ALL_DONE"] * 4, object)
    found = compare(Table({**table, "exit_reason": reasons}), "policy", of)
    (pair,) = found.pairs
    assert (pair.better, pair.stalled) == (better, ("flat",) if of == OF else ())
    assert (_verdict(found, pair, str(pair.better)) == "stalled") == (of == OF)
    assert compare(table, "policy", of).pairs[0].better == (better or "flat")
