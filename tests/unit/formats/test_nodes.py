"""Nodes as a person writes them: units with their own size, memory, other resources."""

import json
import re

import numpy as np
import pytest

import vinesim as vs
from vinesim.policies.identity import content_id
from vinesim.studies.scenarios import scenario_of

TYPES = """
extends: none
processor_types: [{name: CPU}, {name: A100}]
task_types: [JOB]
affinity: {absolute: {CPU: 1, A100: 1}}
network: none
workload: {generator: identical, options: {n_jobs: 3, task_type: JOB}}
arrivals: {iat: 7 us}
"""
NODES = """
datacenter:
  racks:
    - nodes:
        - {count: 2, units: {CPU: {cores: 96}, A100: 3}, memory: 512 GiB, resources: {nic: 25 GB/s, licences: 4}}
        - {units: {CPU: {cores: 32, count: 2}}, memory: 64 GiB}
"""


def units(scenario):
    """(type, capacity, rack, shelf) of each unit."""
    center = scenario.datacenter
    names = [center.processor_types[p].name for p in center.unit_type]
    return list(zip(names, center.unit_capacity.tolist(), center.rack.tolist(), center.shelf.tolist(), strict=True))


def test_a_node_has_cores_units_memory_and_other_resources(scenario):
    big = [("CPU", 96), *[("A100", 1)] * 3, ("memory", 512 * 2**30), ("nic", 25_000), ("licences", 4)]
    small = [("CPU", 32), ("CPU", 32), ("memory", 64 * 2**30)]
    expected = [(name, size, 0, shelf) for shelf, node in enumerate((big, big, small)) for name, size in node]
    assert units(scenario(TYPES + NODES)) == expected


def test_what_runs_nothing_has_affinity_0(scenario):
    made = scenario(TYPES + NODES)
    assert [p.name for p in made.datacenter.processor_types] == ["CPU", "A100", "memory", "nic", "licences"]
    assert made.affinity.tolist() == [[1], [1], [0], [0], [0]]


def test_the_racks_repeat_their_nodes(scenario):
    made = scenario(TYPES + NODES.replace("- nodes:", "- count: 2\n      nodes:"))
    first = [unit for unit in units(made) if unit[2] == 0]
    assert [(name, size, 0, shelf) for name, size, rack, shelf in units(made) if rack == 1] == first


def test_units_of_a_rack_and_listed_units_have_sizes_too(scenario):
    racks = "datacenter: {racks: [{units: {CPU: {cores: 8, count: 2}, A100: {capacity: 7}}, layout: alternate}]}"
    assert units(scenario(TYPES + racks)) == [("CPU", 8, 0, 0), ("A100", 7, 0, 1), ("CPU", 8, 0, 2)]
    listed = (
        "datacenter: {units: [{type: CPU, rack: 1, shelf: 0, count: 2, cores: 8}, {type: A100, rack: 0, shelf: 3}]}"
    )
    assert units(scenario(TYPES + listed)) == [("CPU", 8, 1, 0), ("CPU", 8, 1, 0), ("A100", 1, 0, 3)]


def test_the_capacity_of_the_type_written_out_changes_nothing(scenario):
    plain = TYPES + "datacenter: {racks: [{nodes: [{units: {CPU: 2}}]}]}"
    written = TYPES + "datacenter: {racks: [{nodes: [{units: {CPU: {count: 2, cores: 1}}}]}]}"
    assert content_id(scenario(plain)) == content_id(scenario(written))
    assert content_id(scenario(plain)) != content_id(
        scenario(written, "datacenter.racks[0].nodes[0].units.CPU.cores=2")
    )


def test_a_resource_may_be_listed_as_a_type_with_a_price(scenario):
    listed = TYPES.replace("{name: A100}", "{name: A100}, {name: memory, price: 9}")
    made = scenario(listed + NODES)
    assert [(p.name, p.price) for p in made.datacenter.processor_types][2] == ("memory", 9)
    assert made.affinity[2].tolist() == [0]
    priced = scenario(TYPES + NODES + "prices: {memory: 5}")
    assert [p.price for p in priced.datacenter.processor_types if p.name == "memory"] == [5]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("affinity", ["servers", "generator", "times", "a time for all"])
def test_memory_runs_no_task_wherever_the_affinity_comes_from(scenario, tmp_path, affinity, engine):
    node = "datacenter: {racks: [{nodes: [{units: {%s: 1}, memory: 1 GiB}]}]}\n"
    (tmp_path / "one.csv").write_text("arrival_s,time_s\n0,5\n0,5\n")
    text = {
        "servers": "extends: servers\nworkload: {generator: identical, options: {n_jobs: 3, task_type: TASK}}\n"
        "arrivals: {iat: 7 us}\n" + node % "A",
        "generator": "workload: {generator: neurasmus}\narrivals: {iat: 7 us}\n" + node % "GPU",
        "times": "workload: {generator: rbss_nas, options: {n_jobs: 3}}\n" + node % "PHENOM_6C",
        "a time for all": "processor_types: [{name: CPU}]\nworkload: {file: one.csv}\n" + node % "CPU",
    }[affinity]
    made = scenario(text)
    done = vs.simulate(made, engine=engine)
    names = {made.datacenter.processor_types[p].name for p in done.tasks["unit_type"]}
    assert "memory" not in names
    assert len(names) == 1


def test_counts_and_sizes_can_be_overridden_and_swept(scenario, tmp_path):
    node = "datacenter.racks[0].nodes[0]"
    made = scenario(TYPES + NODES, f"{node}.count=1", f"{node}.memory=1 TiB", f"{node}.units.CPU.cores=64")
    assert units(made)[:5] == [("CPU", 64, 0, 0), *[("A100", 1, 0, 0)] * 3, ("memory", 2**40, 0, 0)]
    axes = {f"{node}.count": [1, 2], f"{node}.units.A100": [1, 4], f"{node}.memory": ["1 GiB", "2 GiB"]}
    study = vs.study({"scenario": str(tmp_path / "s.yaml"), "axes": axes})
    runs = [scenario_of(study, run) for run in vs.expand(study)]
    assert sorted(run.datacenter.count_by_type()["A100"] for run in runs) == [1, 1, 2, 2, 4, 4, 8, 8]


@pytest.mark.parametrize(
    ("written", "replacement", "expected"),
    [
        (
            "memory: 512 GiB",
            "memry: 512 GiB",
            "nodes[0].memry: expected a key: one of units, memory, resources, count, ",
        ),
        ("memory: 512 GiB", "memory: 512 Gb", "nodes[0].memory: expected a size, 0 or more"),
        ("memory: 512 GiB", "memory: 0", "nodes[0].memory: expected a value above 0, found 0"),
        (
            "cores: 96",
            "core: 96",
            "units.CPU.core: expected a key: one of cores, capacity, count, found 'core'. Did you",
        ),
        ("cores: 96", "cores: 0", "units.CPU.cores: expected more than 0, found 0"),
        ("cores: 96", "cores: 96, capacity: 1", "units.CPU: expected cores or capacity, found both. Keep one."),
        ("A100: 3", "A100: {cores: 3}", "units.A100: expected cores of a CPU: a type whose name begins with CPU"),
        ("A100: 3", "A10: 3", "units.A10: expected a processor type: one of CPU, A100"),
        ("A100: 3", "A100: three", "units.A100: expected a whole number, found 'three'"),
        ("nic: 25", "memory: 25", "nodes[0]: expected memory once, found memory and resources.memory. Keep one."),
        ("25 GB/s", "25 GB/h", "resources.nic: expected an amount, 0 or more: a number, or a size or bandwidth"),
    ],
)
def test_a_wrong_node_is_one_error_with_its_place(problems, written, replacement, expected):
    (found,) = problems(TYPES + NODES.replace(written, replacement))
    assert re.match(r"s\.yaml:1[0-9]:\d+: datacenter\.racks\[0\]\.nodes\[0\]", found)
    assert expected in found


def test_resources_need_no_power_of_their_own(scenario):
    linear = TYPES.replace("{name: CPU}, {name: A100}", "{name: CPU, dynamic_power: 2}, {name: A100, dynamic_power: 3}")
    made = scenario(linear + NODES + "energy: {price_per_kwh: 0.3}")
    assert vs.simulate(made, engine="reference").summary["energy_j"] > 0


def test_a_resource_that_runs_tasks_is_an_error(problems):
    built_in = "datacenter: {racks: [{nodes: [{units: {CPU_INTEL: 1}, resources: {GPU: 4}}]}]}"
    (found,) = problems("workload: {generator: identical, options: {n_jobs: 3}}\narrivals: {iat: 7 us}\n" + built_in)
    assert "resources.GPU: expected a resource, which runs nothing, found the processor type GPU. Write" in found
    (found,) = problems(TYPES + NODES.replace("nic: 25 GB/s", "A100: 25"))
    assert re.match(r"s\.yaml:5:\d+: affinity\.absolute\.A100: expected a type that is no resource of a node", found)


def test_the_schema_takes_a_number_or_a_mapping():
    from vinesim.formats.scenario.file import scenario_schema

    node = scenario_schema()["$defs"]["NodePart"]["properties"]
    assert "UnitsPart" in json.dumps(node["units"])
    assert '"integer"' in json.dumps(node["units"])
    assert np.all([name in node for name in ("memory", "resources")])


def test_a_table_of_servers_says_the_same_as_nodes(scenario, tmp_path):
    rows = "type,count,cores,memory,units.A100\nCPU,2,96,512 GiB,3\nCPU,1,32,,\n"
    (tmp_path / "servers.csv").write_text(rows)
    nodes = "{count: 2, units: {CPU: {cores: 96}, A100: 3}, memory: 512 GiB}, {units: {CPU: {cores: 32}}}"
    one = scenario(TYPES + f"datacenter: {{racks: [{{nodes: [{nodes}]}}]}}")
    other = scenario(TYPES + "datacenter: {file: servers.csv}")
    assert sorted(units(one)) == sorted(units(other))
    assert [p.name for p in other.datacenter.processor_types] == ["CPU", "A100", "memory"]
    (tmp_path / "servers.csv").write_text("type,capacity,rack,shelf\nA100,7,1,2\nCPU,,0,2\n")
    assert units(scenario(TYPES + "datacenter: {file: servers.csv}")) == [("A100", 7, 1, 2), ("CPU", 1, 0, 2)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "type,core\nCPU,4",
            "servers.csv: core: expected one of type, name, count, rack, shelf, cores, capacity, memory, ",
        ),
        ("type,units.A10\nCPU,4", "Did you mean units.A100?"),
        ("type,cores\nCPU,-4", "servers.csv: cores[0]: expected an amount, 0 or more"),
        ("type,cores\nCPU,0", "servers.csv: cores[0]: expected a value above 0, or an empty cell, found 0"),
        ("type,cores\nA100,4", "servers.csv: cores[0]: expected cores of a CPU"),
        ("type,memory\nCPU,4 Gb", "servers.csv: memory[0]: expected a size, 0 or more"),
        ("type,units.A100\nCPU,1.5", "servers.csv: units.A100[0]: expected a whole number, 0 or more, found 1.5"),
        ("type,cores,capacity\nCPU,4,4", "expected a column cores or capacity, found both"),
    ],
)
def test_a_wrong_table_of_servers_is_one_error(problems, tmp_path, rows, expected):
    (tmp_path / "servers.csv").write_text(rows + "\n")
    (found,) = problems(TYPES + "datacenter: {file: servers.csv}")
    assert expected in found
