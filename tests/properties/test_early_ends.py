"""Segments that end early: both engines say the same of preemption, moves, limits, withdrawals and failures."""

import numpy as np
import pytest

import vinesim as vs
from tests.invariants import violations
from tests.policies.kinds.restless import Restless
from tests.policies.kinds.urgent import Urgent
from tests.properties.equivalence import Refused, mostly_slow, run, unlike, without_plans
from tests.real_nodes import real_scenario, wrong
from tests.strategies import Limits, seeded_scenario
from vinesim.model.result import OUTCOMES, WITHDRAWN
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
LIMITS = Limits(outages=True, early=True)
POLICIES = {
    "restless": (Restless, {}),
    "consolidated": (Restless, {"most": 3}),
    "urgent": (Urgent, {}),
    "high": ("high", {}),
}
KEEPING = ("drf", "earliest_completion", "easy_backfill", "conservative_backfill", "rb_fifo", "rb_ljf_ba", "rb_ljf_ocl")
EVER = {"interrupted", "failed", "killed", "withdrawn"}
ENDS = {name: EVER | {"preempted"} for name in POLICIES} | {"high": EVER, "restless": EVER | {"preempted", "moved"}}


@pytest.mark.parametrize("able", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_every_policy_starts_a_task_without_an_end_where_only_a_limit_ends_it(able):
    work = vs.Workload(
        job_task_type=np.zeros(2),
        job_first=np.arange(3),
        arrival_us=np.array([0.0, 1.0]),
        operations=np.array([np.inf, 4.0]),
        data_bytes=np.zeros(2),
        data_rack=np.zeros(2),
        data_shelf=np.zeros(2),
        preferred_type=np.full(2, -1),
        task_types=(vs.TaskType("INT"),),
        limit_us=np.array([5.0, np.inf]),
    )
    center = vs.Datacenter(np.arange(2), np.arange(2), np.zeros(2), (vs.ProcessorType("CPU"), vs.ProcessorType("GPU")))
    n_ran = 0
    for name, policy in without_plans().items():
        found = run(vs.Scenario(center, work, policy=policy, affinity=np.array([able]).T), "reference")
        if not isinstance(found, Refused):
            assert (found.exit_reason, found.summary["jobs"]["killed"]) == ("ALL_DONE", 1), name
            assert found.summary["jobs"]["finished"] == 1, name
            n_ran += 1
    assert n_ran > 20


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"restless"}))
def test_the_engines_agree(name):
    policy, options = POLICIES[name]
    n_early = 0
    for seed in range(60):
        case = seeded_scenario(seed, policy, options, LIMITS)
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if not isinstance(compiled, Refused):
            assert violations(case, compiled, resolve(policy, options)) == [], seed
            early = compiled.outcome.early
            n_early += 0 if early is None else len(early.task)
    assert n_early > 100


@pytest.mark.parametrize("name", mostly_slow(KEEPING, {"easy_backfill", "earliest_completion"}))
def test_the_engines_agree_where_a_policy_that_keeps_tasks_forgets_those_of_withdrawn_jobs(name):
    """What starts when is compared with plain lists in tests/policies and tests/papers."""
    n_ended = 0
    for seed in range(70):
        case = seeded_scenario(seed, name, {}, LIMITS)
        if case.workload.withdraw_us is None:
            continue
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if not isinstance(compiled, Refused):
            assert violations(case, compiled, resolve(name, {})) == [], seed
            early = compiled.outcome.early
            n_ended += 0 if early is None else np.count_nonzero(early.why == WITHDRAWN)
    assert n_ended > 30


@pytest.mark.parametrize("name", ["easy_backfill", "conservative_backfill"])
def test_a_policy_learns_of_a_withdrawal_before_a_task_that_ends_at_once_because_of_it(name):
    """When a job leaves a unit, a task that shares its speed has had all its service at this very instant. It ended
    first, the policy asked for nothing more, and was not notified of the withdrawal."""
    case = seeded_scenario(121, name, {}, LIMITS)
    outcome = run(case, "reference").outcome
    due = case.workload.withdraw_us[np.isfinite(case.workload.withdraw_us)]
    assert np.isin(outcome.task_finish_us, due).any()
    assert unlike(run(case, "compiled"), run(case, "reference")) == []


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"restless"}))
def test_the_engines_agree_where_tasks_hold_several_units(name):
    """And at every instant there is room for all that is held."""
    policy, options = POLICIES[name]
    n_placed, reasons = 0, set()
    for seed in range(150):
        case = real_scenario(seed, policy, has_outages=seed % 3 == 0, early=True, options=options)
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if isinstance(compiled, Refused):
            continue
        found = list(wrong(case, compiled))
        if name == "consolidated":  # its followers hold nothing of their own
            found = [text for text in found if not text.startswith("task")]
        assert found == [], seed
        outcome = compiled.outcome
        n_placed += 0 if case.workload.placed is None else int((case.workload.placed >= 0).sum())
        if outcome.early is not None and outcome.early_held is not None:
            reasons |= {OUTCOMES[why] for why in outcome.early.why[outcome.early_held.row]}
        if outcome.early is not None and outcome.held is not None:
            last = outcome.early.task[outcome.early.is_last]
            held = np.isin(outcome.early.task, outcome.held.row) & np.isin(outcome.early.task, last)
            reasons |= {OUTCOMES[why] for why in outcome.early.why[held]}
    assert n_placed > 5
    assert reasons >= ENDS[name]
