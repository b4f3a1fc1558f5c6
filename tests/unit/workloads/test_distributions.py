"""Distributions against scipy.stats, and against their own moments."""

import numpy as np
import pytest
from scipy import stats

from vinesim.model.errors import InputError
from vinesim.workloads.distributions import (
    DISTRIBUTIONS,
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)

CASES = [
    Uniform(1, 3),
    Exponential(5),
    Gamma(5, 0.3),
    Gamma(5, 2),
    Weibull(5, 0.4),
    Weibull(5, 2),
    Lognormal(5, 0.5),
    Lognormal(5, 3),
    Hyperexponential(5, 1.0),
    Hyperexponential(5, 3),
    Pareto(1, 1000, 1.0),
    Pareto(1, 1000, 1.5),
    Pareto(2, 50, 2.0),
]


@pytest.mark.parametrize("item", CASES, ids=repr)
def test_quantiles_and_moments_are_those_of_scipy(item):
    share = np.concatenate(([0.0, 1e-9], np.linspace(0.01, 0.99, 99), [0.999, 1 - 1e-9]))
    value = item.quantile(share)
    assert (np.diff(value) >= 0).all()
    assert item.scipy().cdf(value) == pytest.approx(share, abs=1e-9)
    middle = (np.arange(200_000) + 0.5) / 200_000
    mean, cv = item.moments
    assert item.quantile(middle).mean() == pytest.approx(mean, rel=0.005)
    if not isinstance(item, Hyperexponential):
        assert item.scipy().mean() == pytest.approx(mean)
        assert item.scipy().std() / mean == pytest.approx(cv)


@pytest.mark.parametrize("item", [*CASES, Empirical([1, 2, 2, 5])], ids=repr)
def test_draws_follow_the_distribution(item):
    drawn = item.draw(20_000, np.random.default_rng(1))
    if isinstance(item, Empirical):
        assert np.bincount(drawn.astype(int))[[1, 2, 5]] / 20_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
    else:
        assert stats.kstest(drawn, item.scipy().cdf).pvalue > 1e-3
    assert np.array_equal(drawn, item.draw(20_000, np.random.default_rng(1)))


GOLDEN = [
    (Gamma(5, 2), [3.053622822, 7.293646632]),
    (Hyperexponential(5, 3), [1.50058197, 2.362481567]),
    (Lognormal(5, 3), [2.565207638, 10.79363635]),
    (Weibull(5, 2), [2.776792868, 13.08156458]),
    (Pareto(1, 1000, 1.5), [1.923258261, 4.55648789]),
]


@pytest.mark.parametrize(("item", "values"), GOLDEN, ids=repr)
def test_golden_draws(item, values):
    assert item.draw(2, np.random.default_rng(7)) == pytest.approx(values, rel=1e-9)


def test_a_constant_needs_no_random_numbers():
    assert Constant(3).draw(2, np.random.default_rng(0)).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("constant", {"value": -1}, "value"),
        ("uniform", {"low": 3, "high": 3}, "low: "),
        ("exponential", {"mean": 0}, "mean"),
        ("gamma", {"mean": 1, "cv": 0}, "cv"),
        ("gamma", {"mean": float("inf"), "cv": 1}, "mean"),
        ("weibull", {"mean": 1, "cv": 51}, "0.01 to 50"),
        ("lognormal", {"mean": 1, "cv": 1e9}, "cv"),
        ("hyperexponential", {"mean": 1, "cv": 0.9}, "from 1 to"),
        ("pareto", {"low": 0, "high": 3, "alpha": 1}, "above 0"),
        ("pareto", {"low": 1, "high": 3, "alpha": 0}, "alpha"),
        ("empirical", {"values": []}, "values"),
        ("empirical", {"values": [1, -1]}, "values"),
    ],
)
def test_wrong_parameters_are_refused(name, options, says):
    with pytest.raises(InputError, match=says):
        DISTRIBUTIONS[name](**options)
