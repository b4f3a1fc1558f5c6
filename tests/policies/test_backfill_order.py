"""Backfilling in an order of its own: against plain lists, what it explains, and how it may be written."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import tests.backfill_exhaustively as counted
import tests.backfill_plainly as of_nodes
import vinesim as vs
from tests.policies import test_backfill, test_backfill_of_nodes, test_backfill_slots
from tests.policies.kinds import backfill_plain as of_units
from tests.policies.kinds.shortest_first import ConservativeShortest, EasyShortest
from tests.properties.equivalence import differences
from vinesim.policies.backfill.easy import EasyBackfill
from vinesim.policies.registry import resolve

KINDS = {"easy": EasyShortest, "conservative": ConservativeShortest}
BOTH = pytest.mark.parametrize("name", KINDS)
REVERSED = pytest.mark.parametrize("is_reversed", [False, True])


def by_rank(rule, is_reversed):
    """The rule on a queue in the order of the policy."""
    sign = -1 if is_reversed else 1

    def ranked(cluster, waiting, news):
        return rule(cluster, sorted(waiting, key=lambda job: sign * job.estimate), news)

    return ranked


@BOTH
@REVERSED
def test_tasks_of_one_unit_start_as_on_plain_lists(name, is_reversed):
    rule = {"easy": of_units.easy, "conservative": of_units.conservative}[name]
    n_other = 0
    for seed in range(40):
        jobs, n_units, cores = test_backfill.random_jobs(seed, (1.0, 2.0), equal=seed % 4 == 0)
        found = test_backfill.starts(KINDS[name](is_reversed=is_reversed), jobs, n_units, cores)
        of_units.run(jobs, n_units, cores, by_rank(rule, is_reversed))
        assert found == [job.start for job in jobs], seed
        n_other += found != test_backfill.starts(f"{name}_backfill", jobs, n_units, cores)
    assert n_other > 20


@BOTH
@REVERSED
def test_gangs_on_nodes_start_as_on_plain_lists(name, is_reversed):
    rule = {"easy": of_nodes.easy, "conservative": of_nodes.conservative}[name]
    n_other = 0
    for seed in range(8):
        jobs, nodes = test_backfill_of_nodes.random_jobs(seed, (1.0, 3.0))
        case = test_backfill_of_nodes.scenario(KINDS[name](is_reversed=is_reversed), jobs, *nodes)
        by_arrival = test_backfill_of_nodes.places(replace(case, policy=f"{name}_backfill", options={}))
        found = test_backfill_of_nodes.places(case)
        of_nodes.run(jobs, of_nodes.Cluster(*nodes), by_rank(rule, is_reversed))
        assert found == [(job.start, job.places) for job in jobs], seed
        n_other += found != by_arrival
    assert n_other > 3


@BOTH
@REVERSED
def test_gangs_on_equal_slots_start_as_processors_are_counted(name, is_reversed, monkeypatch):
    rule = {"easy": counted.counting_easy, "conservative": counted.counting_conservative}[name]
    each_pass, sign, n_other = counted.each_pass, -1 if is_reversed else 1, 0

    def passes_by_rank(jobs, passes_at, begun):
        for now, waiting, held in each_pass(jobs, passes_at, begun):
            yield now, sorted(waiting, key=lambda i: sign * jobs[i].estimate), held

    for seed in range(20):
        random = np.random.default_rng(seed)
        arrivals, runs = np.sort(random.integers(0, 30, 16)).tolist(), random.integers(1, 12, 16).tolist()
        estimates, sizes = (random.choice([1, 3], 16) * runs).tolist(), random.integers(1, 5, 16).tolist()
        rows = zip(arrivals, runs, estimates, sizes, strict=True)
        jobs = [counted.Job(*row, (1,), tuple(range(4))) for row in rows]
        policy = KINDS[name](is_reversed=is_reversed)
        found = test_backfill_slots.run(policy, jobs, [(1,)] * 4)
        by_arrival = rule(jobs, 4)
        with monkeypatch.context() as patch:
            patch.setattr(counted, "each_pass", passes_by_rank)
            assert found == rule(jobs, 4), seed
        n_other += found != by_arrival
    assert n_other > 10


def test_a_task_that_comes_in_between_is_tried_at_once():
    """From 1 on one waits for both nodes, and from 2 on a longer one. The last to come is between them in the queue: it
    fits on the free node until the first one ends."""
    rows = [(0, 10, 1), (1, 2, 2), (2, 50, 1), (3, 7, 1)]
    jobs = [counted.Job(at, run, run, n, (1,), (0, 1)) for at, run, n in rows]
    assert test_backfill_slots.run(EasyShortest(), jobs, [(1,), (1,)]) == [0, 10, 12, 3]


def test_the_rank_is_checked_and_the_class_has_its_own_name():
    @dataclass(frozen=True)
    class WithSelf(EasyBackfill):
        def rank(self, model, state, view, task):
            return 0.0

    @dataclass(frozen=True)
    class WithoutView(EasyBackfill):
        @staticmethod
        def rank(model, state, task):
            return 0.0

    case = test_backfill.scenario("easy_backfill", [test_backfill.job(1, 1)])
    for kind, expected in (
        (WithSelf, "@staticmethod above def rank"),
        (WithoutView, r"rank\(model, state, view, task\)"),
    ):
        with pytest.raises(vs.InputError, match=expected):
            vs.simulate(replace(case, policy=kind))
    assert (WithSelf.name, EasyShortest.name, resolve("easy_backfill").name) == (
        "",
        "test_easy_shortest",
        "easy_backfill",
    )


@pytest.mark.slow
@BOTH
def test_the_engines_agree(name):
    policy = KINDS[name](is_reversed=True, passes_at="event")
    for seed in range(10):
        jobs, n_units, cores = test_backfill.random_jobs(seed, (0.5, 1.0, 2.0))
        assert differences(test_backfill.scenario(policy, jobs, n_units, cores)) == [], seed
        jobs, nodes = test_backfill_of_nodes.random_jobs(seed, (0.5, 1.0, 3.0))
        assert differences(test_backfill_of_nodes.scenario(policy, jobs, *nodes)) == [], seed
