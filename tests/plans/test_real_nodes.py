"""Plans over nodes with cores, memory and GPUs: what is bought, the power of racks, and the load, by hand."""

from copy import deepcopy

import vinesim as vs
from vinesim.plans.answer import Status

COUNT = "datacenter.racks[0].nodes[0].count"
CLUSTER = {
    "extends": "none",
    "processor_types": [
        {"name": "CPU", "idle_power": 100, "dynamic_power": 2},
        {"name": "A100", "idle_power": 50, "dynamic_power": 350},
    ],
    "prices": {"CPU": 5000, "A100": 10000},
    "network": "none",
    "datacenter": {
        "racks": [{"nodes": [{"count": 2, "units": {"CPU": {"cores": 96}, "A100": 4}, "memory": "512 GiB"}]}]
    },
    "policy": "fcfs",
}


def asked(tmp_path, rows, **changed):
    """A plan: 1 to 4 nodes, the cheapest that keep a wait of 10 s for the jobs in these rows."""
    (tmp_path / "jobs.csv").write_text("\n".join(rows) + "\n")
    scenario = {**deepcopy(CLUSTER), "workload": {"file": str(tmp_path / "jobs.csv")}}
    return {
        "scenario": scenario,
        "choose": {COUNT: {"from": 1, "to": 4}},
        "minimize": "cost.purchase",
        "limits": {"jobs.wait_us.p99": {"below": "10 s"}},
        "confirm": {"horizon": 1},
        **changed,
    }


def jobs(n, every_s, cells, header="cores,memory,gpus"):
    """Rows of equal jobs of 100 s."""
    return [f"arrival_s,time_s,{header}", *(f"{k * every_s},100,{cells}" for k in range(n))]


def test_memory_without_a_price_is_in_the_price_of_its_node(tmp_path):
    mapping = asked(tmp_path, jobs(20, 10, "8,16 GiB,"), screen=False)
    found = vs.plan(mapping, workers=1)
    assert found.status is Status.RECOMMENDED
    assert (found.recommended.choice[COUNT], found.recommended.objectives[0].estimate) == (1, 5000 + 4 * 10000)


def test_the_power_of_a_rack_counts_all_cores_of_a_node(tmp_path):
    a_node_w = 100 + 2 * 96 + 4 * (50 + 350)
    limits = {"racks.power_w.0": {"below": 3 * a_node_w}}
    mapping = asked(tmp_path, jobs(3, 10, "8,16 GiB,"), maximize="units.count", limits=limits)
    del mapping["minimize"]
    found = vs.plan(mapping, workers=1)
    assert found.status is Status.RECOMMENDED
    assert found.recommended.choice[COUNT] == 3
    assert f"racks.power_w.0 is {4 * a_node_w}" in found.screened_why
