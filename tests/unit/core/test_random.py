"""Where units with any room are counted, each has room for every task of its types."""

from dataclasses import replace

import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from vinesim.core.random_units import is_room_alike
from vinesim.state.build import build_model


def plain():
    case = gang_scenario(106)
    assert case.workload.demand is None
    no_gangs = dict.fromkeys(("gang_within", "gang_spread", "tasks_per_node", "gang_nodes"))
    return replace(case, workload=replace(case.workload, **no_gangs))


def partitioned(**quotas):
    case = plain()
    work = replace(case.workload, partition=[0] * case.workload.n_jobs, partition_names=("all",))
    return replace(case, workload=work, partitions=(vs.Partition("all", None, **quotas),))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (plain, True),
        (lambda: gang_scenario(106), False),
        (partitioned, False),
        (lambda: partitioned(quota={"P0": 1.0}), False),
    ],
)
def test_only_without_demands_gangs_partitions_and_quotas(case, expected):
    assert is_room_alike(build_model(case())) == expected
