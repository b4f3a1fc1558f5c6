"""LLN: the least loaded nodes first, as single experiments with real Slurm showed."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_slurm import TICK_S, run, starts_s
from tests.policies.slurm.test_switches import write_topology
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.studies.mechanisms import without_each

FOUR = (4, 4, 4, 4)
ONES = ["-n1"] * 6


def conf_of(cpus: tuple[int, ...], weights: tuple[int, ...] = (), of_part: str = "LLN=YES", more: str = "") -> str:
    """A site with a node for each of ``cpus``."""
    lines = [
        f"NodeName=c{i} CPUs={n} RealMemory=8000 Weight={weight}"
        for i, (n, weight) in enumerate(zip(cpus, weights or (1,) * len(cpus), strict=True), 1)
    ]
    return "\n".join([*lines, f"PartitionName=batch Nodes=ALL {of_part}", "PriorityType=priority/basic", more, ""])


def nodes_of(folder: Path, wishes: list[str], conf: str) -> list[list[int]]:
    """The numbers of the nodes of jobs that come one after the other and stay."""
    rows = [job(i, 10 * i, 900, wish, limit=60) for i, wish in enumerate(wishes)]
    result = run(folder, rows, conf)
    assert all(start - 10 * i < 2 * TICK_S for i, start in enumerate(starts_s(result)))
    scenario = read_scenario(folder / "site.yaml")
    center = scenario.datacenter
    node = np.unique(center.rack * 100 + center.shelf, return_inverse=True)[1] + 1
    units = result.outcome.task_unit
    return [sorted(set(node[units[a:b]].tolist())) for a, b in pairwise(scenario.workload.job_first)]


@pytest.mark.parametrize(
    ("cpus", "weights", "wishes", "got"),
    [
        (FOUR, (), [*ONES, "-n2", "-n4", "-N2 -n2"], [[1], [2], [3], [4], [1], [2], [3], [1, 4], [1, 2]]),
        ((8, 4, 6), (), ["-n1"] * 8, [[1], [2], [3], [1], [3], [1], [2], [3]]),
        ((4, 4), (), ["-n1 -wc2", "-n1 --mem-per-cpu=4000", "-n1 --mem-per-cpu=4000"], [[2], [1], [1]]),
        (FOUR, (1, 1, 5, 5), ["-n1", "-n1", "-n1", "-n5", "-n2"], [[1], [2], [1], [1, 2], [3]]),
        (FOUR, (1, 1, 5, 5), ["-n3 -wc1", "-n3 -wc2", "-n6"], [[1], [2], [1, 2, 3]]),
        ((4, 16), (), ["-n4 -wc2", "-n6"], [[2], [1, 2]]),
        ((2, 16), (), ["-n4 -wc2", "-N1 -n6", "-n1"], [[2], [2], [1]]),
        ((2, 2, 8, 8), (), ["-n2 -wc3", "-n2 -wc4", "-N2 -n10"], [[3], [4], [3, 4]]),
        ((4, 4, 16), (), ["-n4 -wc3", "-N2 -n10", "-n2"], [[3], [2, 3], [1]]),
        ((4,) * 6, (), ["-n1 -wc2", "-n2 -wc3", "-n1 -wc5", "-n6", "-n3", "-N2 -n2 -wc3"],
         [[2], [3], [5], [1, 4], [6], [2, 3]]),
    ],
    ids=["in turns", "by share", "by CPUs, not memory", "weight first", "lightest first", "even if one node would do",
         "on one node", "without small ones", "without one small one", "named first"],
)  # fmt: skip
def test_nodes_are_those_that_slurm_took(
    tmp_path: Path, cpus: tuple[int, ...], weights: tuple[int, ...], wishes: list[str], got: list[list[int]]
) -> None:
    assert nodes_of(tmp_path, wishes, conf_of(cpus, weights)) == got


@pytest.mark.parametrize(("of_part", "select"), [("LLN=YES", ""), ("", "CR_LLN,"), ("LLN=NO", "")])
def test_switches_do_not_count(tmp_path: Path, of_part: str, select: str) -> None:
    """Not even those that a job asks for. The last job has nodes of two leaves; without LLN, it waits for one."""
    write_topology(tmp_path / "site")
    more = f"TopologyPlugin=topology/tree\nSelectTypeParameters={select}CR_Core_Memory"
    wishes = [f"-N{n} --ntasks-per-node={tasks} --switches=1" for n, tasks in ((3, 4), (2, 1))]
    found = nodes_of(tmp_path, ["-n1"] * 4 + wishes, conf_of((4,) * 8, of_part=of_part, more=more))
    if of_part == "LLN=NO":
        assert found[:4] == [[4]] * 4
    else:
        assert found == [[1], [2], [3], [4], [5, 6, 7], [1, 8]]


def test_it_is_an_option_of_a_partition(tmp_path: Path) -> None:
    """A back-test tells what it contributes; a what-if may change it; the import counts nothing as left out."""
    conf = conf_of(FOUR, more="SelectTypeParameters=CR_CPU_Memory,CR_LLN")
    write_site(tmp_path / "site", [job(1, 0, 60, "-n1")], conf)
    report = import_site(tmp_path / "site", tmp_path / "site.parquet").report
    assert not any("LLN" in name for name in report.numbers["not_modelled"])
    scenario = read_scenario(tmp_path / "site.yaml")
    assert scenario.options["partitions"]["batch"]["lln"] is True
    assert "lln" not in json.dumps(dict(without_each(scenario))["least loaded nodes first (LLN)"].options)
    changed = read_scenario(tmp_path / "site.yaml", ["options.partitions.batch.lln=false"])
    for one, expected in ((scenario, [True]), (changed, [False])):
        found = vars(resolve(one.policy, one.options).suited_to(one))["arrays"]
        assert found["part_least_loaded"].tolist() == expected
    wrong = read_scenario(tmp_path / "site.yaml", ["options.partitions.batch.lln=YES"])
    with pytest.raises(InputError, match=r"batch\.lln: expected true or false"):
        resolve(wrong.policy, wrong.options)


def test_other_ways_to_select_are_counted(tmp_path: Path) -> None:
    """In whatever order they are given."""
    more = "SelectTypeParameters=CR_LLN,CR_Pack_Nodes,CR_Core"
    write_site(tmp_path / "site", [job(1, 0, 60, "-n1")], conf_of(FOUR, more=more))
    report = import_site(tmp_path / "site", tmp_path / "site.parquet").report
    assert report.numbers["not_modelled"] == {
        "SelectTypeParameters=CR_LLN,CR_Pack_Nodes,CR_Core, taken as CR_Core_Memory": 1,
        "SelectTypeParameters=CR_Pack_Nodes": 1,
    }
