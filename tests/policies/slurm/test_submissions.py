"""Jobs that are refused as they are submitted never start, and leave room for others; explain says why."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.policies.slurm.test_slurm import TICK_S, run, starts_s
from tests.small_site import CONF, job
from tests.unit.metrics.test_waiting import recorded
from vinesim.cli.unfinished import undone_jobs
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.metrics.queue import mean_queues, queues_of
from vinesim.metrics.tables import Tables
from vinesim.metrics.waiting import slowest_jobs, waiting_of
from vinesim.metrics.waiting_words import headline
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.replay import END, Ran, reasons_of

HEAD = "Name|Priority|GraceTime|Flags|GrpSubmit|MaxSubmitPU|MaxSubmitPA|MaxTRESPU\n"
ASSOC = "Cluster|Account|User|Share|GrpSubmit|MaxSubmit\ns|root||1||\ns|lab||1|{of_lab}|{of_users}\ns|lab|ann|1||\n"
LIMITS = {
    "QOSMaxSubmitJobPerUserLimit": {"qos": HEAD + "normal|0|00:00:00|||2||\n"},
    "MaxSubmitJobsPerAccount": {"qos": HEAD + "normal|0|00:00:00||||2|\n"},
    "QOSGrpSubmitJobsLimit": {"qos": HEAD + "normal|0|00:00:00||2|||\n"},
    "AssocMaxSubmitJobLimit": {"assoc": ASSOC.format(of_lab="", of_users=2)},
    "AssocGrpSubmitJobsLimit": {"assoc": ASSOC.format(of_lab=2, of_users="")},
}


def reasons(folder: Path, job_number: int, starts: list[float]) -> list[str]:
    scenario = read_scenario(folder / "site.yaml")
    policy = resolve(scenario.policy, scenario.options)
    runs = [Ran(j, s * 1e6, s * 1e6 + 100e6, END) for j, s in enumerate(starts) if s == s]
    return [one.reason for one in reasons_of(policy, scenario, runs, job_number, 1e9)]


@pytest.mark.parametrize("word", LIMITS)
def test_a_job_beyond_the_submitted_ones_is_refused(tmp_path: Path, word: str) -> None:
    """Two at a time, pending or not: the third is refused, and one that comes when the first has ended is not."""
    rows = [job(1, 0, 100, "-n4"), job(2, 1, 400, "-n4"), job(3, 2, 100, "-n1"), job(4, 150, 100, "-n1")]
    found = starts_s(run(tmp_path, rows, **LIMITS[word]))
    assert np.isnan(found[2])
    assert 150 <= found[3] < 150 + TICK_S
    assert set(reasons(tmp_path, 2, found)) == {word}


def test_jobs_over_their_limit_are_ended_by_the_policy(tmp_path: Path) -> None:
    """They are over, so a plan does not take them for unfinished."""
    rows = [job(1, 0, 900, "-n1", limit=1), job(2, 0, 30, "-n1", limit=1), job(3, 400, 10, "-n1")]
    undone = undone_jobs(run(tmp_path, rows).summary["jobs"])
    assert {words: n for words, n in undone.items() if n} == {"jobs ended by the policy": 1}


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_limits_end_jobs_though_nothing_is_pending(tmp_path: Path, engine: str) -> None:
    """At a tick of 30 s, whatever comes later."""
    rows = [job(1, 0, 900, "-n1", limit=1), job(2, 0, 30, "-n1", limit=1)]
    alone = run(tmp_path, rows, engine=engine)
    followed = run(tmp_path, [*rows, job(3, 400, 10, "-n1")], engine=engine)
    lost_s = [float(one.outcome.dropped_us[0]) / 1e6 for one in (alone, followed)]
    assert 60 <= lost_s[0] < 60 + 30 + TICK_S
    assert undone_jobs(alone.summary["jobs"])["jobs ended by the policy"] == 1
    assert 60 <= lost_s[1] < 60 + 30 + TICK_S


def test_refused_jobs_are_counted_and_named(tmp_path: Path) -> None:
    """Of three in the queue and one more; one that may never start waits, and is not refused."""
    qos = HEAD + "normal|0|00:00:00|||3||\nfree|0|00:00:00|||||cpu=2\n"
    rows = [job(1, 0, 100, "-n4"), job(2, 1, 100, "-n3", qos="free"), job(3, 2, 100, "-n1"), job(4, 3, 100, "-n1")]
    starts_s(run(tmp_path, [*rows, job(5, 4, 100, "-n1")], qos=qos))
    scenario = replace(read_scenario(tmp_path / "site.yaml"), horizon_us=1e9)
    found = recorded(tmp_path / "out", scenario)
    assert found.jobs["refused"].tolist() == [False, False, False, False, True]
    assert found.summary["jobs"]["refused"] == 1
    assert undone_jobs(found.summary["jobs"]) == {
        "jobs killed by their limit": 0, "jobs withdrawn": 0, "jobs refused by the policy": 1,
        "jobs ended by the policy": 0, "jobs unfinished": 1,
    }  # fmt: skip
    assert "1 refused by the policy, 1 left" in found.report(tmp_path / "page.html").read_text()
    assert headline(waiting_of(tmp_path / "out", 4))[0].endswith(
        "waited 0 us and never started: arrived at 2024-03-01 00:00:04; the policy refused it."
    )
    assert slowest_jobs(tmp_path / "out", 5)[0] == 1
    assert slowest_jobs(tmp_path / "out", 5)[-1] == 4
    assert found.by("user")["refused"].tolist() == [1]
    assert found.tasks["dropped_us"][-1] == 4e6
    with open_result(tmp_path / "out") as stored:
        again = Tables(scenario, read_outcome(stored, scenario))
    assert again.job_is_refused.tolist() == found.jobs["refused"].tolist()


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_refused_and_killed_jobs_leave_the_queue(tmp_path: Path, engine: str) -> None:
    """A job that its limit ends is no longer pending either; the stored run has the same queue."""
    qos = HEAD + "normal|0|00:00:00|||2||\n"
    rows = [job(1, 0, 60, "-n4", limit=1, state="TIMEOUT"), job(2, 1, 100, "-n4"), job(3, 2, 100, "-n1")]
    starts_s(run(tmp_path, rows, qos=qos))
    scenario = replace(read_scenario(tmp_path / "site.yaml"), horizon_us=1e9)
    found = recorded(tmp_path / "out", scenario, engine=engine)
    killed_us, refused_us = found.tasks["dropped_us"][[0, -1]].tolist()
    assert refused_us == 2e6
    assert 60e6 <= killed_us <= 120e6
    with open_result(tmp_path / "out") as stored:
        queue = queues_of(stored, [None])[0]
        again = Tables(scenario, read_outcome(stored, scenario))
    assert queue.length[-1] == 0
    np.testing.assert_array_equal(again.outcome.dropped_us, found.tasks["dropped_us"])
    means = mean_queues(again, [None], 4)[0]
    np.testing.assert_allclose(means, queue.means(np.linspace(0, queue.end_us, 5)))
    assert "the policy ended it" in headline(waiting_of(tmp_path / "out", 0))[0]


def test_an_array_is_refused_as_a_whole(tmp_path: Path) -> None:
    """Three jobs where two may be: none of them, and they do not count for the next job."""
    rows = [*(job(n, 0, 100, "-n1 --array=1-3", id=f"1_{n}") for n in (1, 2, 3)), job(4, 5, 100, "-n1")]
    found = starts_s(run(tmp_path, rows, **LIMITS["QOSGrpSubmitJobsLimit"]))
    assert np.isnan(found[:3]).all()
    assert found[3] < 5 + TICK_S


@pytest.mark.parametrize("flags", ["", "DenyOnLimit"])
def test_a_qos_refuses_jobs_that_are_too_large_by_themselves(tmp_path: Path, flags: str) -> None:
    """Without the flag it waits for ever. It never starts in either case; two at once are no reason to refuse."""
    qos = HEAD + f"normal|0|00:00:00|{flags}||||cpu=4\n"
    rows = [job(1, 0, 100, "-n6"), job(2, 1, 100, "-n4"), job(3, 2, 100, "-n4")]
    rows += [job(4, 3, 100, "-n1 --dependency=afterany:1")]
    found = starts_s(run(tmp_path, rows, CONF, qos=qos))
    assert np.isnan(found[0])
    assert found[2] >= 100
    assert np.isnan(found[3]) == (flags == "")  # a refused job is over
