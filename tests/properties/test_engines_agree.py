"""Two engines, one meaning: the compiled and the reference engine give the same tables bit for bit.

``VINESIM_SCENARIOS=10000 pytest tests/properties/test_engines_agree.py`` runs that many scenarios for each policy;
``python -m verification.run_equivalence`` does it without pytest.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.equivalence import LIMITS, check, differences, every_policy, options_of
from tests.strategies import Limits, scenarios, with_policy
from vinesim.policies.contract import BatchPolicy

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "400"))


@pytest.mark.timeout(60 + N_SCENARIOS)
@pytest.mark.parametrize("policy", every_policy().values(), ids=every_policy().keys())
def test_seeded_scenarios_give_the_same_tables(policy):
    is_batch = issubclass(policy, BatchPolicy)  # Python is asked every period: slow
    for seed in range(N_SCENARIOS // 10 if is_batch else N_SCENARIOS):
        assert check(seed, policy) == []


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_drawn_scenarios_give_the_same_tables(data):
    policy = data.draw(st.sampled_from(list(every_policy().values())))
    options = data.draw(st.sampled_from(options_of(policy)))
    limits = LIMITS.get(policy, Limits())
    assert differences(with_policy(data.draw(scenarios(limits=limits)), policy, options)) == []
