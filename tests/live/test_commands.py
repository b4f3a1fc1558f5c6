"""The commands of ``vinesim live`` where no cluster runs: what they refuse, and how they say it."""

import importlib.util
import signal
import subprocess

import pytest

from tests.cli.conftest import vinesim as vinesim
from tests.live.clusters import CLUSTER, CoreTest, only, until, write_files
from vinesim.cli import live_cluster, live_jobs, live_watch
from vinesim.cli.console import Console
from vinesim.live.agent.processes import is_alive, started_at


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VINESIM_LIVE", str(tmp_path / "live"))


WATCHING = [
    "status",
    "top",
    "metrics",
    "drain n0",
    "resume n0",
    "add-node n5 --units CPU=1",
    "remove-node n0",
    "restart-node n0",
    "prune --older 1d",
    "record --out x",
    "validate",
]
OF_JOBS = ["list", "wait 1", "logs 1", "cancel 1", "submit true", "explain 1"]


@pytest.mark.parametrize("words", [*WATCHING, *OF_JOBS])
def test_no_cluster_is_said(vinesim, words):
    done = vinesim("live", *words.split())
    assert done.code == 2
    assert "vinesim live start" in done.err
    assert "Traceback" not in done.err


def test_wrong_units_of_a_node_are_refused_before_anything_is_sent(vinesim):
    done = vinesim("live", "add-node", "n5", "--units", "CPU")
    assert done.code == 2
    assert "TYPE=NUMBER" in done.err


def test_a_wrong_cluster_file_starts_nothing(vinesim, tmp_path):
    path = write_files(tmp_path, CLUSTER.replace("policy: fcfs", "policy: none_such"))
    done = vinesim("live", "start", path)
    assert done.code == 2
    assert "none_such" in done.err
    assert not (tmp_path / "live").exists()


def test_a_policy_that_cannot_decide_online_starts_nothing(vinesim, tmp_path):
    path = write_files(tmp_path, CLUSTER.replace("policy: fcfs", "policy: ff"))
    done = vinesim("live", "start", path)
    assert done.code == 2
    assert "an online policy" in done.err
    assert not (tmp_path / "live").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "true"], "a command, --on, or --kernel"),
        (["--on", "GPU", "true"], "TYPE=COMMAND"),
        (["--request", "cores=x", "true"], "NAME=NUMBER"),
        (["--expect", "soon", "true"], "expected_us: expected a time"),
        (["--kernel", "search", "--payload", "{"], "--payload"),
        (["--kernel", "search", "true"], "a command or a kernel"),
    ],
)
def test_a_wrong_job_is_refused_before_anything_is_sent(vinesim, words, said):
    done = vinesim("live", "submit", *words)
    assert done.code == 2
    assert said in done.err


JOB = {"id": 1, "name": "[/red] :smile:", "state": "failed", "started_us": 1.0, "ended_us": 2.0, "n_attempts": 1}


def test_names_and_reasons_are_text(capsys):
    live_jobs._table([JOB | {"exit_code": None, "why": "[bold]no"}])
    out = capsys.readouterr().out
    assert "[/red] :smile:" in out
    assert "[bold]no" in out


def test_the_status_shows_ages_reasons_and_what_it_waits_for(capsys, tmp_path):
    core = CoreTest(tmp_path, CLUSTER.replace("lease: 1 s", "lease: 1000 s"))
    core.client()
    core.agent("n1")
    failed = only(core.request("1"), "run")
    core.end("n1", failed["attempt"], outcome="raised", why="ValueError: [/red]")
    run = only(core.submit(), "run")
    core.begin()
    core.client()
    core.agent("n0")
    found = core.status() | {"failures": [{"application": "ECHO", "kind": "failed", "why": "[/red]", "count": 3}]}
    terminal = Console()
    for line in live_watch._lines(found):
        terminal.print(line)
    for part in live_watch._tables(found, None):
        terminal.print(part)
    out = capsys.readouterr().out
    assert "start 2 of this cluster" in out
    assert "recovering: nothing is granted until n1 has come back" in out
    assert "unit 2: job 1 for" in out
    assert "[/red]" in out
    assert run["unit"] == 2


def test_the_last_resort_of_stop_ends_all_that_the_supervisor_has_started(tmp_path):
    script = f"trap '' TERM; setsid sleep 1000 & echo $! > {tmp_path}/child; echo > {tmp_path}/ready; wait; wait"
    process = subprocess.Popen(["bash", "-c", script])
    try:
        until((tmp_path / "ready").exists)
        child = int((tmp_path / "child").read_text())
        live_cluster.end(process.pid, signal.SIGTERM)
        assert process.poll() is None
        live_cluster.end(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        until(lambda: not is_alive(child, started_at(child)))
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
def test_a_node_that_cannot_be_placed_is_no_harm_to_the_cluster(tmp_path, monkeypatch, caplog):
    from vinesim.live import placed

    core = CoreTest(tmp_path)
    core.core.journal.close()
    started = []
    monkeypatch.setattr(placed, "_agent", lambda folder, node: started.append(node) or node)

    def add(node):
        if node == "n0":
            raise ValueError("no such label")

    known = set()
    assert placed._joined(tmp_path / "state", known, add) == started == ["n1"]
    assert known == {"n0", "n1"}
    assert "could not be placed" in caplog.text
    assert placed._joined(tmp_path / "state", known, add) == []
