"""Jobs that wait for others: both engines say the same, and every policy starts them as soon as it may."""

from dataclasses import replace

import numpy as np
import pytest

from tests.policies.kinds.restless import Restless
from tests.properties.equivalence import LIMITS, Refused, mostly_slow, run, unlike, without_plans
from tests.real_nodes import real_scenario
from tests.strategies import Limits, SeededDice, seeded_scenario, with_after
from vinesim.engine.simulate import code_for
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
POLICIES = without_plans()
BOTH = ("high", "delay", "fcfs", "edf", "symphony", "earliest_completion", "drf", "las", "priority", "easy_backfill")
BOTH += ("conservative_backfill", "rb_fifo", "rb_ljf_ba", "ffd")


def started_before(result, work):
    """The jobs of which a task began before a job was over that it waits for."""
    begin = np.fmin.reduceat(result.outcome.task_init_us, work.job_first[:-1])
    end = np.fmax.reduceat(result.outcome.task_finish_us, work.job_first[:-1])  # of those that are done
    job = np.repeat(np.arange(work.n_jobs), np.diff(work.after_first))
    return job[begin[job] < end[work.after]].tolist()


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"high", "delay", "edf", "earliest_completion", "rb_ljf_ba"}))
def test_every_policy_does_all_that_it_does_without_them(name):
    """On the reference engine. A policy that never learned of a job that is eligible late would stall."""
    limits = replace(LIMITS.get(POLICIES[name], Limits()), after=True, horizons=False)
    n_done = 0
    for seed in range(12):
        case = seeded_scenario(seed, POLICIES[name], {}, limits)
        work, result = case.workload, run(case, "reference")
        if work.after is None or isinstance(result, Refused):
            continue
        assert started_before(result, work) == [], seed
        free = run(replace(case, workload=replace(work, after=None, after_first=None)), "reference")
        assert result.exit_reason == "ALL_DONE" or free.exit_reason != "ALL_DONE", seed
        n_done += result.exit_reason == "ALL_DONE"
    assert n_done > 2


@pytest.mark.parametrize("name", mostly_slow(BOTH, {"high"}))
@pytest.mark.parametrize(
    ("early", "shared", "engine"),
    [
        (False, False, "interpreted"),
        (True, True, "compiled"),
        *(pytest.param(early, not early, "compiled", marks=pytest.mark.slow) for early in (False, True)),
    ],
)
def test_the_engines_agree(name, early, shared, engine):
    """With early ends and outages too, where the policy takes them: ffd, which places in periods and always on
    units that can be shared, does not. These have loops of their own."""
    limits = replace(LIMITS.get(POLICIES[name], Limits()), after=True, early=early, outages=early)
    n_compared = 0
    for seed in range(80):
        case = seeded_scenario(seed, POLICIES[name], {}, limits)
        if case.workload.after is None or can_be_shared(case) != shared:
            continue
        compiled = run(case, engine)
        assert unlike(compiled, run(case, "reference")) == [], seed
        n_compared += not isinstance(compiled, Refused)
    assert n_compared > 2 or (name == "ffd" and (early or not shared))


def can_be_shared(case):
    return "OVERCOMMITS" in code_for(case, resolve(case.policy, case.options)).rounded


@pytest.mark.parametrize("policy", ["high", "restless", "easy_backfill"])
@pytest.mark.slow
def test_the_engines_agree_where_tasks_hold_several_units_and_are_of_gangs(policy):
    n_compared = 0
    for seed in range(60):
        chosen = Restless if policy == "restless" else policy
        case = with_after(SeededDice(seed), real_scenario(seed, chosen, has_outages=seed % 3 == 0, early=True))
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        n_compared += case.workload.after is not None and not isinstance(compiled, Refused)
    assert n_compared > 20
