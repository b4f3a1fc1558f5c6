"""A table of nodes, given to an import with ``--nodes``."""

import json

import pytest

import vinesim as vs

LOG = "submit,duration,cpus,mem_gb,gpus,gpu_type\n0,60,4,8,2,A100\n10,60,32,8,0,\n"
NODES = """hostname;#cores;RAM (GB);GPUs;GPU type;location
n1;64;512,5;4;A100;r1
n2;64;512,5;4;A100;r1
c1;32;128;;;r2
"""
GB = 10**9


@pytest.fixture
def imported(vinesim, tmp_path):
    def take(nodes, *words, name="nodes.csv", code=0):
        (tmp_path / "log.csv").write_text(LOG)
        (tmp_path / name).write_text(nodes)
        words = ("--nodes", tmp_path / name, "-o", tmp_path / "jobs.csv", "--json", *words)
        done = vinesim("import", "csv", tmp_path / "log.csv", *words)
        assert done.code == code, done.err
        return (json.loads(done.out), vs.read_scenario(tmp_path / "jobs.yaml")) if code == 0 else done.err

    return take


def test_the_nodes_of_a_table_with_their_names(imported):
    report, scenario = imported(NODES)
    center = scenario.datacenter
    assert report["columns"]["nodes: GPUs"]["is"] == "gpus"
    assert report["columns"]["nodes: location"]["is"] == "ignore"
    assert sorted(set(center.node_names)) == ["c1", "n1", "n2"]
    units = [(center.processor_types[t].name, c) for t, c in zip(center.unit_type, center.capacity, strict=True)]
    assert units == ([("CPU", 64), *[("A100", 1)] * 4, ("memory", 512.5 * GB)]) * 2 + [
        ("CPU", 32),
        ("memory", 128 * GB),
    ]
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 2


def test_rows_for_several_nodes_and_memory_without_a_unit(imported):
    report, scenario = imported(
        "count,cpus,memory,gpus,gpu_model\n3,64,262144,2,A100\n", "--column", "gpu_type=gpu_type"
    )
    center = scenario.datacenter
    assert report["columns"]["nodes: memory"]["is"] == "memory_mib"
    assert report["columns"]["nodes: memory"]["is_doubtful"]
    assert (center.unit_type == 0).sum() == 3
    assert center.capacity[center.unit_type == 2].tolist() == [2**38] * 3


def test_units_in_the_names(imported):
    report, scenario = imported("sn,cpu_milli,memory_mib,gpu,model\na,64500,65536,2,A100\nb,32000,16384,0,\n")
    assert report["columns"]["nodes: cpu_milli"] == {
        "is": "cores_milli",
        "why": "its name and the unit in it",
        "is_doubtful": False,
    }
    assert scenario.datacenter.capacity.tolist() == [64.5, 1, 1, 2**36, 32, 2**34]


def test_nodes_as_json_lines_with_units_in_the_cells(imported):
    rows = '{"name": "n1", "cores": 64, "memory": "256 GiB", "gpus": 4, "gpu_type": "A100"}\n'
    center = imported(rows, name="nodes.jsonl")[1].datacenter
    assert center.capacity.tolist() == [64, 1, 1, 1, 1, 2**38]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("name,gpus\na,1\n", "expected a column of cores, found name, gpus"),
        ("name,cores\na,0\nb,many\n", "nodes.csv:3: expected cores: a number above 0, found 'many'"),
        ("name,cores\na,4\nb,4\na,4\n", "nodes.csv:4: expected name: each name once, found 'a', as in"),
        ("name,cores,gpus\na,4,nan\n", "nodes.csv:2: expected gpus: a whole number, found 'nan'"),
        ("name,cores,gpus\na,4,1.5\n", "nodes.csv:2: expected gpus: a whole number, found '1.5'"),
        ("name,cores,count\na,4,99999999999\n", "nodes.csv:2: expected count: a whole number"),
        ("name,cores,memory\na,4,lots\n", "nodes.csv:2: expected a size"),
    ],
)
def test_wrong_nodes_are_refused_with_their_lines(imported, tmp_path, nodes, expected):
    assert expected in imported(nodes, code=2)
    assert not (tmp_path / "jobs.csv").exists()


def test_nodes_and_like_exclude_each_other(imported, tmp_path):
    assert "Keep one of them" in imported(NODES, "--like", tmp_path / "base.yaml", code=2)


def test_other_importers_take_the_table_too(vinesim, tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "log").write_text(
        "05/01/2024 09:00:05;E;17.head;user=ann ctime=1714550400 start=1714550405 "
        "exec_vnode=(n1:ncpus=16:mem=8gb:ngpus=2) end=1714554005\n"
    )
    done = vinesim("import", "pbs", tmp_path / "log", "--nodes", tmp_path / "nodes.csv", "-o", tmp_path / "jobs.csv")
    assert done.code == 0, done.err
    scenario = vs.read_scenario(tmp_path / "jobs.yaml")
    assert sorted(set(scenario.datacenter.node_names)) == ["c1", "n1", "n2"]
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 1
