"""Plans over nodes with cores, memory and GPUs: what is bought, the power of racks, and the load, by hand."""

from copy import deepcopy

import pytest

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
    assert found.screened_why == {f"misses racks.power_w.0 below {3 * a_node_w:,} W": 1}


def loads_of(found):
    """The load of the recommendation, by hand in the tests."""
    return round(found.recommended.load, 6)


def test_cores_count_against_the_cores_of_a_node(tmp_path):
    found = vs.plan(asked(tmp_path, jobs(40, 10, "8,16 GiB,")), workers=1)  # 10 jobs of 8 cores at once
    assert (found.recommended.choice[COUNT], loads_of(found)) == (1, round(80 / 96, 6))
    assert not found.screened_why


def test_all_gpus_of_a_job_count(tmp_path):
    found = vs.plan(asked(tmp_path, jobs(40, 10, "4,16 GiB,1")), workers=1)  # 10 at once
    assert (found.recommended.choice[COUNT], loads_of(found)) == (3, round(10 / 12, 6))
    found = vs.plan(asked(tmp_path, jobs(40, 20, "4,16 GiB,2")), workers=1)  # 5 of 2 at once
    assert (found.recommended.choice[COUNT], loads_of(found)) == (3, round(10 / 12, 6))
    assert not found.screened_why  # a log is run to its end, whatever its load


def test_memory_can_be_what_is_short(tmp_path):
    found = vs.plan(asked(tmp_path, jobs(40, 20, "1,256 GiB,1")), workers=1)  # 5 of half a node's memory at once
    assert (found.recommended.choice[COUNT], loads_of(found)) == (3, round(5 / 6, 6))


def test_gangs_count_with_all_their_tasks(tmp_path):
    rows = jobs(40, 20, "4,16 GiB,1,1,2", "cores,memory,gpus,nodes,tasks_per_node")
    assert loads_of(vs.plan(asked(tmp_path, rows), workers=1)) == round(10 / 12, 6)


def test_nodes_of_other_sizes_have_loads_of_their_own(tmp_path):
    mapping = asked(tmp_path, jobs(40, 10, "8,16 GiB,"))
    cores = "datacenter.racks[0].nodes[0].units.CPU.cores"
    mapping["scenario"]["datacenter"]["racks"][0]["nodes"][0]["count"] = 1
    mapping |= {"choose": {cores: {"from": 64, "to": 128, "step": 16}}, "minimize": "jobs.wait_us.mean"}
    found = vs.plan(mapping, workers=1)
    assert (found.recommended.choice[cores], loads_of(found)) == (80, 1.0)  # each job starts when another one ends
    assert not found.screened_why


def test_no_bound_on_the_energy_is_above_that_of_a_run(tmp_path):
    mapping = asked(tmp_path, jobs(40, 10, "8,16 GiB,"), minimize="energy_j")
    mapping["scenario"]["processor_types"] = [{"name": "CPU", "idle_power": 100}, {"name": "A100", "idle_power": 50}]
    mapping["scenario"]["power"] = {"CPU": 292, "A100": 400}
    found = vs.plan(mapping, workers=1)
    # each job draws 8 of 96 parts of 292 W for 100 s, and the node idles: 100 W but for what executes, 4 x 50 W
    assert found.recommended.choice[COUNT] == 1
    assert found.closed == "Proven: no other candidate could be better."


def test_a_limit_bounds_what_jobs_hold_and_withdrawn_jobs_count_nothing(tmp_path):
    rows = jobs(40, 5, "4,16 GiB,1,50", "cores,memory,gpus,limit_s")  # 100 s, killed after 50: 10 at once
    assert loads_of(vs.plan(asked(tmp_path, rows), workers=1)) == round(10 / 12, 6)
    rows = [f"{row},{'withdraw_s' if k == 0 else 1000 * (k % 2 == 0) or ''}" for k, row in enumerate(rows)]
    assert loads_of(vs.plan(asked(tmp_path, rows), workers=1)) == round(5 / 12, 6)


def test_jobs_that_their_limits_kill_are_over_and_those_that_never_start_are_not(tmp_path):
    rows = [*jobs(8, 20, "4,16 GiB,1,", "cores,memory,gpus,limit_s"), "160,100,4,16 GiB,1,60"]
    found = vs.plan(asked(tmp_path, rows), workers=1)
    assert found.status is Status.RECOMMENDED  # the last job is killed, as its user would have it
    rows = [*jobs(5, 0, "4,16 GiB,1,", "cores,memory,gpus,withdraw_s"), "0,100,4,16 GiB,1,50"]
    found = vs.plan(asked(tmp_path, rows, limits={"jobs.latency_us.mean": {"below": "1 h"}}), workers=1)
    whys = {row.choice[COUNT]: row.why for row in found.evaluated}
    assert found.recommended.choice[COUNT] == 2
    assert whys[1].startswith("a run left jobs waiting until they were withdrawn: limit jobs.started or jobs.withdrawn")


@pytest.mark.parametrize(
    ("limit", "n_nodes"),
    [
        ({"jobs.withdrawn": {"below": 1}}, 1),
        ({"jobs.started": {"above": 5}}, 1),
        ({"jobs.started": {"above": 6}}, 2),
    ],
)
def test_a_plan_may_say_how_many_jobs_may_be_withdrawn_before_they_start(tmp_path, limit, n_nodes):
    rows = [*jobs(5, 0, "4,16 GiB,1,", "cores,memory,gpus,withdraw_s"), "0,100,4,16 GiB,1,50"]
    limits = {"jobs.latency_us.mean": {"below": "1 h"}, **limit}
    assert vs.plan(asked(tmp_path, rows, limits=limits), workers=1).recommended.choice[COUNT] == n_nodes
