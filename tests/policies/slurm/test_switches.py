"""Nodes below switches: the fullest leaf that suffices, few leaves, and jobs that wait for a number of them."""

from pathlib import Path

import pytest

import vinesim as vs
from tests.policies.slurm.test_slurm import TICK_S, run, starts_s
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.slurm.prepare_switches import wrong_switches

NODES = "".join(f"NodeName=c{i} CPUs=4 RealMemory=8000 Feature=f{i}\n" for i in range(1, 9))
CONF = NODES + (
    "PartitionName=batch Nodes=ALL Default=YES\nPriorityType=priority/basic\nTopologyPlugin=topology/tree\n"
    "SchedulerParameters=max_switch_wait=100\n"
)
TREE = (
    "SwitchName=s0 Nodes=c[1-3]\nSwitchName=s1 Nodes=c[4-5]\nSwitchName=s2 Nodes=c[6-8]\n"
    "SwitchName=top Switches=s[0-2]\n"
)


def racks_of(folder: Path, used: list[int], *wishes: str, run_s: int = 600, conf: str = CONF) -> tuple[list, list]:
    """When and on which nodes jobs start that come when others hold the ``used`` nodes for 300 s."""
    first = [job(i, 0, 300, f"-N1 -n4 --constraint=f{node}", limit=60) for i, node in enumerate(used, 1)]
    rows = [job(100 + i, 20 + 10 * i, run_s, wish, limit=60) for i, wish in enumerate(wishes)]
    write_topology(folder / "site")
    result = run(folder, first + rows, conf)
    scenario = read_scenario(folder / "site.yaml")
    center, jobs = scenario.datacenter, scenario.workload
    of = [sorted({int(center.rack[u]) + 1 for u in result.outcome.task_unit[a:b]})
          for a, b in zip(jobs.job_first[:-1], jobs.job_first[1:], strict=True)]  # fmt: skip
    return starts_s(result)[len(used) :], of[len(used) :]


def write_topology(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topology.conf").write_text(TREE)


def whole(n: int, more: str = "") -> str:
    return f"-N{n} --ntasks-per-node=4 {more}"


def test_the_fullest_leaf_that_suffices_is_taken(tmp_path: Path) -> None:
    """Free: c2 c3, c4 c5, c6 c7 c8 of the leaves. Three nodes are in the last, then two in the first of equal ones."""
    assert racks_of(tmp_path, [1], whole(3), whole(2), whole(1))[1] == [[6, 7, 8], [2, 3], [4]]


def test_as_few_leaves_as_possible_are_combined(tmp_path: Path) -> None:
    """Free: c2 c3, c4 c5, c8: a leaf with two nodes, and for the third the fullest one that has it."""
    assert racks_of(tmp_path, [1, 6, 7], whole(3))[1] == [[2, 3, 8]]


@pytest.mark.parametrize(("wish", "until"), [("--switches=1", 100), ("--switches=1@0:40", 40), ("--switches=2", 0)])
def test_a_job_waits_for_switches_for_a_time(tmp_path: Path, wish: str, until: int) -> None:
    """No leaf has three free nodes for 300 s. A site's max_switch_wait is 100 s."""
    found = racks_of(tmp_path, [1, 6], whole(3, wish))[0]
    assert 20 + until <= found[0] < 20 + until + 60 + TICK_S


def test_a_job_takes_a_leaf_that_becomes_free(tmp_path: Path) -> None:
    conf = CONF.replace("wait=100", "wait=1000")
    starts, nodes = racks_of(tmp_path, [1, 6], whole(3, "--switches=1"), conf=conf)
    assert 300 <= starts[0] < 300 + 60 + TICK_S
    assert nodes[0] in ([1, 2, 3], [6, 7, 8])


def test_wrong_switches_are_named(tmp_path: Path) -> None:
    """One that is above itself, and one that has nothing; both errors are given at once."""
    write_site(tmp_path, [job(1, 0, 10, "-n1")], CONF)
    (tmp_path / "topology.conf").write_text("SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c\n")
    import_site(tmp_path, tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    with pytest.raises(InputError) as caught:
        vs.simulate(scenario, engine="reference")
    text = str(caught.value)
    assert "not above themselves" in text
    assert "neither" in text
    assert [problem.found for problem in wrong_switches({"b": {"switches": "x"}})] == ["'x'"]


def test_unknown_nodes_and_switches_are_left_out_and_counted(tmp_path: Path) -> None:
    write_site(tmp_path, [job(1, 0, 10, "-n1")], CONF)
    tree = "SwitchName=a Nodes=c[1-2],d[1-3]\nSwitchName=b Switches=x\nSwitchName=top Switches=a,b,y\n"
    (tmp_path / "topology.conf").write_text(tree)
    report = import_site(tmp_path, tmp_path / "site.parquet").report
    found = [finding.words for finding in report.findings if finding.what == "contradictory"]
    assert any("nodes of switches that are not known" in words and words.endswith(": 3") for words in found)
    assert any("switches below others that are not known" in words and words.endswith(": 2") for words in found)
    assert not [finding for finding in report.findings if finding.what == "cannot run"]
    given = read_scenario(tmp_path / "site.yaml").options["topology"]
    assert given == {"a": {"nodes": "c[1-2]"}, "b": {"nodes": ""}, "top": {"switches": "a,b"}}
