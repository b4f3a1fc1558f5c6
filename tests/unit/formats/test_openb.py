"""Nodes and pods of a GPU cluster, as a scenario."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vinesim as vs
from vinesim.cli.main import app
from vinesim.formats.importers.openb import import_openb
from vinesim.formats.importers.openb_files import read_nodes
from vinesim.model.errors import InputError

DATA = Path(__file__).parents[4] / "shared" / "data" / "openb2023"
NODES = """sn,cpu_milli,memory_mib,gpu,model
a,32000,1000,0,
b,8000,2000,2,T4
c,8000,2000,2,T4
d,64000,4000,8,G2
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,4000,500,1,460,,LS,Running,200,300,200
p1,12000,100,0,0,,BE,Failed,100,150,
p2,2000,100,4,1000,G2|P100,LS,Running,250,450,250
p3,2000,100,4,1000,T4,LS,Running,250,450,250
p4,2000,100,1,540,T4,LS,Running,260,260,250
p5,2000,100,1,540,T4,LS,Running,260,360,250
"""


@pytest.fixture
def imported(tmp_path):
    def read(nodes=NODES, pods=PODS, **options):
        (tmp_path / "nodes.csv").write_text(nodes)
        (tmp_path / "pods.csv").write_text(pods)
        out = import_openb(tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "out.parquet", **options)
        return out, vs.read_scenario(out.scenario)

    return read


def units(scenario):
    center = scenario.datacenter
    names = [center.processor_types[p].name for p in center.unit_type]
    found = {}
    for name, capacity, shelf in zip(names, center.unit_capacity.tolist(), center.shelf.tolist(), strict=True):
        found.setdefault(shelf, []).append((name, capacity))
    return found


def test_nodes_have_thousandths_of_cores_and_gpus_and_bytes_of_memory(imported):
    _, made = imported()
    small = [("CPU", 8000), ("T4", 1000), ("T4", 1000), ("memory", 2000 * 2**20)]
    assert units(made) == {
        0: [("CPU", 32000), ("memory", 1000 * 2**20)],
        1: small,
        2: small,
        3: [("CPU", 64000), *[("G2", 1000)] * 8, ("memory", 4000 * 2**20)],
    }
    _, only = imported(gpu_nodes=True)
    assert only.datacenter.count_by_type() == {"CPU": 3, "G2": 8, "T4": 4, "memory": 3}


def test_pods_in_order_of_creation_with_what_they_ask_for(imported):
    _, made = imported()
    work = made.workload
    assert work.arrival_us.tolist() == [0, 100e6, 150e6, 160e6]
    assert work.operations.tolist() == [50e6, 100e6, 200e6, 100e6]
    assert work.units.tolist() == [1, 1, 4, 1]
    assert work.demand.tolist() == [12000, 460, 1000, 540]
    assert [work.lead_sets[code] for code in work.lead_types] == [("CPU",), ("G2", "T4"), ("G2",), ("T4",)]
    assert work.companions["CPU"].tolist() == [0, 4000, 2000, 2000]
    assert (work.companions["memory"] / 2**20).tolist() == [100, 500, 100, 100]


def test_what_was_dropped_is_reported(imported):
    done, _ = imported(start=120)
    assert done.report.dropped == {
        "created before the start": [3],
        "no node has all that it asks for": [5],
        "not deleted after it was created": [6],
    }
    assert done.report.values["qos"] == {"LS": [3, 2], "BE": [0, 1]}
    assert done.report.numbers == {"pods": 3, "days": 60 / 86400, "nodes": 4, "gpus": 12}


def test_shares_that_fill_a_gpu_exactly_run_next_to_each_other(imported):
    _, made = imported(nodes="cpu_milli,memory_mib,gpu,model\n8000,2000,1,T4\n")
    for engine in ("compiled", "reference"):
        tasks = vs.simulate(made, engine=engine).tasks
        assert len(tasks["unit"]) == 2
        assert (tasks["init_us"] == made.workload.arrival_us).all()
        assert tasks["finish_us"][0] > tasks["init_us"][1]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("8000,2000,2,T4\nc", "8000,2000,2,\nc", r"nodes\.csv:3: expected model: a name, found nothing"),
        ("8000,2000,2,T4\nc", "8000,2000,-1,T4\nc", r"nodes\.csv:3: expected gpu: a whole number, 0 to 10,000,000"),
        (
            "8000,2000,2,T4\nc",
            "8000,2000,2,cpu\nc",
            r"nodes\.csv:3: expected model: the model of a GPU, other than CPU",
        ),
        ("sn,cpu_milli", "sn,cpus", r"nodes\.csv:1: expected a column cpu_milli"),
        ("4000,500,1,460", "4000,500,1,1460", r"pods\.csv:2: expected gpu_milli: thousandths of a GPU, 1 to 1000"),
        ("4000,500,1,460", "4000,500,1.5,460", r"pods\.csv:2: expected num_gpu: a whole number, 0 or more"),
    ],
)
def test_wrong_files_are_one_error_with_its_line(imported, tmp_path, old, new, expected):
    with pytest.raises(InputError, match=expected) as error:
        imported(NODES.replace(old, new), PODS.replace(old, new))
    assert error.value.n_problems == 1
    assert not (tmp_path / "out.parquet").exists()


def test_the_command_writes_a_scenario_that_runs(tmp_path):
    for name, text in (("nodes", NODES), ("pods", PODS)):
        (tmp_path / f"{name}.csv").write_text(text)
    files = [str(tmp_path / name) for name in ("nodes.csv", "pods.csv", "out.parquet")]
    done = CliRunner().invoke(app, ["import", "openb", *files[:2], "-o", files[2], "--gpu-nodes", "--start", "120"])
    assert done.exit_code == 0
    assert "1 nodes without GPUs were left out" in done.output
    assert vs.simulate(vs.read_scenario(tmp_path / "out.yaml"), engine="reference").exit_reason == "ALL_DONE"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}")
def test_the_trace_of_2023(tmp_path):
    done = import_openb(DATA / "nodes.csv", DATA / "pods_gpuspec33.csv", tmp_path / "out.parquet", gpu_nodes=True)
    made = vs.read_scenario(done.scenario)
    counts = made.datacenter.count_by_type()
    assert counts.pop("CPU") == counts.pop("memory") == 1213
    assert counts.pop("V100M16") + counts.pop("V100M32") == 399
    assert counts == {"T4": 842, "G2": 4392, "P100": 265, "G3": 312, "A10": 2}
    work = made.workload
    for column in (work.demand, made.datacenter.unit_capacity, *work.companions.values()):
        assert (np.mod(column, 1) == 0).all()
        assert column.max() < 2**53
    n_gpu_pods = int(sum(work.lead_sets[code] != ("CPU",) for code in work.lead_types))
    assert (work.n_jobs, n_gpu_pods, done.report.n_dropped) == (8150, 7062, 2)


@pytest.mark.parametrize(
    ("pod", "is_kept"),
    [
        ("8000,2000,2,1000,T4,100,101", True),  # all of a node
        ("8001,2000,2,1000,T4,100,101", False),
        ("8000,2001,2,1000,T4,100,101", False),
        ("8000,2000,3,1000,T4,100,101", False),
        ("64000,4000,0,0,,100,101", True),
        ("1000,1,0,0,,99,101", True),  # created at the start
        ("1000,1,0,0,,98,101", False),
        ("1000,1,0,0,,100,100", False),
    ],
)
def test_both_sides_of_what_a_node_holds_and_of_times(imported, pod, is_kept):
    header = "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
    _, made = imported(pods=f"{header}1000,1,0,0,,150,160\n{pod}\n", start=99.0)
    assert made.workload.n_jobs == 1 + is_kept


@pytest.mark.parametrize(("milli", "is_right"), [(0, False), (1, True), (1000, True), (1001, False)])
def test_a_pod_takes_up_to_all_of_a_gpu(imported, milli, is_right):
    pods = PODS.replace("1,460", f"1,{milli}")
    if is_right:
        imported(pods=pods)
    else:
        with pytest.raises(InputError, match="gpu_milli: thousandths of a GPU, 1 to 1000"):
            imported(pods=pods)


def test_the_nodes_have_at_most_the_units_of_a_scenario(imported, tmp_path):
    pods = "\n".join(PODS.splitlines()[:2]) + "\n"
    with pytest.raises(InputError, match=r"nodes\.csv:5: expected gpu: a whole number, 0 to 10,000,000"):
        imported(NODES.replace("4000,8,G2", "4000,10000001,G2"), pods)
    with pytest.raises(InputError, match=r"nodes\.csv:5: expected at most 10,000,000 units"):
        imported(NODES.replace("4000,8,G2", "4000,9999989,G2"), pods)  # and 12 others
    (tmp_path / "nodes.csv").write_text(NODES.replace("4000,8,G2", "4000,9999988,G2"))
    assert read_nodes(tmp_path / "nodes.csv", gpu_nodes=False)[0][-1].n_gpus == 9999988
