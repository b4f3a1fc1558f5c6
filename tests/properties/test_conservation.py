"""What must hold of every result: on scenarios that Hypothesis draws, and where a rule could not fail otherwise.

Of every policy: test_engines_agree; that the rules can fail: test_invariants.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.invariants import violations
from tests.invariants.facts import Facts
from tests.properties.equivalence import every_policy, options_of
from tests.properties.held_plainly import Folder
from tests.requests_scenarios import request_scenario
from tests.strategies import Limits, scenarios, seeded_scenario
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def facts_of(case):
    return Facts(case, Folder.of(vs.simulate(case, engine="reference")), resolve(case.policy, case.options))


@pytest.mark.parametrize("name", ["test_pile", "test_pile_in_batches"])
def test_a_policy_that_may_overcommit_does(name):
    """Or the rule about capacities would pass over it for nothing."""
    over = 0
    for seed in range(20):
        facts = facts_of(seeded_scenario(seed, every_policy()[name]))
        units = range(facts.n_units)
        over += any(facts.load(unit, time) > 1.01 * facts.capacity(unit) for unit in units for time in facts.moments)
    assert over > 5


@pytest.mark.parametrize("name", ["high", "pref", "fcfs"])
def test_in_order_of_arrival_is_not_how_it_is_anyway(name):
    """Without the option some task overtakes another."""
    policy, overtaken = every_policy()[name], 0
    choices = [options for options in options_of(policy) if not resolve(policy, options).starts_in_order]
    make = request_scenario if name == "fcfs" else seeded_scenario
    for seed in range(60):
        begins = vs.simulate(make(seed, policy, choices[seed % len(choices)]), engine="reference").tasks["init_us"]
        overtaken += bool((np.diff(begins[np.isfinite(begins)]) < 0).any())
    assert overtaken > 5


KINDS = (Limits(demands="none", sharing=False), Limits(), Limits(outages=True), Limits(demands="equal"))


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_drawn_scenarios_conserve(data):
    policy = data.draw(st.sampled_from(["flat", "high", "pref", "closer_to_data", "earliest_finish", "delay"]))
    scenario = data.draw(scenarios(policy, limits=data.draw(st.sampled_from(KINDS))))
    result = vs.simulate(scenario, engine="reference")
    assert violations(scenario, result, resolve(policy, scenario.options)) == []


def shared_unit(n_tasks, **more):
    """One unit on which n equal tasks of 10 us share the speed of one."""
    return vs.Scenario(
        vs.Datacenter.of([("CPU", 0, 0)], (vs.ProcessorType("CPU", capacity=8.0, parallelism=1.0),)),
        vs.Workload(
            np.zeros(1),
            [0, n_tasks],
            np.zeros(1),
            np.full(n_tasks, 10.0),
            *np.zeros((3, n_tasks)),
            np.full(n_tasks, -1),
            demand=np.ones(n_tasks),
            task_types=(vs.TaskType("T"),),
        ),
        affinity=np.ones((1, 1)),
        **more,
    )


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_task_that_shares_a_unit_has_no_finish_before_it_is_done(engine):
    """At the horizon, alone a task would be done; together with others it is not."""
    result = vs.simulate(shared_unit(4, horizon_us=30.0), engine=engine)
    assert result.exit_reason is vs.ExitReason.HORIZON
    assert np.isnan(result.tasks["finish_us"]).all()
    assert result.units["active_us"].tolist() == [30.0]
