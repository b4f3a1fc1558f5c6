"""Why a job waits, in the words of ``vinesim explain``, from the journal alone."""

import sqlite3

import pytest

from tests.cli.conftest import vinesim as vinesim
from tests.live.clusters import CLUSTER, CoreTest, every, only
from vinesim.live.folder import JOURNAL
from vinesim.live.history import write_history
from vinesim.live.journal import STEPS, Journal
from vinesim.metrics.waiting import waiting_of
from vinesim.model.errors import InputError

TEXT = CLUSTER.replace("{name: CPU, capacity: 2}", "{name: CPU, capacity: 1, attributes: {cores: 4}}")


@pytest.fixture
def core(tmp_path):
    """Node n1 is up with one CPU; n0 has never come."""
    core = CoreTest(tmp_path, TEXT.replace("lease: 1 s", "lease: 100 s"))
    core.client()
    core.agent("n1")
    return core


def explained(core, job, tmp_path):
    """What is found of a job, with the names of all."""
    core.core.journal.commit()
    target = tmp_path / "state" / JOURNAL
    if not target.exists():
        target.symlink_to(tmp_path / "state" / "journal")
    out = tmp_path / f"out {job} {core.clock.us}"
    place, names = write_history(tmp_path / "state", job, out, core.clock.us)
    return waiting_of(out, place), names


def test_a_job_waits_for_the_one_before_it_and_for_a_node_that_is_down(core, tmp_path):
    first = only(core.submit(name="first"), "run")
    core.submit(name="second")
    core.turn(after_us=3e6)
    found, names = explained(core, 2, tmp_path)
    assert found.start_us is None
    assert found.waited_us == pytest.approx(3e6)
    (cpu,) = [kind for kind in found.types if kind.name == "CPU"]
    assert cpu.free_unit_us == 0.0
    assert cpu.down_unit_us == pytest.approx(3e6)  # that of n0
    assert names[found.job] == "job 2"
    second = only(core.end("n1", first["attempt"], exit_code=0), "run")
    core.turn(after_us=1e6)
    found, names = explained(core, 2, tmp_path)
    assert found.waited_us == pytest.approx(3e6 + 1e3)
    assert found.unit == second["unit"]
    (opening,) = found.openings
    assert names[opening.freed_by] == "job 1"


def test_an_attempt_that_was_lost_and_requests_are_part_of_it(core, tmp_path):
    for run in every(core.request("r"), "run"):
        core.end("n1", run["attempt"])
    run = only(core.submit(), "run")
    core.end("n1", run["attempt"], outcome="killed", why="its device died")
    found, names = explained(core, 1, tmp_path)
    assert len(found.lost_runs) == 1
    assert found.lost_runs[0].outcome == "interrupted"
    assert "a request of ECHO" in names


def test_requests_that_a_unit_does_not_meet_are_named(tmp_path):
    """The unit that meets them is on a node that has never come."""
    text = TEXT.replace("{name: ACC}", "{name: ACC, attributes: {cores: 16}}")
    core = CoreTest(tmp_path, text.replace("policy: fcfs", "policy: easy_backfill"))
    core.client()
    core.agent("n1")
    core.submit(task_type="ECHO", kernel="echo", commands={}, requests={"cores": 9})
    found, _ = explained(core, 1, tmp_path)
    (cpu,) = [kind for kind in found.types if kind.name == "CPU"]
    assert cpu.lacks == ["cores 9 > 4"]


def test_jobs_that_are_not_there_or_never_waited_to_the_end_are_refused(core, tmp_path):
    core.submit()
    core.submit()
    core.turn(("c", {"op": "job.cancel", "n": 1, "job": 2}))
    with pytest.raises(InputError, match="cancelled before it started"):
        explained(core, 2, tmp_path)
    with pytest.raises(InputError, match="the number of a job"):
        explained(core, 7, tmp_path)


def test_the_command_prints_it_when_the_cluster_is_stopped(core, tmp_path, vinesim, monkeypatch):
    monkeypatch.setenv("VINESIM_LIVE", str(tmp_path / "state"))
    core.submit()
    core.submit()
    core.turn(after_us=2e6)
    core.submit()  # the last entry of the journal
    core.core.journal.close()
    (tmp_path / "state" / "journal").rename(tmp_path / "state" / JOURNAL)
    done = vinesim("live", "explain", "2")
    assert done.code == 0, done.err
    assert "Job 2 waited 2.00 s and never started" in done.out
    assert "the cluster was stopped" in done.out
    assert '"waited_us"' in vinesim("live", "explain", "1", "--json").out
    assert vinesim("live", "explain", "5").code == 2


def test_a_journal_of_the_version_before_is_continued(tmp_path):
    with sqlite3.connect(tmp_path / "journal") as old:
        old.executescript(f"{STEPS[0]} PRAGMA user_version=1")
        for spec in ('{"name": "mine"}', '{"name": "odd", "demand": NaN}'):
            words = "INSERT INTO jobs (spec, state, n_attempts, submitted_us) VALUES (?, 'ended', 1, 0)"
            old.execute(words, (spec,))
    old.close()
    again = Journal(tmp_path / "journal")
    again.write("INSERT INTO node_changes (time_us, node, is_open) VALUES (5, 'n0', 1)")
    assert again.latest_us() == 5.0
    assert next(row["name"] for row in again.rows("SELECT name FROM jobs ORDER BY id")) == "mine"
    again.close()
