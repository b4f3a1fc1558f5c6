"""Segments that end early: both engines say the same of preemption, moves, limits, withdrawals and failures."""

import pytest

from tests.invariants import violations
from tests.policies.kinds.restless import Restless
from tests.policies.kinds.urgent import Urgent
from tests.properties.equivalence import Refused, run, unlike
from tests.strategies import Limits, seeded_scenario
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
LIMITS = Limits(outages=True, early=True)
POLICIES = {
    "restless": (Restless, {}),
    "consolidated": (Restless, {"most": 3}),
    "urgent": (Urgent, {}),
    "high": ("high", {}),
}


@pytest.mark.parametrize("name", POLICIES)
def test_the_engines_agree(name):
    policy, options = POLICIES[name]
    n_early = 0
    for seed in range(120):
        case = seeded_scenario(seed, policy, options, LIMITS)
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if not isinstance(compiled, Refused):
            assert violations(case, compiled, resolve(policy, options)) == [], seed
            early = compiled.outcome.early
            n_early += 0 if early is None else len(early.task)
    assert n_early > 100
