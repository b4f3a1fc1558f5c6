"""Components of a heterogeneous job start together, by backfill only."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.policies.slurm.test_slurm import ONE, TICK_S, TIERS, nodes_of, run, starts_s
from tests.small_site import at, job, write_site
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.importers.slurm_site import import_site
from vinesim.formats.slurm.values import time_s
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.policy import Slurm
from vinesim.policies.slurm.replay import END, Ran, reasons_of
from vinesim.studies.mechanisms import without_each
from vinesim.workloads.select_jobs import select_jobs

FOUR = ONE.replace("c[1-2]", "c[1-4]") + "SchedulerParameters=bf_interval={bf}\n"
WHOLE = "-N1 -n4"


def parts(
    number: int, submit: float, run_s: float, *shapes: str, limits: Sequence[int] = (), **values: object
) -> list[str]:
    """The components of a heterogeneous job, as sacct has them: each with the whole line."""
    line = " : ".join(shapes)
    return [
        job(number + i, submit, run_s, line, id=f"{number}+{i}", limit=limit, **values)
        for i, limit in enumerate(limits or [30] * len(shapes))
    ]


def test_components_wait_for_one_another(tmp_path: Path) -> None:
    """One could start at once, the other in 300 s."""
    rows = [job(1, 0, 300, "-N3 --ntasks-per-node=4"), *parts(2, 10, 60, WHOLE, "-N2 --ntasks-per-node=4")]
    found = starts_s(run(tmp_path, rows, FOUR.format(bf=10)))
    assert found[1] == found[2]
    assert 300 <= found[1] < 300 + 10 + TICK_S


def test_only_backfill_starts_them(tmp_path: Path) -> None:
    """The cluster is idle. To the main scheduler they close the partition: a job behind them waits for backfill too."""
    rows = [job(1, 0, 10, "-N1 -n1"), job(2, 20, 90, "-N1 -n1"), *parts(3, 30, 60, WHOLE, WHOLE),
            job(5, 32, 60, "-N1 -n1")]  # fmt: skip
    found = starts_s(run(tmp_path, rows, FOUR.format(bf=200)))
    assert found[1] < 20 + TICK_S
    assert found[2] == found[3] == found[4]
    assert 200 <= found[2] < 200 + TICK_S


def test_a_component_that_could_start_keeps_its_nodes(tmp_path: Path) -> None:
    """A job of 2 min would be over before the second component may start, and waits all the same."""
    long = job(1, 0, 700, "-N3 --ntasks-per-node=4", limit=12)
    rows = [long, *parts(2, 10, 60, WHOLE, "-N2 --ntasks-per-node=4"), job(4, 30, 60, WHOLE, limit=2)]
    found = starts_s(run(tmp_path, rows, FOUR.format(bf=10)))
    assert found[3] >= 700
    rows[1:3] = parts(2, 10, 60, "-N2 --ntasks-per-node=4", WHOLE)
    other = starts_s(run(tmp_path / "other", rows, FOUR.format(bf=10)))
    assert other[3] < 60  # a component is planned no sooner than the one before it


def test_each_component_has_nodes_of_its_own(tmp_path: Path) -> None:
    """Two would fit on a node, next to a job that is there, and start on two; so that none can start on one node."""
    rows = [job(1, 0, 900, "-N1 -n1"), *parts(2, 10, 300, "-N1 -n1", "-N1 -n1")]
    result = run(tmp_path, rows, FOUR.format(bf=10))
    assert nodes_of(result, tmp_path)[1:] == [[0], [1]]
    alone = run(tmp_path / "one", rows[1:], FOUR.format(bf=10).replace("c[1-4]", "c1"))
    assert np.isnan(starts_s(alone)).all()


MOST = "Name|Priority|GraceTime|MaxTRESPU|MaxJobsPU|MaxSubmitPU\nnormal|0|00:00:00|{}\n"


@pytest.mark.parametrize(("most", "starts"), [("cpu=5||", False), ("|1|", False), ("cpu=6||", True), ("|2|", True)])
def test_a_limit_that_they_break_together_keeps_them_for_ever(tmp_path: Path, most: str, starts: bool) -> None:
    """They keep their nodes in each cycle: another user's job of a whole node never starts next to them."""
    rows = [*parts(1, 0, 300, "-N1 -n3", "-N1 -n3"), job(3, 10, 60, WHOLE, user="bob")]
    conf = FOUR.format(bf=10).replace("c[1-4]", "c[1-2]")
    found = starts_s(run(tmp_path, rows, conf, qos=MOST.format(most)))
    assert np.isfinite(found[:2]).all() == starts
    assert np.isfinite(found[2]) == starts


def test_components_count_as_jobs_and_are_refused_together(tmp_path: Path) -> None:
    """Three jobs may be submitted: the second heterogeneous job is refused as a whole, a single job is not."""
    rows = [*parts(1, 0, 300, "-N1 -n1", "-N1 -n1"), *parts(3, 5, 300, "-N1 -n1", "-N1 -n1"), job(5, 9, 60, "-n1")]
    found = starts_s(run(tmp_path, rows, FOUR.format(bf=10), qos=MOST.format("||3")))
    assert np.isnan(found).tolist() == [False, False, True, True, False]


def test_a_lost_node_takes_all_components(tmp_path: Path) -> None:
    """They are requeued together, and start together again."""
    event = "NodeName|TimeStart|TimeEnd|State|Reason|User\nc1|2024-03-01T00:01:40|2024-03-01T00:02:00|DOWN|x|root\n"
    rows = parts(1, 0, 300, "-N1 -n1", "-N1 -n1", tres="cpu=1,node=1")
    result = run(tmp_path, rows, FOUR.format(bf=10), events=event)
    finish = np.array(result.jobs["finish_us"]) / 1e6
    assert finish[0] == finish[1]
    assert 100 + 121 + 300 <= finish[0] < 100 + 121 + 300 + 2 * 10 + TICK_S


def test_components_are_preempted_together(tmp_path: Path) -> None:
    """One node is wanted, and both are given up."""
    rows = [*parts(1, 0, 300, WHOLE, WHOLE, partition="low"), job(3, 60, 30, WHOLE, partition="top")]
    result = run(tmp_path, rows, TIERS + "SchedulerParameters=bf_interval=10\n")
    finish = np.array(result.jobs["finish_us"]) / 1e6
    assert starts_s(result)[2] < 60 + 2 * TICK_S + 10
    assert finish[0] == finish[1]
    assert finish[0] > 60 + 121 + 300


def test_a_component_that_must_preempt_puts_the_others_off(tmp_path: Path) -> None:
    """One node is free and one is taken: the first component waits 121 s, though the second has its node soon."""
    rows = [job(1, 0, 900, WHOLE, partition="low"), *parts(2, 30, 60, WHOLE, WHOLE, partition="top")]
    found = starts_s(run(tmp_path, rows, TIERS + "SchedulerParameters=bf_interval=10\n"))
    assert found[1] == found[2]
    assert 30 + 121 <= found[1] < 30 + 121 + 2 * 10 + TICK_S


def test_a_dependency_of_one_component_holds_all_and_is_on_all(tmp_path: Path) -> None:
    """The second component names the first job; the last job names the heterogeneous one."""
    rows = [job(1, 0, 100, WHOLE), *parts(2, 5, 50, "-N1 -n1", "-N1 -n1 -dafterok:1", eligible=100),
            job(4, 6, 10, "-N1 -n1 --dependency=afterok:2")]  # fmt: skip
    found = starts_s(run(tmp_path, rows, FOUR.format(bf=10)))
    assert found[1] == found[2] >= 100
    assert found[3] >= found[1] + 50


def test_a_component_ends_at_its_own_limit(tmp_path: Path) -> None:
    """The other goes on."""
    rows = parts(1, 0, 300, "-N1 -n1", "-N1 -n1", limits=[30, 1])
    rows[1] = rows[1].replace("COMPLETED", "TIMEOUT")
    finish = [float(us) / 1e6 for us in run(tmp_path, rows, FOUR.format(bf=10)).jobs["finish_us"]]
    assert finish[0] >= 300


@pytest.mark.parametrize(
    ("most", "reasons"), [("|1|", ["Resources", "QOSMaxJobsPerUserLimit"]), ("||", ["Resources"] * 2)]
)
def test_explain_says_that_components_wait_for_one_another(tmp_path: Path, most: str, reasons: list[str]) -> None:
    """Both are kept by what only one lacks: two nodes, or room below a limit, which the second lacks."""
    rows = [job(1, 0, 300, "-N3 --ntasks-per-node=4", user="bob"), *parts(2, 10, 60, WHOLE, "-N2 --ntasks-per-node=4")]
    run(tmp_path, rows, FOUR.format(bf=10), qos=MOST.format(most))
    scenario = read_scenario(tmp_path / "site.yaml")
    first = [Ran(0, 1e6, 301e6, END)]
    policy = resolve(scenario.policy, scenario.options)
    assert isinstance(policy, Slurm)
    found = [reasons_of(policy, scenario, first, j, 200e6)[-1] for j in (1, 2)]
    assert [one.reason for one in found] == reasons
    assert found[0].jobs == (2,)
    assert found[1].jobs == (1,)


def test_all_components_are_dropped_with_one(tmp_path: Path) -> None:
    """No node has 64 CPUs."""
    write_site(tmp_path / "site", [*parts(1, 0, 60, "-N1 -n1", "-N1 -n64"), job(3, 5, 60, "-n1")], ONE)
    report = import_site(tmp_path / "site", tmp_path / "site.parquet").report
    assert list(report.dropped.values()) == [[3], [2]]
    assert read_scenario(tmp_path / "site.yaml").workload.job_id.tolist() == [3]


def test_a_snapshot_keeps_components_together(tmp_path: Path) -> None:
    """Whether sacct knows them or not; they come again on the next day as what they are."""
    head = "JOBID|NAME|USER|ACCOUNT|PARTITION|QOS|STATE|REASON|PRIORITY|SUBMIT|START|LIMIT|NODES|CPUS|NODELIST\n"
    lines = [f"{name}|j|ann|lab|batch|normal|PENDING|Resources|1|{at(100)}|N/A|5:00|1|4|" for name in ("5+0", "5+1")]
    queue = head + f"## {time_s(at(200)):.0f}\n" + "\n".join(lines) + "\n"
    known = write_site(
        tmp_path / "site", parts(5, 100, 0, WHOLE, WHOLE, start=None, state="PENDING"), ONE, squeue=queue
    )
    other = write_site(tmp_path / "other", [job(1, 0, 60, "-n1")], ONE, squeue=queue)
    for site in (known, other):
        snapshot = write_snapshot(site, tmp_path / f"{site.name}.parquet")
        assert [one.name for one in snapshot.queue.jobs] == ["5+0", "5+1"]
        assert read_scenario(snapshot.scenario).workload.words_of("component") == ["5", "5"]


def test_components_are_submitted_at_once_and_come_twice_in_a_drawn_workload(tmp_path: Path) -> None:
    """Their seconds may differ in a log. A job that comes again does not wait for, nor keep, the one before."""
    rows = [parts(1, 0, 60, "-N1 -n1", "-N1 -n1")[0], parts(1, 1, 60, "-N1 -n1", "-N1 -n1")[1]]
    run(tmp_path, rows, FOUR.format(bf=10))
    scenario = read_scenario(tmp_path / "site.yaml")
    assert scenario.workload.arrival_us.tolist() == [0.0, 0.0]
    twice = select_jobs(scenario.workload, np.array([0, 1, 0, 1]), np.array([0.0, 0.0, 300e6, 300e6]))
    found = starts_s(vs.simulate(replace(scenario, workload=twice), engine="reference"))
    assert found[0] == found[1] < 10 + TICK_S
    assert found[2] == found[3] >= 300


def test_a_back_test_says_what_starting_together_contributes(tmp_path: Path) -> None:
    """Without it the first component does not wait for the second."""
    rows = [job(1, 0, 300, "-N3 --ntasks-per-node=4"), *parts(2, 10, 60, WHOLE, "-N2 --ntasks-per-node=4")]
    run(tmp_path, rows, FOUR.format(bf=10))
    without = dict(without_each(read_scenario(tmp_path / "site.yaml")))["heterogeneous jobs"]
    assert starts_s(vs.simulate(without, engine="reference"))[1] < 10 + TICK_S
