"""The whole system on Ray: one command starts it, Ray starts what dies again, one command stops it."""

import asyncio
import importlib.util
import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.cli.conftest import vinesim as vinesim
from tests.live.clusters import CLUSTER, eventually, until, write_files
from tests.live.test_processes import up
from vinesim.live.client import connect
from vinesim.live.running import supervisor_pid

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")


def listeners(pid: int) -> set[str]:
    """The addresses on which a process and its descendants listen."""
    found = set()
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            found |= {c.laddr.ip for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        except psutil.Error:
            continue
    return found


def test_start_requests_jobs_a_dead_manager_a_dead_agent_and_stop(vinesim, tmp_path, monkeypatch):
    folder = tmp_path / "live"
    monkeypatch.setenv("VINESIM_LIVE", str(folder))
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "never used"))  # on a new machine its usual folder does not exist
    text = CLUSTER.replace("lease: 1 s", "lease: 20 s").replace(", {name: n1, units: {CPU: 1}}", "")
    started = vinesim("live", "start", write_files(tmp_path, text))
    assert started.code == 0, started.err
    assert "1 nodes with 2 units are up" in started.out
    supervisor = supervisor_pid(folder)
    try:
        assert vinesim("live", "start", tmp_path / "cluster.yaml").code == 2
        assert listeners(supervisor) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        job = vinesim("live", "submit", "--expect", "1 s", "--", "sh", "-c", "echo said; exit 3").out.strip()
        assert vinesim("live", "wait", job).code == 3
        assert json.loads(vinesim("live", "list", "--all", "--json").out)[0]["state"] == "ended"
        assert "ended" in vinesim("live", "logs", "--history", job).out
        assert vinesim("live", "explain", job).out.startswith(f"Job {job} ")
        assert vinesim("live", "add-node", "n9", "--units", "CPU=1").out == "n9 joins\n"
        asyncio.run(asyncio.wait_for(joined(folder, "n9"), 100))
        asyncio.run(asyncio.wait_for(survive(folder, tmp_path), 200))
        status = json.loads(vinesim("live", "status", "--json").out)
        assert status["counters"]["n_done"] == 1  # of this manager
        assert "vinesim_done_total 1.0" in vinesim("live", "metrics").out
        assert "n0" in vinesim("live", "top", "--times", "1").out
    finally:
        assert vinesim("live", "stop").code == 0
    until(lambda: supervisor_pid(folder) is None)
    assert not psutil.Process(supervisor).children()  # a zombie of this test at most
    assert vinesim("live", "status").code == 2
    assert "no cluster runs" in vinesim("live", "stop").out


async def joined(folder: Path, node: str) -> None:
    """Wait until a node that was added is up."""
    async with connect(folder) as session:
        await up(session, node)


async def survive(folder: Path, tmp_path: Path) -> None:
    """A request that waits while Ray starts a killed manager again, and then a killed agent."""
    async with connect(folder) as session:
        go, started = tmp_path / "go", tmp_path / "go.started"
        request = asyncio.ensure_future(session.application("ECHO").request(["wait_for", str(go)]))
        await eventually(started.exists)
        first = json.loads((folder / "address.json").read_text())["pid"]
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: json.loads((folder / "address.json").read_text())["pid"] != first)
        status = await session.call("client.status")
        while status["nodes"][0]["state"] != "up":
            status = await session.call("client.status")
        assert len(started.read_text().split()) == 1
        os.kill(status["nodes"][0]["facts"]["pid"], signal.SIGKILL)
        await eventually(lambda: len(started.read_text().split()) == 2)
        go.write_text("")
        assert await request == str(go)
