"""The commands of ``vinesim live`` where no cluster runs: what they refuse, and how they say it."""

import importlib.util
import signal
import subprocess
import threading

import pytest

import vinesim as vs
from tests.cli.conftest import vinesim as vinesim
from tests.live.clusters import CLUSTER, CoreTest, only, until, write_files
from vinesim.cli import live_cluster, live_jobs, live_watch
from vinesim.cli.console import Console
from vinesim.live.address import make_token
from vinesim.live.agent.processes import is_alive, started_at
from vinesim.live.client import LiveError


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


def test_the_status_says_what_nodes_wait_for(tmp_path):
    core = CoreTest(tmp_path)
    assert core.status()["awaited"] == ["node n0: its agent has not come", "node n1: its agent has not come"]
    core.agent("n0", ready=[])
    core.agent("n1", ready=[2])
    loading = "node n0: the kernels of units 0 (ACC), 1 (CPU) still load or warm up"
    assert core.status()["awaited"] == [loading]
    assert [node["state"] for node in core.status()["nodes"]] == ["starting", "up"]
    assert f"waiting for {loading}" in live_watch._lines(core.status())
    core.turn(("n0", {"op": "agent.ready", "units": [0]}))
    assert core.status()["awaited"] == ["node n0: the kernels of unit 1 (CPU) still load or warm up"]
    core.turn(("n0", {"op": "agent.ready", "units": [1]}))
    assert core.status()["awaited"] == []
    core.core.nodes.drain("n0", True)
    assert core.status()["awaited"] == []
    core.core.closed("n0")
    assert core.status()["awaited"] == ["node n0: its agent has gone, and its lease still runs"]
    core.turn(after_us=1e9)
    lost = "its agent has gone, and its lease has ended"
    assert core.status()["awaited"] == [f"node n0: {lost}", f"node n1: {lost}"]


class Starting:
    """A supervisor, and what its cluster waits for at each question; without an answer it has no manager."""

    def __init__(self, folder, *answers):
        self.folder, self.answers, self.is_ended, self.is_slow = folder, list(answers), False, False
        self.now_s = 0.0

    def called(self, _, op):
        assert op == "client.status"
        awaited = self.answers.pop(0)
        if awaited is None:
            raise LiveError("lost", "no answer")
        return {"awaited": awaited}

    def monotonic(self):
        return self.now_s

    def sleep(self, s):
        self.now_s += s
        (self.folder / "address.json").touch()

    def poll(self):
        return None if self.answers and not self.is_ended else 1

    def terminate(self):
        self.is_ended = True

    def wait(self, timeout=None):
        if timeout is not None and self.is_slow:
            raise subprocess.TimeoutExpired("supervisor", timeout)


def starts(monkeypatch, tmp_path, *answers, wait_s=1e9):
    """Wait for a cluster that starts; each question comes a second after the one before."""
    process = Starting(tmp_path, *answers)
    monkeypatch.setattr(live_cluster, "called", process.called)
    monkeypatch.setattr(live_cluster, "POLL_S", 1.0)
    monkeypatch.setattr(live_cluster, "time", process)
    live_cluster._wait_until_up(tmp_path, process, wait_s)


def test_a_start_says_what_it_waits_for_once_it_has_waited_for_long(monkeypatch, tmp_path, capsys):
    shortly, long, other = ["node n0: a"], ["node n0: b", "node n1: b"], ["node n1: c"]
    starts(monkeypatch, tmp_path, shortly, shortly, long, long, long, long, other, other, other, [])
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["waiting for node n0: b", "waiting for node n1: b", "waiting for node n1: c"]


def test_a_start_that_fails_says_what_it_waited_for(monkeypatch, tmp_path):
    with pytest.raises(vs.VineSimError, match=r"was not started: it waited for node n0: a; node n1: b; see .*logs"):
        starts(monkeypatch, tmp_path, ["node n0: a", "node n1: b"], [], wait_s=1.5)
    with pytest.raises(vs.VineSimError, match=r"it waited for its manager: .*no answer"):
        starts(monkeypatch, tmp_path, None, [], wait_s=0.5)


def test_a_cluster_that_ends_while_it_starts_is_an_error(monkeypatch, tmp_path):
    with pytest.raises(vs.VineSimError, match=r"was not started: it waited for its manager; see .*logs"):
        starts(monkeypatch, tmp_path)


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
    monkeypatch.setattr(placed, "_agent", lambda folder, node, ended: started.append(node) or node)

    def add(node):
        if node == "n0":
            raise ValueError("no such label")

    known = set()
    assert placed._joined(tmp_path / "state", known, add, threading.Event()) == started == ["n1"]
    assert known == {"n0", "n1"}
    assert "could not be placed" in caplog.text
    assert placed._joined(tmp_path / "state", known, add, threading.Event()) == []


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_start_that_is_interrupted_leaves_no_cluster_and_says_what_it_waits_for(
    monkeypatch, tmp_path, capsys, is_slow
):
    process = Starting(tmp_path)
    process.is_slow = is_slow

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(live_cluster.subprocess, "Popen", lambda *_, **__: process)
    monkeypatch.setattr(live_cluster, "_wait_until_up", interrupted)
    with pytest.raises(KeyboardInterrupt):
        live_cluster.start(write_files(tmp_path), tmp_path / "folder", 1.0, False)
    assert process.is_ended
    assert ("waiting for what was started to end" in capsys.readouterr().err) == is_slow


def test_a_supervisor_that_is_to_end_waits_for_no_manager(tmp_path):
    placed = pytest.importorskip("vinesim.live.placed")  # needs Ray
    make_token(tmp_path)
    ended = threading.Event()
    threading.Timer(0.2, ended.set).start()
    with pytest.raises(placed._Ended):
        placed._place(tmp_path, ended)
