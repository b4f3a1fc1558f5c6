"""The coverage of the intervals, in small: the whole of it is ``python -m verification.coverage``."""

import math

import pytest
from scipy.stats import norm

import vinesim as vs
from verification import coverage
from verification.queues import scenario
from vinesim.studies.statistics import Interval

CHECKS = {check.name: check for check in coverage.checks()}


@pytest.mark.parametrize("name", ["mean latency, M/M/1, 10 runs", "M/M/3 - M/M/1, 10 pairs", "median over 10 runs"])
def test_the_intervals_hold_the_exact_value_as_often_as_promised(name):
    found = coverage.cover(CHECKS[name], 40, first_seed=1)
    assert found.holds
    assert found.share >= 0.85
    assert found.replications == 10


def test_stopping_goes_on_until_the_interval_is_narrow():
    check = CHECKS["until 5 %, at least 3 runs"]
    interval = check.experiment(iter(range(20, 1_000)))
    assert interval.n > 3
    assert interval.relative_half_width <= 0.05
    rounds = [3, 5, 8, 12, 18, 27, 41, 62]
    looked = rounds[rounds.index(interval.n) - 1]
    before = [coverage.latency(1, seed, 1500)["mean"] for seed in range(20, 20 + looked)]
    assert coverage.mean_interval(before).relative_half_width > 0.05


def test_jobs_taken_for_independent_are_found_out():
    def of_one_run(seeds):
        random = coverage.np.random.default_rng(next(seeds))
        case = scenario(random, 1500, coverage.RATE, random.exponential(1.0, 1500))
        latency_us = vs.simulate(case).jobs["latency_us"][300:]
        half = norm.ppf(0.975) * latency_us.std() / math.sqrt(len(latency_us))
        mean = float(latency_us.mean())
        return Interval(mean - half, mean, mean + half, 0.95, 1)

    found = coverage.cover(coverage.Check("jobs", coverage.mean_sojourn(1), of_one_run), 40, first_seed=1)
    assert not found.holds
    assert found.share < 0.6
