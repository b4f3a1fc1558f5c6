"""Tasks that never end, under policies that plan with expected times."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.accounting import Accounting
from vinesim.model.application import Application
from vinesim.model.workload import ANYWHERE
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.registry import policies

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


@pytest.mark.parametrize("reading", ["run_time", "eq1xT", "eq2"])
@pytest.mark.parametrize("policy", [name for name, kind in policies().items() if issubclass(kind, BatchPolicy)])
def test_a_batch_policy_places_a_service_whose_energy_counts_until_the_run_ends(policy, reading):
    """The service cannot run on BIG, where it would need less. Some policies start it in the second period."""
    work = vs.Workload(
        [0, 1, 1], range(4), [0.0, 1.0, 2.0], [np.inf, 5e6, 5e6], *np.zeros((3, 3)), np.full(3, -1), demand=np.ones(3),
        task_types=(vs.TaskType("SERVICE"), vs.TaskType("JOB")),
    )  # fmt: skip
    powers = {"idle_power_w": 10.0, "sleep_power_w": 1.0}
    types = [vs.ProcessorType(name, dynamic_power_w=w, **powers) for name, w in (("P", 20.0), ("BIG", 15.0))]
    center = vs.Datacenter([0, 0, 0, 1], np.zeros(4), range(4), types)
    accounting = Accounting(energy=reading, optimum=reading == "run_time")
    case = vs.Scenario(center, work, policy, affinity=[[1.0, 1.0], [0.0, 1.0]], period_us=2e6, accounting=accounting)
    done = vs.simulate(case, engine="reference")
    assert done.exit_reason == "ENDLESS"
    assert done.tasks["unit"][0] < 3
    periods = done.summary["periods"]
    service_j = (periods["count"] - done.tasks["init_us"][0] / 2e6) * 2.0 * (10.0 + 20.0)  # by all three readings
    asleep_j = periods["count"] * 2.0 * 1.0
    assert service_j < done.summary["energy_j"] < 1000.0
    assert service_j - asleep_j <= periods["bound_j"] <= periods["energy_j"]
    if reading == "run_time":
        assert service_j <= periods["optimum_j"] <= periods["energy_j"] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("policy", "more", "words"),
    [
        (
            "earliest_completion",
            {"demand": [2.0, 1.0]},
            "that it requests and is as large as its demand of 2",
        ),
        ("easy_backfill", {"partition": [0, 0], "partition_names": ("small",)}, "requests and is in its partition"),
        ("easy_backfill", {"gang": True}, "with task 1 of its gang: no unit provides the 9 of cores that it requests"),
        ("pref", {"preferred_type": [2, 2]}, "which prefers NONE: the datacenter has none"),
        ("rb_fifo", {"preferred_type": [2, 2], "requests": {"cores": [9.0, 1.0]}}, "no unit provides the 9 of cores"),
        (
            "fcfs",
            {"application": [0], "requests": None},
            "no unit is in its partition and is on a node with the data of its application",
        ),
    ],
)
def test_the_reason_of_a_stalled_run_names_what_no_unit_has_together(policy, more, words):
    kinds = (("BIG", 1.0, 8.0), ("SMALL", 4.0, 4.0), ("NONE", 1.0, 1.0))
    types = tuple(vs.ProcessorType(name, capacity=size, attributes={"cores": n}) for name, size, n in kinds)
    gang, data = more.pop("gang", False), "application" in more
    if data:
        more |= {"application_names": ("A",), "partition": [0], "partition_names": ("small",)}
    n_jobs = 1 if gang or data else 2
    columns = {"requests": {"cores": [6.0, 9.0 if gang else 1.0]}, "preferred_type": [-1, -1]} | more
    if gang:
        columns["gang_within"] = [ANYWHERE]
    work = vs.Workload(
        job_task_type=np.zeros(n_jobs, int),
        job_first=[0, 2] if n_jobs == 1 else [0, 1, 2],
        arrival_us=[0.0] * n_jobs,
        operations=[1.0, 1.0],
        data_bytes=[0.0, 0.0],
        data_rack=[0, 0],
        data_shelf=[0, 0],
        task_types=(vs.TaskType("T"),),
        **columns,
    )
    center = vs.Datacenter([0, 1], [0, 0], [0, 1], types)
    applications = (Application("A", 5.0, nodes=((0, 0),)),) if data else ()
    partitions = (vs.Partition("small", [(0, 1)]),) if "partition" in more else ()
    affinity = [[1.0]] * 3
    case = vs.Scenario(center, work, policy, affinity=affinity, applications=applications, partitions=partitions)
    done = vs.simulate(case, engine="reference")
    assert done.exit_reason == "STALLED"
    assert words in done.outcome.reason
