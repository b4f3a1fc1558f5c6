"""Jobs that name nodes or exclude some: each rule was seen on real Slurm, with the same nodes and options."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import vinesim as vs
from tests.policies.slurm.test_slurm import ONE, TICK_S, run, starts_s
from tests.small_site import job, write_site
from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.main import app
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.studies.mechanisms import without_each

FOUR = ONE.replace("c[1-2]", "c[1-4]").replace(
    "PartitionName", "PartitionName=few Nodes=c[1-2] MaxTime=60\nPartitionName"
)
SELDOM = FOUR + "SchedulerParameters=bf_interval=3000\n"
TREE = "SwitchName=s0 Nodes=c[1-2]\nSwitchName=s1 Nodes=c[3-4]\nSwitchName=top Switches=s[0-1]\n"


def got(folder: Path, wish: str, conf: str = FOUR) -> list[int]:
    """The numbers of the nodes that a job gets when all are idle."""
    result = run(folder, [job(1, 0, 60, wish)], conf)
    assert starts_s(result)[0] < TICK_S
    return numbers_of(result, folder / "site.yaml")[0]


def numbers_of(result: vs.Result, file: Path) -> list[list[int]]:
    """The numbers of the nodes of each job."""
    scenario = read_scenario(file)
    center, first = scenario.datacenter, scenario.workload.job_first
    place = center.rack * np.int64(center.n_shelves) + center.shelf
    node = np.unique(place, return_inverse=True)[1] + 1
    return [sorted(set(node[result.outcome.task_unit[a:b]].tolist())) for a, b in pairwise(first)]


@pytest.mark.parametrize(
    ("wish", "nodes"),
    [
        ("-w c3 -n4", [3]),
        ("-w c3 -n6", [3, 4]),
        ("-w c3 -n9", [2, 3, 4]),
        ("-N3 -n3 -w c4", [2, 3, 4]),
        ("-n1 -w c[2-3]", [2]),
        ("-w c[2,4]", [2, 4]),
        ("-x c1 -n2", [2]),
        ("-w c1 -x c2 -n6", [1, 3]),
        ("-x c[1-3] -N1", [4]),
    ],
)
def test_named_nodes_come_first_and_then_those_of_their_run(tmp_path: Path, wish: str, nodes: list[int]) -> None:
    """Above them, then below; of more names than tasks the first ones count."""
    assert got(tmp_path, wish) == nodes


@pytest.mark.parametrize(("wish", "nodes"), [("-N3 -n3 -w c4", [1, 3, 4]), ("-w c4 -N1 -n1", [4])])
def test_named_nodes_come_first_below_switches(tmp_path: Path, wish: str, nodes: list[int]) -> None:
    """Then those of their leaf."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "topology.conf").write_text(TREE)
    assert got(tmp_path, wish, FOUR + "TopologyPlugin=topology/tree\n") == nodes


def test_a_switch_that_lacks_a_named_node_is_not_taken(tmp_path: Path) -> None:
    """c2 and c3 have none in common but the top; a job that wants a single leaf waits for it in vain, for a time."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "topology.conf").write_text(TREE)
    rows = [job(1, 0, 60, "-N2 -w c[2-3]"), job(2, 100, 60, "-N2 --switches=1@2 -w c[2-3]")]
    result = run(tmp_path, rows, FOUR + "TopologyPlugin=topology/tree\n")
    assert numbers_of(result, tmp_path / "site.yaml") == [[2, 3], [2, 3]]
    assert starts_s(result)[1] > 100 + 120


BUSY = job(1, 0, 200, "-w c1 -n4")


def test_a_job_that_waits_for_its_nodes_closes_only_these(tmp_path: Path) -> None:
    """Others start at once elsewhere, in its partition too; one that names the idle node of the two waits for it."""
    rows = [BUSY, job(2, 10, 30, "-w c1,c2 -n8"), job(3, 20, 30, "-n4"), job(4, 30, 30, "-w c2 -n2", limit=2)]
    result = run(tmp_path, rows, SELDOM)
    found = starts_s(result)
    assert numbers_of(result, tmp_path / "site.yaml")[2] == [3]
    assert found[2] < 20 + TICK_S
    assert 200 < found[1] < 200 + TICK_S
    assert found[3] > found[1]


@pytest.mark.parametrize("first", ["-x c1 -n4", "-N2 -n2 -w c2"])
def test_other_wishes_close_the_partition(tmp_path: Path, first: str) -> None:
    """A job that excludes nodes, or wants more than it names: though c1 is idle, nothing starts behind it."""
    rows = [job(1, 0, 200, "-x c1 -n12"), job(2, 10, 30, first), job(3, 20, 30, "-n2")]
    found = starts_s(run(tmp_path, rows, SELDOM))
    assert min(found[1:]) > 200


def test_backfill_plans_named_nodes(tmp_path: Path) -> None:
    """c2 is kept for the second job, which can have both in 12 min: a long job gets another, a short one gets it."""
    rows = [job(1, 0, 700, "-w c1 -n4", limit=12), job(2, 10, 60, "-w c1,c2 -n8"), job(3, 20, 60, "-x c[3-4] -n4"),
            job(4, 30, 60, "-x c[3-4] -n4", limit=2)]  # fmt: skip
    found = starts_s(run(tmp_path, rows, FOUR))
    assert found[3] < 100
    assert 700 < found[1] < found[2]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["-w c1,q7 -n1", "-x q7 -n1"], "jobs that name or exclude nodes that are not known"),
        (["-w ./nodes -n1", "-w c[3- -n1"], "jobs that name or exclude nodes that are not known"),
        (["-w c4 -n1 -pfew", "-w c[1,4] -pfew"], "jobs that ran, and name nodes that are not in their partition"),
    ],
)
def test_names_that_mean_nothing_are_counted(tmp_path: Path, rows: list[str], words: str) -> None:
    """They end neither the import nor the run."""
    partition = "few" if "few" in rows[0] else "batch"
    jobs = [job(i, 0, 60, wish, partition=partition) for i, wish in enumerate(rows, 1)]
    site = write_site(tmp_path / "site", jobs, FOUR)
    report = import_site(site, tmp_path / "site.parquet").report
    (count,) = [n for name, n in report.numbers["contradictory"].items() if name.startswith(words)]
    assert count == 2
    started = ~np.isnan(starts_s(vs.simulate(read_scenario(tmp_path / "site.yaml"), engine="reference")))
    assert started.tolist() == [partition == "batch"] * 2


def test_names_that_are_known_are_no_finding(tmp_path: Path) -> None:
    """Neither contradictory nor left out of the model."""
    site = write_site(tmp_path / "site", [BUSY, job(2, 0, 60, "-x c[2-3] -n1")], FOUR)
    numbers = import_site(site, tmp_path / "site.parquet").report.numbers
    assert not numbers.get("contradictory")
    assert not numbers["not_modelled"]


def changed(scenario: vs.Scenario, word: str) -> vs.Scenario:
    """A scenario whose jobs all ask for something else."""
    work = scenario.workload
    words: dict[str, Any] = {**(work.attribute_words or {}), "request": (word,)}
    codes = {**(work.attributes or {}), "request": np.zeros(work.n_jobs, np.int32)}
    return replace(scenario, workload=replace(work, attributes=codes, attribute_words=words))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("nodes=1-1 tasks=1 nodelist=c9", "a node of options.nodes after nodelist=, found 'c9'"),
        ("tasks=1 exclude=c1,x2", "a node of options.nodes after exclude=, found 'x2'"),
        ("nodes=1-1 tasks=1 nodelist=c[1-2]", "it names 2 nodes in nodelist, and wants 1 at least"),
        ("tasks=1 exclude=c[1-", "no list of hosts"),
    ],
)
def test_wrong_names_of_a_request_are_said(tmp_path: Path, request_: str, message: str) -> None:
    import_site(write_site(tmp_path / "site", [BUSY], FOUR), tmp_path / "site.parquet")
    scenario = changed(read_scenario(tmp_path / "site.yaml"), request_)
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        vs.simulate(scenario, engine="reference")


def test_a_job_that_can_never_have_its_nodes_keeps_nobody(tmp_path: Path) -> None:
    """It names a node that a cluster with fewer nodes does not have any more."""
    import_site(write_site(tmp_path / "site", [job(1, 0, 60, "-w c4"), job(2, 5, 60, "-n4")], FOUR),
                tmp_path / "site.parquet")  # fmt: skip
    text = (tmp_path / "site.yaml").read_text()
    (tmp_path / "site.yaml").write_text(text.replace("count: 4", "count: 3").replace("count: 2", "count: 1"))
    words = ["run", str(tmp_path / "site.yaml"), "--engine", "reference", "--explain", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == ExitCode.STALLED
    assert reasons(tmp_path / "out", 1)[0]["reason"] == "BadConstraints"
    assert all(one["end_us"] < (5 + TICK_S) * 1e6 for one in reasons(tmp_path / "out", 2))


def reasons(result: Path, number: int) -> list[dict[str, Any]]:
    """Slurm's reasons of a job, as ``vinesim explain`` has them."""
    found = CliRunner().invoke(app, ["explain", str(result), "--job-id", str(number), "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.output)["jobs"][0]["slurm"]


EVENT = (
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\ns|c3|2024-03-01T00:00:30|2024-03-01T00:10:00|DOWN|x|root\n"
)


def test_explain_names_the_nodes(tmp_path: Path) -> None:
    """A named node that is down is named; behind a job that waits for nodes nobody waits by priority."""
    rows = [BUSY, job(2, 60, 60, "-w c3"), job(3, 70, 60, "-w c1 -n4"), job(4, 75, 60, "-w c1 -n2")]
    import_site(write_site(tmp_path / "site", rows, FOUR, events=EVENT), tmp_path / "site.parquet")
    words = ["run", str(tmp_path / "site.yaml"), "--engine", "reference", "--explain", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    (one,) = (one for one in reasons(tmp_path / "out", 2) if one["reason"] == "ReqNodeNotAvail")
    assert one["detail"] == "c3 down or drained"
    assert {one["reason"] for one in reasons(tmp_path / "out", 4)} == {"Resources"}


def test_named_nodes_are_a_mechanism_of_a_back_test(tmp_path: Path) -> None:
    """Without them the second job does not wait."""
    import_site(write_site(tmp_path / "site", [BUSY, job(2, 10, 30, "-w c1 -n4")], FOUR), tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    without = dict(without_each(scenario))["named and excluded nodes"]
    assert [starts_s(vs.simulate(one, engine="reference"))[1] > 100 for one in (scenario, without)] == [True, False]


def test_anonymous_jobs_keep_their_nodes(tmp_path: Path) -> None:
    """Names of nodes say nothing of users."""
    site = write_site(tmp_path / "site", [job(1, 0, 60, "-w c2 -x c[3-4]")], FOUR)
    import_site(site, tmp_path / "site.parquet", is_anonymous=True)
    (words,) = read_scenario(tmp_path / "site.yaml").workload.words_of("request")
    assert "nodelist=c2 exclude=c[3-4]" in words


HEAD = "JOBID|USER|PARTITION|STATE|REASON|SUBMIT|START|LIMIT|NODES|CPUS|NODELIST|REQ_NODES|EXC_NODES"


def test_a_snapshot_of_the_queue_has_them(tmp_path: Path) -> None:
    """Of jobs that sacct does not know; one that runs elsewhere than it says goes on there."""
    when = "2024-03-01T00:00:00"
    queue = (f"{HEAD}\n1|ann|batch|RUNNING|None|{when}|{when}|30:00|1|4|c1|c1|\n"
             f"2|ann|batch|PENDING|Resources|{when}|N/A|30:00|1|4||c1|\n"
             f"3|ann|batch|PENDING|Priority|{when}|N/A|30:00|1|4|||c[1-3]\n"
             f"4|ann|batch|RUNNING|None|{when}|{when}|30:00|1|1|c2|c3|\n")  # fmt: skip
    site = write_site(tmp_path / "site", [], FOUR, squeue=queue)
    file = write_snapshot(site, tmp_path / "queue.parquet").scenario
    scenario = read_scenario(file)
    work = scenario.workload
    assert work.words_of("runs_on") == ["c1=4", "c2=1", "", ""]
    assert work.words_of("request")[:2] == ["nodes=1-1 tasks=4 nodelist=c1", "nodes=1-1 tasks=1"]
    in_time = replace(scenario, workload=replace(work, operations=work.operations * 0.5))  # else their limits end them
    assert numbers_of(vs.simulate(in_time, engine="reference"), file) == [[1], [2], [1], [4]]
