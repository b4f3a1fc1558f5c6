"""Many features at once: what the tables say holds, and both engines say the same."""

import os

import pytest

from tests.crossed import crossed_scenario
from tests.properties.equivalence import LIMITS, checked, mostly_slow, options_of, run, unlike, without_plans
from tests.strategies import Limits
from vinesim.core import code, loops

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "15"))
POLICIES = without_plans()
MOST = ("high", "fcfs", "easy_backfill", "kueue")  # of these the engines are compared


def cases(name, n):
    policy, choices = POLICIES[name], options_of(POLICIES[name])
    for seed in range(n):
        yield seed, crossed_scenario(seed, policy, choices[seed % len(choices)], LIMITS.get(policy, Limits()))


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"high", "fcfs", "kueue", "las"}))
def test_the_engines_agree_and_what_the_tables_say_holds(name, monkeypatch):
    """The kernels without a compiler, for the features of each run or for those of the loop that it would share."""
    monkeypatch.setattr(loops, "cached_kernel", None)  # nothing is compiled
    n_done = n_after = 0
    for seed, case in cases(name, N_SCENARIOS):
        monkeypatch.setattr(code, "INLINED_FROM", (0, 1 << 60)[seed % 2])
        found = checked(case, case.options, "interpreted")
        assert found.all == [], seed
        n_done += found.end != "refused"
        n_after += case.workload.after is not None
    assert n_done > N_SCENARIOS / 3
    assert n_after > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_the_engines_agree_as_machine_code(name):
    for seed, case in cases(name, 4):
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed
