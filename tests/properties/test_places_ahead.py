"""Units that take tasks ahead: both engines say the same, and what they say holds."""

import os

import pytest

from tests.invariants import violations
from tests.places_ahead import scenario_ahead
from tests.properties.equivalence import Refused, every_policy, mostly_slow, options_of, run, unlike
from vinesim.policies.places_ahead import why_not_ahead
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "40"))
POLICIES = {name: one for name, one in every_policy().items() if not why_not_ahead(one())}


def cases(name, after=False):
    options = options_of(POLICIES[name])
    for seed in range(N_SCENARIOS):
        yield seed, scenario_ahead(seed, POLICIES[name], options[seed % len(options)], after)


@pytest.mark.parametrize("name", POLICIES)
def test_what_the_tables_say_holds(name):
    n_waited = 0
    for seed, case in cases(name):
        done = run(case, "reference")
        if isinstance(done, Refused):
            continue
        assert violations(case, done, resolve(POLICIES[name], case.options)) == [], seed
        given_us = done.outcome.granted_us
        n_waited += given_us is not None and bool((given_us < done.outcome.task_init_us).any())
    assert n_waited > N_SCENARIOS / 4


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"high", "test_consolidate"}))
def test_the_engines_agree(name):
    for seed, case in cases(name):
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["high", "fcfs", "drf"])
def test_the_engines_agree_where_jobs_wait_for_others(name):
    for seed, case in cases(name, after=True):
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed
