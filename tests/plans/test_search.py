"""The search itself, on runs that cost nothing: how good it is, that it is the same each time, and its options."""

from dataclasses import replace

import numpy as np
import pytest

from tests.plans.conftest import CPUS, GPUS
from tests.plans.synthetic import board
from vinesim.plans import conclusion, sampler
from vinesim.plans.answer import front
from vinesim.plans.candidate import difference
from vinesim.plans.conclusion import End, proof
from vinesim.plans.guesses import first_guess
from vinesim.plans.race import race
from vinesim.plans.search import improve, is_small, search

BUDGET = 1000  # runs: 2 % of 20 for each of 2,500 points
UTILITY = {"utility": "cost.purchase / 1000 + 0.1 * jobs.latency_us.p99"}


def values(found, weight):
    """The true objective of each point that keeps its limit."""
    limit = found.plan.limits[0].value
    latency = {int(p): found.runs.latency(int(p)) * np.exp(0.005) for p in found.screened.left}
    price = {p: found.screened.known[p]["cost.purchase"] for p in latency}
    return {p: price[p] / 1000 + weight * latency[p] for p in latency if latency[p] <= limit}


@pytest.mark.parametrize(
    ("limit", "seed"),
    [(115, 0), (130, 2), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((115, 1), (160, 3)))],
)
def test_the_cheapest_point_is_found_and_proved(limit, seed):
    found = board(seed, BUDGET, limit)
    assert not is_small(found)
    assert search(found) is End.DECIDED
    true = values(found, 0.0)
    assert found.best.value() / 1000 == min(true.values())
    assert found.best.point in true
    assert proof(found).startswith("Proven: ")
    assert found.runs.n_asked <= BUDGET


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_the_regret_of_a_noisy_objective_is_small(seed):
    found = board(seed, BUDGET, minimize=UTILITY)
    search(found)
    true = values(found, 0.1)
    assert true[found.best.point] <= 1.02 * min(true.values())
    assert found.runs.n_asked <= BUDGET


@pytest.mark.slow
def test_the_same_plan_searches_in_the_same_way():
    first, second = board(3, BUDGET, minimize=UTILITY), board(3, BUDGET, minimize=UTILITY)
    assert search(first) == search(second)
    assert first.course == second.course
    assert list(first.candidates) == list(second.candidates)


def test_every_stage_is_reached():
    found, stages = board(1, 3000, minimize=UTILITY), []
    found.on_step = lambda each: stages.append(each.stage)
    search(found)
    assert list(dict.fromkeys(stages)) == ["first guess", "moves", "samples", "proof"]


def test_more_is_better_only_where_the_plan_says_so():
    plain, reported = board(0, BUDGET, 115), board(0, BUDGET, 115, more_is_better=[CPUS, GPUS])
    search(plain)
    search(reported)
    assert not plain.ruled_out
    assert reported.ruled_out
    assert reported.runs.n_asked < plain.runs.n_asked


def test_a_search_leaves_a_plateau_where_all_points_are_the_same():
    found = board(0, 300, limit=1000, minimize="jobs.latency_us.p99")
    found.runs.latency = lambda point: 100 if found.space.label(point)[GPUS] == 0 else 140
    found.runs.values = lambda point, replications, names: {
        name: found.runs.latency(point) + np.asarray(replications, float) % 7 for name in names
    }
    search(found)
    assert found.space.label(found.best.point)[GPUS] == 0


def test_a_race_leaves_what_is_likely_worse_and_the_proof_does_not():
    found = board(0, 300, limit=1000, minimize="jobs.latency_us.p99")
    found.runs.latency = lambda point: 100 + point
    noise = [0, 9, 4, 7, 2, 5, 1, 8]
    found.runs.values = lambda point, replications, names: {
        name: np.array([found.runs.latency(point) + noise[(r * (point + 1)) % 8] for r in replications], float)
        for name in names
    }
    found.look([100], 20)
    race(found, [110], 12)
    assert found.candidates[110].n < 12
    assert not found.is_open(found.candidates[110], likely=True)
    assert found.is_open(found.candidates[110])


def with_values(of: dict[int, list[float]]):
    """A board whose points have these latencies, repeated over the replications."""
    found = board(0, 300, limit=1000, minimize="jobs.latency_us.p99")
    found.runs.values = lambda point, replications, names: {
        name: np.array([of[point][r % len(of[point])] for r in replications], float) for name in names
    }
    return found


def test_a_best_point_that_was_lucky_in_few_runs_is_found_out():
    lucky, better = [90, 105, 99] + 17 * [120, 118, 122], 20 * [100, 98, 99]
    found = with_values({100: lucky, 110: better})
    found.look([100], 3)
    race(found, [110], 20)
    assert found.best.point == 110
    assert found.candidates[100].n > 3


def test_the_place_of_a_lucky_point_goes_to_the_best_of_all_that_were_run():
    lucky, worse, better = [90, 92, 91] + 17 * [120, 118, 122], 20 * [110, 107, 108], 20 * [100, 98, 99]
    found = with_values({100: lucky, 105: worse, 110: better})
    found.look([100, 105, 110], 3)
    found.look([105, 110], 20)
    assert found.best.point == 100
    found.look([100], 20)
    assert found.best.point == 110


@pytest.mark.parametrize("first", [100, 110])
def test_a_point_that_no_seed_changes_is_compared_over_all_seeds_of_the_other(first):
    """Which may be better with the first seeds only; and the other way round."""
    for values, expected in (([90, 98, 97] + 17 * [120, 118, 122], 100), ([110, 112, 90] + 17 * [90, 88, 92], 110)):
        found = with_values({100: [100], 110: values})
        found.screened = replace(found.screened, is_random=np.arange(len(found.screened.is_random)) != 100)
        for point in (first, 210 - first, 110):
            race(found, [point], 20)
        n = found.candidates[110].n
        assert (found.candidates[100].n, n > 3, found.best.point) == (1, True, expected)
        change = difference(found.candidates[100], found.candidates[110])
        assert change.estimate == pytest.approx(np.mean(values[:n]) - 100.0)


def test_samples_end_after_so_many_known_points_in_all(monkeypatch):
    """Each sample takes longer than the one before, whether it is of a known point or not."""
    monkeypatch.setattr(sampler, "MOST_ASKED", 30)
    found, known = board(1, 3000, minimize=UTILITY), []
    first_guess(found)
    n_before, is_candidate = len(found.candidates), found.is_candidate
    found.is_candidate = lambda point: is_candidate(point) or known.append(point)
    sampler.sample(found)
    assert len(known) == 30
    assert len(found.candidates) > n_before


def test_moves_go_to_none_of_a_type_at_once():
    """Which may change everything, while a few units more or less change nothing."""
    found = board(0, 1000, limit=1000, minimize="jobs.latency_us.p99")
    found.runs.latency = lambda point: 100 if found.space.label(point)[GPUS] == 0 else 140
    found.runs.values = lambda point, replications, names: {
        name: found.runs.latency(point) + np.asarray(replications, float) % 7 for name in names
    }
    start = found.space.number((24, 23, 0))
    found.look([start], 20)
    improve(found)
    assert found.space.label(found.best.point)[GPUS] == 0
    assert list(found.space.ends(start)) == [found.space.number(at) for at in ((0, 23, 0), (24, 0, 0), (24, 24, 0))]


def test_no_run_is_spent_on_a_best_point_whose_objective_is_no_matter_of_chance():
    found = board(0, 300, limit=1000)
    price = {int(p): found.screened.known[p]["cost.purchase"] for p in found.screened.left}
    cheap, dear = min(price, key=price.get), max(price, key=price.get)
    found.look([dear], 3)
    race(found, [cheap], 20)
    assert found.candidates[dear].n == 3


def test_a_gap_ends_the_search_sooner():
    exact, rough = board(0, BUDGET, 115), board(0, BUDGET, 115, budget={"runs": BUDGET, "gap": "20 %"})
    search(exact)
    search(rough)
    assert rough.runs.n_asked < exact.runs.n_asked
    assert rough.best.value() <= exact.best.value() / 0.8


def test_a_budget_of_time_ends_the_search(monkeypatch):
    clock = iter(range(0, 10_000_000, 60))
    monkeypatch.setattr("vinesim.plans.board.time.monotonic", lambda: next(clock))
    found = board(0, BUDGET, 115, budget={"runs": BUDGET, "time": "5 min"})
    assert search(found) is End.SPENT
    assert conclusion.ended(found, End.SPENT) == "the budget of 5.00 min is spent"
    assert 0 < found.runs.n_asked < BUDGET


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_a_front_is_close_to_the_true_one(seed):
    found = board(seed, 300, minimize=["cost.purchase", "jobs.latency_us.p99"])
    search(found)
    latency = {int(p): found.runs.latency(int(p)) * np.exp(0.005) for p in found.screened.left}
    latency = {p: value for p, value in latency.items() if value <= 130}
    price = {p: found.screened.known[p]["cost.purchase"] for p in latency}
    own = [c.point for c in front(found) if c.point in latency]
    worst = (max(price.values()), 130.0)
    assert volume([(price[p], latency[p]) for p in own], worst) >= 0.95 * volume(
        [(price[p], latency[p]) for p in latency], worst
    )
    assert found.runs.n_asked <= 300


def volume(points, worst):
    """The area that the points dominate, up to the worst values."""
    area, best = 0.0, worst[1]
    for x, y in sorted(points):
        if y < best:
            area += (worst[0] - x) * (best - y)
            best = y
    return area


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100"), (0.999, "100"), (0.0995, "10"), (0.0712, "7.1"), (12.5, "1,250"), (0.0, "0")]
)
def test_shares_are_written_in_percent(share, text):
    assert conclusion.percent(share) == text
