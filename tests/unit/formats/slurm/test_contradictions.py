"""What contradicts what in the files of a site is counted, and nothing of it ends an import."""

from pathlib import Path
from typing import Any

import pytest

import vinesim as vs
from tests.small_site import CONF, at, job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario

JOBS = [job(1, 0, 100, "-N1 -n4"), job(2, 5, 100, "-N1 -n4")]
RESERVATION = "ReservationName=m StartTime={} EndTime={} Nodes={}\n"
EVENT = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nsmall|c1|{}|{}|DOWN|x|root\n"
ASSOC = "Cluster|Account|User|Share\nsmall|lab||1\nsmall|lab|zoe|1\n"
PREEMPTS = "Name|Priority|GraceTime|Preempt\nhigh|3|00:00:00|normal,low\nnormal|1|00:00:00|\n"
PARENTS = "Cluster|Account|User|ParentName|Share\nsmall|lab||phys|1\nsmall|lab|ann||1\n"
QOS = "Name|Priority|GraceTime\nhigh|3|00:00:00\n"
NODES = "NodeName=c1 Arch=x86_64 CPUTot=16 CfgTRES=cpu=16\nNodeName=z1 Arch=x86_64 CPUTot=4 CfgTRES=cpu=4\n"


def imported(folder: Path, jobs: list[str], conf: str = CONF, **files: str) -> tuple[dict[str, Any], vs.Scenario]:
    """What the report says of contradictions, and the scenario."""
    site = write_site(folder / "site", jobs, conf, **files)
    report = import_site(site, folder / "site.parquet").report
    return report.numbers.get("contradictory", {}), read_scenario(folder / "site.yaml")


@pytest.mark.parametrize(
    ("jobs", "files", "words", "count"),
    [
        ([job(1, 50, 100, "-N1", start=10)], {}, "jobs that started before they were submitted", 1),
        ([job(1, 0, 100, "-N1", start=9, end=3709)], {}, "jobs whose end is not start plus run time", 1),
        ([job(1, 0, 100, "-N1", nodes="q7")], {}, "jobs that ran on nodes that are not known", 1),
        ([job(1, 0, 100, "-N1 -Llic:5")], {}, "jobs that ran with more licences than there are", 1),
        ([job(1, 0, 100, "-N1", limit=90)], {}, "jobs that ran with a longer limit than their partition", 1),
        (JOBS, {"assoc": ASSOC}, "jobs of users and accounts that are not in their table", 2),
        (JOBS, {"qos": QOS}, "jobs of a QOS that is not in its table", 2),
        (JOBS, {"qos": PREEMPTS}, "QOS to preempt that are not in their table", 1),
        (JOBS, {"assoc": PARENTS}, "accounts above others that are not in their table", 1),
        (JOBS, {"topology": "SwitchName=s Nodes=c[1-3],z[1-2]\n"}, "nodes of switches that are not known", 2),
        (JOBS, {"topology": "SwitchName=s Nodes=c[1-3],c2\nSwitchName=t Nodes=g1,c[2-3]\n"}, "nodes below several", 2),
        (JOBS, {"reservations": RESERVATION.format(at(300), at(100), "c1")}, "reservation m ends before it begins", 1),
        (JOBS, {"reservations": RESERVATION.format(at(300), at(400), "q[1-3]")}, "nodes of reservation m that", 3),
        (JOBS, {"events": EVENT.format(at(50), at(20))}, "events of nodes that end before they begin", 1),
        (JOBS, {"nodes": NODES}, "nodes with other CPUs in nodes.txt and slurm.conf", 1),
        (JOBS, {"nodes": NODES}, "nodes in only one of nodes.txt and slurm.conf", 4),
    ],
)
def test_a_contradiction_is_counted(
    tmp_path: Path, jobs: list[str], files: dict[str, str], words: str, count: int
) -> None:
    found, scenario = imported(tmp_path, jobs, CONF + "Licenses=lic:2\nTopologyPlugin=topology/tree\n", **files)
    (number,) = [n for name, n in found.items() if name.startswith(words)]
    assert number == count
    vs.simulate(scenario, engine="reference")


def test_partitions_have_the_nodes_of_sets(tmp_path: Path) -> None:
    """By name, and by feature; names that are neither nodes nor sets are counted."""
    sets = "NodeSet=big Feature=amd\nNodeSet=some Nodes=c[2-3] Feature=amd\nPartitionName=a Nodes=big,c1,c9\n"
    found, scenario = imported(tmp_path, JOBS, CONF + sets + "PartitionName=b Nodes=some,unknown\n")
    assert found == {"nodes and sets of nodes of partitions that are not known, and are left out": 2}
    of = {one.name: {*map(tuple, one.nodes.tolist())} for one in scenario.partitions if one.nodes is not None}
    assert (len(of["a"]), len(of["b"])) == (2, 3)
    assert of["a"] & of["b"] == of["a"] - of["short"]  # g1


def test_a_node_is_below_the_last_of_its_switches(tmp_path: Path) -> None:
    tree = "SwitchName=s Nodes=c[1-3],c2\nSwitchName=t Nodes=g1,c[2-3]\n"
    _, scenario = imported(tmp_path, JOBS, CONF + "TopologyPlugin=topology/tree\n", topology=tree)
    assert scenario.options["topology"] == {"s": {"nodes": "c1"}, "t": {"nodes": "g1,c2,c3"}}


def test_a_job_without_a_limit_contradicts_no_partition_without_one(tmp_path: Path) -> None:
    """As it does one that has a limit; lines of steps are counted."""
    jobs = [job(1, 0, 100, "-N1", limit="UNLIMITED"), job("1.batch", 0, 100, "-N1")]
    endless = imported(tmp_path / "a", jobs, CONF.replace("MaxTime=60", "MaxTime=INFINITE"))[0]
    assert not endless
    assert {*imported(tmp_path / "b", jobs)[0]} == {
        "jobs that ran with a longer limit than their partition has: its own is taken"
    }
    report = import_site(tmp_path / "a" / "site", tmp_path / "c.parquet").report
    assert "lines of steps, which are parts of jobs: 1" in report.notes


def test_a_site_in_order_has_none(tmp_path: Path) -> None:
    """Also where a job has all licences, ends a minute off, or an event or a start takes no time."""
    assert imported(tmp_path, JOBS)[0] == {}
    edges = [job(1, 0, 100, "-N1 -Llic:2"), job(2, 5, 100, "-N1", end=165), job(3, 9, 100, "-N1", start=9)]
    assert imported(tmp_path, edges, CONF + "Licenses=lic:2\n", events=EVENT.format(at(50), at(50)))[0] == {}


def test_what_started_before_it_was_submitted_is_in_no_back_test(tmp_path: Path) -> None:
    _, scenario = imported(tmp_path, [*JOBS, job(3, 50, 100, "-N1", start=10)])
    assert [text != "" for text in scenario.workload.words_of("start_s")] == [True, True, False]


@pytest.mark.parametrize(
    ("partition", "given", "limit_s"),
    [("MaxTime=60", "", 3600), ("MaxTime=60 DefaultTime=10", "", 600), ("MaxTime=60", "UNLIMITED", 3600),
     ("DefaultTime=7", "", 420), ("", "", 365 * 86400)],
)  # fmt: skip
def test_a_job_without_a_limit_has_its_partitions(tmp_path: Path, partition: str, given: str, limit_s: float) -> None:
    conf = f"NodeName=c[1-3] CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL {partition}\n"
    rows = [row.replace("|30|", f"|{given}|").replace("-t30 ", "") for row in JOBS]
    _, scenario = imported(tmp_path, rows, conf)
    assert scenario.workload.estimate_us is not None
    assert scenario.workload.estimate_us.tolist() == [limit_s * 1e6] * 2
    assert vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == 2


def test_without_a_job_that_fits_the_reasons_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found none; no node of its partition has what it asks for: 2 jobs"):
        imported(tmp_path, JOBS, "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=x[1-9]\n")
