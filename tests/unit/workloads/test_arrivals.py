"""Arrival processes: mean rate, variation, bursts, cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.model.errors import InputError
from vinesim.workloads.arrivals import BY_CV, Arrivals
from vinesim.workloads.modulation import DAY_US, States, cycle_of, cycle_of_counts

HOUR_US = 3.6e9


def drawn(arrivals, n=50_000, seed=1):
    return arrivals.draw(n, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", BY_CV)
@pytest.mark.parametrize("cv", [0.5, 2.0])
def test_times_between_arrivals_have_the_mean_and_cv(kind, cv):
    if kind == "hyperexponential" and cv < 1:
        with pytest.raises(InputError, match="from 1 to"):
            Arrivals(kind, 10.0, cv=cv)
        return
    times = drawn(Arrivals(kind, 10.0, cv=cv))
    gaps = np.diff(times)
    assert times[0] == 0
    assert gaps.mean() == pytest.approx(10, rel=0.04)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.08)
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.02


def test_on_off_keeps_the_mean_and_is_silent_in_between():
    """With on 1 and off 9 the rate in bursts is ten times the mean; off times are exponential."""
    times = drawn(Arrivals("poisson", 10.0, states=States((1, 0), (100, 900))), 200_000)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(10, rel=0.1)
    assert np.median(gaps) == pytest.approx(np.log(2), rel=0.05)
    silent = gaps[gaps > 50]
    assert silent.mean() - 50 == pytest.approx(900, rel=0.1)


@pytest.mark.parametrize("stay_us", [1e-3, 1e-300])
def test_more_stays_than_memory_has_room_for_are_refused_before_they_are_drawn(stay_us):
    with pytest.raises(InputError, match="stay: expected stays that are not so short"):
        drawn(Arrivals("poisson", 1e6, states=States((1.0, 0.0), (stay_us, stay_us))), 100)


def test_states_give_each_its_share_of_time_and_rate():
    rates, stay = np.array([1.0, 5.0, 20.0]), np.array([1500.0, 1000.0, 500.0])
    times = drawn(Arrivals("poisson", 1.0, states=States(tuple(rates), tuple(stay))), 1_000_000)
    gaps = np.diff(times)
    rates = rates / ((rates * stay).sum() / stay.sum())
    seen = rates * stay / (rates * stay).sum()
    assert gaps.mean() == pytest.approx(1, rel=0.1)
    assert (gaps > 10).mean() == pytest.approx((seen * np.exp(-rates * 10)).sum(), rel=0.15)
    assert np.corrcoef(gaps[1:], gaps[:-1])[0, 1] > 0.2


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.just(0.0) | st.floats(1e-3, 10), min_size=2, max_size=24).filter(lambda rates: max(rates) > 0.1),
    st.sampled_from([(), (1, 1, 1, 1, 1, 0.5, 0.2)]),
    st.floats(0, 1e12),
)
def test_a_cycle_moves_times_in_order_keeps_the_mean_and_can_be_undone(daily, weekly, start_us):
    cycle = cycle_of(daily, weekly, start_us)
    times = np.linspace(0, 28 * DAY_US, 1000)
    moved = cycle.moved(times)
    assert (np.diff(moved) >= 0).all()
    assert moved[-1] == pytest.approx(28 * DAY_US, abs=7 * DAY_US)
    assert cycle.steadied(moved) == pytest.approx(times, abs=1.0)


def test_a_rate_that_is_next_to_nothing_next_to_another_is_refused():
    with pytest.raises(InputError, match=r"at least 1e-12 of the largest rate, found 4\.94066e-324 along with 1"):
        cycle_of([5e-324, 1.0])


def test_arrivals_follow_the_hours_and_the_days():
    daily = [1.0] * 12 + [3.0] * 12
    weekly = (1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.0)
    times = drawn(Arrivals("poisson", 3e7, cycle=cycle_of(daily, weekly, 6 * HOUR_US)), 100_000) + 6 * HOUR_US
    at = times[times < 28 * DAY_US]
    hours = np.bincount((at % DAY_US // HOUR_US).astype(int), minlength=24)
    assert hours[12:].sum() / hours[:12].sum() == pytest.approx(3, rel=0.05)
    days = np.bincount((at // DAY_US).astype(int) % 7, minlength=7)
    assert days[5] / days[:5].mean() == pytest.approx(0.5, rel=0.1)
    assert days[6] == 0


def test_constant_arrivals_follow_a_cycle_without_chance():
    times = Arrivals("constant", HOUR_US, cycle=cycle_of([1, 3])).draw(25, np.random.default_rng())
    assert times[6] == pytest.approx(12 * HOUR_US)  # half the rate in the first half of the day
    assert times[24] == pytest.approx(24 * HOUR_US)


def test_a_series_gives_the_counts_and_repeats():
    cycle = cycle_of_counts(np.array([5e6, 6e6, 8e6]), np.array([10.0, 0.0, 30.0]))
    assert cycle.length_us == 5e6
    times = Arrivals("constant", 1 / cycle.mean_rate, cycle=cycle).draw(81, np.random.default_rng())
    assert np.histogram(times + 1, [0, 1e6, 3e6, 5e6, 6e6, 8e6, 1e7])[0].tolist() == pytest.approx(
        [10, 0, 30, 10, 0, 30], abs=1
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: States((1,), (1,)),
        lambda: States((1, 2), (1,)),
        lambda: States((0, 0), (1, 1)),
        lambda: States((1, -1), (1, 1)),
        lambda: States((1, 2), (1, 0)),
        lambda: cycle_of([0, 0]),
        lambda: cycle_of((), [1, 2]),
        lambda: cycle_of_counts(np.array([0.0, 1.0]), np.zeros(2)),
    ],
)
def test_wrong_changes_of_rate_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_golden_times():
    gamma = Arrivals("gamma", 10.0, cv=2.0, states=States((1, 4), (50, 20)), cycle=cycle_of([1, 3]))
    assert gamma.draw(4, np.random.default_rng(7)) == pytest.approx(
        [0, 45.99759856, 47.20369751, 47.20369762], rel=1e-9
    )
