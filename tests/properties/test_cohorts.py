"""Cohorts: both engines say the same, and no partition or cohort holds more than it may."""

import os

import pytest

from tests.cohorts import OPTIONS, cohort_scenario
from tests.invariants import violations
from tests.kueue_plainly import search_plainly
from tests.properties.equivalence import Refused, run, unlike
from vinesim.model.result import PREEMPTED
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "40"))


@pytest.mark.slow  # two policies are compiled: a minute
@pytest.mark.parametrize("policy", ["kueue", "high"])
def test_the_engines_agree(policy):
    n_preempted = 0
    for seed in range(2 * N_SCENARIOS):
        case = cohort_scenario(seed, policy)
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if not isinstance(compiled, Refused) and compiled.outcome.early is not None:
            n_preempted += int((compiled.outcome.early.why == PREEMPTED).sum())
    assert n_preempted > N_SCENARIOS or policy != "kueue"


@pytest.mark.parametrize(("n_nodes", "n"), [(2, 2 * len(OPTIONS)), (4, len(OPTIONS))])
def test_what_is_kept_and_skipped_changes_nothing(n_nodes, n, monkeypatch):
    n_preempted = 0
    for seed in range(n):
        case = cohort_scenario(seed, n_nodes=n_nodes)
        with monkeypatch.context() as patch:
            search_plainly(patch)
            plain = run(case, "reference")
        assert unlike(run(case, "reference"), plain) == [], seed
        if not isinstance(plain, Refused) and plain.outcome.early is not None:
            n_preempted += int((plain.outcome.early.why == PREEMPTED).sum())
    assert n_preempted > n


@pytest.mark.parametrize("policy", ["kueue", "high", "easy_backfill", "priority"])
def test_every_result_keeps_quotas_and_cohorts(policy):
    n_done = 0
    for seed in range(N_SCENARIOS // 2):
        case = cohort_scenario(seed, policy)
        done = run(case, "reference")
        if not isinstance(done, Refused):
            assert violations(case, done, resolve(policy, case.options)) == [], seed
            n_done += 1
    assert n_done > N_SCENARIOS / 4


def test_every_option_is_tried():
    names = {name for options in OPTIONS for name in options}
    assert names == set(resolve("kueue", {}).values_of_options())
