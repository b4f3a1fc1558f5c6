"""Which shortcuts a scenario leaves: each rule that looks beyond a node, or tells tasks apart, takes some away."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from vinesim.state import shortcuts
from vinesim.state.build import build_model

ALL = ("is_room_local", "is_start_local", "is_start_alike", "is_room_alike")


def plain():
    case = gang_scenario(106)
    assert case.workload.demand is None
    no_gangs = dict.fromkeys(("gang_within", "gang_spread", "tasks_per_node", "gang_nodes"))
    return replace(case, workload=replace(case.workload, **no_gangs))


def partitioned(**quotas):
    case = plain()
    work = replace(case.workload, partition=[0] * case.workload.n_jobs, partition_names=("all",))
    return replace(case, workload=work, partitions=(vs.Partition("all", None, **quotas),))


def with_demands():
    case = plain()
    types = tuple(replace(one, capacity=2.0) for one in case.datacenter.processor_types)
    work = replace(case.workload, demand=np.ones(case.workload.n_tasks))
    return replace(case, datacenter=replace(case.datacenter, processor_types=types), workload=work)


def capped():
    case = plain()
    types = tuple(replace(one, dynamic_power_w=10.0) for one in case.datacenter.processor_types)
    return replace(case, datacenter=replace(case.datacenter, processor_types=types, power_cap_w=1e9))


def reserved():
    return replace(plain(), reservations=(vs.Reservation("upgrade", 5.0, 6.0),))


@pytest.mark.parametrize(
    ("case", "are_left"),
    [
        (plain, ALL),
        (with_demands, ALL[:3]),
        (lambda: gang_scenario(106), ALL[:2]),
        (partitioned, ALL[:2]),
        (lambda: partitioned(quota={"P0": 1.0}), ALL[:1]),
        (capped, ()),
        (reserved, ()),
    ],
)
def test_the_shortcuts_of_a_scenario(case, are_left):
    model = build_model(case())
    assert tuple(name for name in ALL if getattr(shortcuts, name)(model)) == are_left
