"""Tasks that never end, under policies that plan with expected times."""

import numpy as np
import pytest

import vinesim as vs

POLICIES = ("fcfs", "easy_backfill", "conservative_backfill", "earliest_completion")


def service_and_jobs(n_units, policy):
    """A service that never ends, and two jobs of 5 us behind it."""
    work = vs.Workload(
        np.zeros(3), np.arange(4), [0.0, 1.0, 2.0], [np.inf, 5.0, 5.0], *np.zeros((3, 3)), np.full(3, -1),
        task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter(np.zeros(n_units), np.zeros(n_units), np.arange(n_units), (vs.ProcessorType("P"),))
    return vs.Scenario(center, work, policy, affinity=[[1.0]])


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_service_starts_and_the_jobs_behind_it_take_the_other_unit(policy, engine):
    done = vs.simulate(service_and_jobs(2, policy), engine=engine)
    assert done.exit_reason == "ENDLESS"
    assert done.tasks["unit"].tolist() == [0, 1, 1]
    assert done.tasks["init_us"].tolist() == [0.0, 1.0, 6.0]


@pytest.mark.parametrize("policy", POLICIES)
def test_behind_a_service_on_the_only_unit_nothing_starts(policy):
    done = vs.simulate(service_and_jobs(1, policy), engine="reference")
    assert done.exit_reason == "STALLED"
    assert done.tasks["unit"].tolist() == [0, -1, -1]
