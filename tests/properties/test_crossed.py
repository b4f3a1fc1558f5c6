"""Many features at once: what the tables say holds, and both engines say the same."""

import os

import pytest

from tests.crossed import crossed_scenario
from tests.invariants import violations
from tests.properties.equivalence import LIMITS, Refused, mostly_slow, options_of, run, unlike, without_plans
from tests.strategies import Limits
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "15"))
POLICIES = {name: one for name, one in without_plans().items() if name != "test_pile"}  # it heeds no outages
MOST = ("high", "fcfs", "easy_backfill", "kueue")  # of these the engines are compared


def cases(name):
    policy, choices = POLICIES[name], options_of(POLICIES[name])
    for seed in range(N_SCENARIOS):
        yield seed, crossed_scenario(seed, policy, choices[seed % len(choices)], LIMITS.get(policy, Limits()))


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"high", "fcfs", "kueue"}))
def test_what_the_tables_say_holds(name):
    n_done = n_after = 0
    for seed, case in cases(name):
        done = run(case, "reference")
        if isinstance(done, Refused):
            continue
        assert violations(case, done, resolve(POLICIES[name], case.options)) == [], seed
        n_done += 1
        n_after += case.workload.after is not None
    assert n_done > N_SCENARIOS / 3
    assert n_after > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_the_engines_agree(name):
    for seed, case in cases(name):
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed
