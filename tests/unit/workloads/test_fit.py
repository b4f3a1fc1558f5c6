"""Fitting recovers what was generated, and says where it does not fit."""

import numpy as np
import pytest

from vinesim.model.errors import InputError
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import (
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)
from vinesim.workloads.fit_log import GAPS, autocorrelations, fit_log
from vinesim.workloads.fitting import SIZES, OnOffGaps, fit_distributions
from vinesim.workloads.mmpp import MmppGaps
from vinesim.workloads.modulation import States, cycle_of
from vinesim.workloads.registry import generator

N = 30_000


@pytest.mark.parametrize(
    "item",
    [
        Exponential(5),
        Gamma(5, 0.5),
        Gamma(5, 2),
        Weibull(5, 0.6),
        Weibull(5, 3),
        Lognormal(5, 0.5),
        Lognormal(5, 2),
        Hyperexponential(5, 3),
        Uniform(2, 5),
    ],
    ids=repr,
)
def test_the_best_fit_is_what_was_drawn(item):
    found = fit_distributions(item.draw(N, np.random.default_rng(2)), SIZES)
    best = next(one for one in found if one.name == type(item).__name__.lower())
    assert best.aic < found[0].aic + 4  # one parameter more may fit by chance
    for name, value in vars(item).items():
        if name in ("mean", "cv", "low", "high"):
            assert getattr(best.distribution, name) == pytest.approx(value, rel=0.08)
    assert best.ks < 0.012
    assert all(abs(error) < 0.25 for error in best.tails.values())
    assert abs(best.tails[0.5]) < 0.05


def test_pareto_is_recovered_with_its_bounds():
    best = fit_distributions(Pareto(2, 1000, 1.5).draw(N, np.random.default_rng(2)), SIZES)[0]
    assert best.name == "pareto"
    assert best.distribution.alpha == pytest.approx(1.5, rel=0.03)
    assert best.distribution.low == pytest.approx(2, rel=0.001)
    assert best.distribution.high == pytest.approx(1000, rel=0.2)


def test_on_off_gaps_are_those_of_the_process_and_are_recovered():
    states = States((1, 0), (100, 900))
    gaps = np.diff(Arrivals("poisson", 10.0, states=states).draw(200_000, np.random.default_rng(5)))
    known = OnOffGaps(10, 100, 900)
    assert np.abs(known.scipy().cdf(np.sort(gaps)) - (np.arange(len(gaps)) + 0.5) / len(gaps)).max() < 0.005
    assert known.moments[0] == 10
    assert gaps.std() / gaps.mean() == pytest.approx(known.moments[1], rel=0.05)
    assert np.median(gaps) == pytest.approx(float(known.quantile(np.array([0.5]))[0]), rel=0.02)
    best = fit_distributions(gaps, GAPS)[0]
    assert best.name == "on_off"
    assert (best.distribution.mean, best.distribution.on, best.distribution.off) == pytest.approx(
        (10, 100, 900), rel=0.08
    )


def test_what_fits_badly_is_called_so():
    two = np.concatenate((np.full(5000, 1.0), np.full(5000, 100.0)))
    assert fit_distributions(two, SIZES)[0].ks > 0.1
    assert fit_distributions(np.full(9, 3.0), SIZES)[0].distribution.value == 3


def test_zeros_count_as_half_of_the_smallest():
    values = np.round(Exponential(3).draw(N, np.random.default_rng(1)))
    assert (values == 0).any()
    best = fit_distributions(values, ("exponential",))[0]
    assert best.distribution.mean == pytest.approx(np.where(values == 0, 0.5, values).mean())


def test_autocorrelation_is_that_of_an_autoregressive_process():
    noise = np.random.default_rng(3).standard_normal(100_000)
    values = np.empty_like(noise)
    values[0] = noise[0]
    for i in range(1, len(noise)):
        values[i] = 0.6 * values[i - 1] + noise[i]
    found = autocorrelations(values)
    assert [found[1], found[2], found[5]] == pytest.approx([0.6, 0.36, 0.6**5], abs=0.02)
    assert autocorrelations(np.ones(100))[1] == 0


def jobs(arrivals, sizes, n=N, **options):
    return generator("jobs").generate({"n_jobs": n, "arrivals": arrivals, "sizes": sizes, **options}, seed=4)


def test_a_daily_and_weekly_cycle_is_found_and_taken_out():
    daily, weekly = [1.0] * 12 + [3.0] * 12, [1.0] * 5 + [0.3, 0.3]
    work = jobs(Arrivals("gamma", 1.2e8, cv=2.0, cycle=cycle_of(daily, weekly)), Lognormal(5e6, 2))
    fit = fit_log(work.arrival_us, work.operations)
    assert np.mean(fit.daily[12:]) / np.mean(fit.daily[:12]) == pytest.approx(3, rel=0.15)
    assert np.mean(fit.weekly[5:]) / np.mean(fit.weekly[:5]) == pytest.approx(0.3, rel=0.15)
    assert fit.gaps[0].name == "gamma"
    assert fit.gaps[0].distribution.cv == pytest.approx(2, rel=0.05)
    assert fit.sizes[0].name == "lognormal"
    assert not fit.is_correlated


def test_no_cycle_is_found_where_there_is_none():
    fit = fit_log(jobs(Arrivals("poisson", 6e7), Exponential(5)).arrival_us)
    assert (fit.daily, fit.weekly, fit.sizes) == ((), (), ())
    assert fit.gaps[0].name in ("exponential", "weibull", "gamma")


def test_bursts_that_no_independent_times_have_are_reported():
    work = jobs(Arrivals("gamma", 10.0, cv=0.5, states=States((1, 1.2), (5000, 5000))), Exponential(5), n=100_000)
    fit = fit_log(work.arrival_us)
    assert fit.is_correlated
    assert "mmpp" not in [one.name for one in fit.gaps]  # less variable than any


@pytest.mark.parametrize("states", [States((1, 10), (500, 100)), States((1, 30), (5000, 200))], ids=repr)
def test_a_process_of_two_states_is_recovered(states):
    work = jobs(Arrivals("poisson", 10.0, states=states), Exponential(5), n=400_000)
    best = fit_log(work.arrival_us).gaps[0]
    assert best.name == "mmpp"
    assert best.distribution.mean == pytest.approx(10, rel=0.06)
    assert best.distribution.rates[1] == pytest.approx(states.rates[1], rel=0.25)
    assert best.distribution.stay == pytest.approx(states.stay_us, rel=0.25)
    assert best.ks < 0.02


def test_the_moments_of_a_process_are_those_of_on_off():
    known = OnOffGaps(10, 100, 900)
    found = MmppGaps(10, (1.0, 1e-12), (100.0, 900.0))
    assert found.moments == pytest.approx(known.moments)
    assert found.correlations([1, 5]) == pytest.approx({1: 0, 5: 0}, abs=1e-9)
    x = np.array([1.0, 50.0, 2000.0])
    assert found.scipy().cdf(x) == pytest.approx(known.scipy().cdf(x))


def test_users_and_their_correlation_are_recovered():
    work = jobs(Arrivals(), Lognormal(5, 2), n_users=300, user_correlation=0.4)
    fit = fit_log(work.arrival_us, work.operations, work.application)
    assert fit.n_users == 300
    assert fit.user_correlation == pytest.approx(0.4, abs=0.06)
    alone = jobs(Arrivals(), Lognormal(5, 2), n_users=300)
    assert fit_log(alone.arrival_us, alone.operations, alone.application).user_correlation < 0.01


def test_weights_of_a_sample():
    item = Empirical([5, 1], [1, 3])
    assert item.quantile(np.array([0.0, 0.74, 0.76])).tolist() == [1, 1, 5]
    assert item.moments == pytest.approx((2, np.sqrt(3) / 2))
    for weights in ([1], [0, 0], [1, -1]):
        with pytest.raises(InputError, match="weights"):
            Empirical([5, 1], weights)


@pytest.mark.parametrize("times", [[1.0] * 30, [1.0, 2.0]])
def test_a_log_that_is_too_small_is_refused(times):
    with pytest.raises(InputError, match="at least 20 jobs"):
        fit_log(np.array(times))


YEAR_US = 8766 * 3.6e9


def test_what_a_fit_takes_is_bounded_by_the_length_of_the_log():
    times = np.linspace(0, 1e9, 20)
    assert fit_log(np.append(times, 150 * YEAR_US)).n_jobs == 21
    for last in (151 * YEAR_US, 1e300, np.inf):
        with pytest.raises(InputError, match="an arrival within 150 years of the first"):
            fit_log(np.append(times, last))


@pytest.mark.parametrize(
    "sizes",
    [
        10.0 ** np.linspace(-300, 300, 40),
        10.0 ** np.linspace(-320, -300, 40),
        np.append(np.zeros(39), 5e-324),
        np.append(np.ones(39), 1e17),
        np.append(np.ones(39), 1 + 1e-15),
    ],
)
def test_sizes_of_any_scale_are_fitted_without_a_warning(sizes):
    fit = fit_log(np.arange(40) * 1e6, sizes)
    assert all(np.isfinite(one.aic) or one.name == "constant" for one in fit.sizes)
