"""What axes of a study are called."""

import pytest

from vinesim.model.titles import axis_title

WORDS = {
    "datacenter.racks[0].nodes[0].count": "nodes of rack 0",
    "datacenter.racks[1].nodes[2].count": "nodes of kind 2 of rack 1",
    "datacenter.racks[0].count": "racks",
    "datacenter.racks[0].nodes[0].memory": "memory in a node of rack 0",
    "datacenter.racks[0].nodes[1].units.CPU.cores": "CPU cores in a node of kind 1 of rack 0",
    "datacenter.racks[0].units.MIG.capacity": "MIG capacity of rack 0",
    "datacenter.racks[0].nodes[1].units.A100": "A100 units in a node of kind 1 of rack 0",
    "datacenter.racks[0].nodes[0].units.A100.count": "A100 units in a node of rack 0",
    "partitions[0].user_quota.A100": "quota of A100 of a user in partition 0",
    "partitions[1].quota.A100|T4": "quota of A100|T4 in partition 1",
    "partitions[1].borrowing_limit.A100": "borrowing limit of A100 in partition 1",
    "partitions[1].lending_limit.A100": "lending limit of A100 in partition 1",
    "partitions[1].weight": "weight of partition 1",
    "partitions[1].name": "name",
    "arrivals.on_off.mean": "mean time between jobs",
}


@pytest.mark.parametrize("key", WORDS)
def test_axes_of_real_nodes_have_words(key):
    assert axis_title(key).words == WORDS[key]


@pytest.mark.parametrize(
    "key", ["arrivals.on_off.mean", "arrivals.mmpp.mean", "arrivals.on_off.off", "period", "horizon"]
)
def test_axes_of_times_have_a_unit(key):
    assert axis_title(key).unit == "us"
