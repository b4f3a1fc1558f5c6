"""All that a policy may ask, asked on both engines: the answers decide, so a difference shows in the result."""

import ast
import inspect
import os

import pytest

import vinesim.policies as public
from tests.gangs import gang_scenario
from tests.partitions import partition_scenario
from tests.policies.kinds import inquisitive
from tests.policies.kinds.inquisitive import Inquisitive, Interrupting
from tests.properties.equivalence import Refused, run, unlike
from tests.real_nodes import real_scenario
from tests.strategies import Limits, seeded_scenario
from vinesim.state import queries

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "30"))
LIMITS = Limits(units=6, jobs=10, outages=True, early=True)
KINDS = {
    "single units": lambda seed, policy: seeded_scenario(seed, policy, {}, LIMITS),
    "real nodes": lambda seed, policy: real_scenario(seed, policy, has_outages=seed % 3 == 0, early=True),
    "real nodes with rates": lambda seed, policy: real_scenario(seed, policy, has_outages=True, has_rates=True),
    "gangs": lambda seed, policy: gang_scenario(seed, policy, early=seed % 2 == 1, has_rates=seed % 4 > 1),
    "partitions": lambda seed, policy: partition_scenario(seed, policy, early=seed % 2 == 1, has_rates=True),
}
CASES = [  # each kind is compiled again, for 20 s
    pytest.param(policy, kind, marks=[] if (policy, kind) == (Interrupting, "real nodes") else pytest.mark.slow)
    for policy in (Inquisitive, Interrupting)
    for kind in KINDS
]


@pytest.mark.parametrize(("policy", "kind"), CASES)
def test_the_engines_tell_a_policy_the_same(policy, kind):
    n_runs = 0
    for seed in range(N_SCENARIOS):
        case = KINDS[kind](seed, policy)
        if "nodes" in kind and not case.workload.has_vectors:
            continue  # compiled again, as for single units
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        n_runs += not isinstance(compiled, Refused)
    assert n_runs > N_SCENARIOS / 2


def test_all_that_a_policy_may_ask_is_asked():
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(inquisitive))) if isinstance(node, ast.Call)]
    asked = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    for name in public.__all__:
        query = getattr(queries, name, None)
        if inspect.isfunction(query) and "state" in inspect.signature(query).parameters:
            assert name in asked
