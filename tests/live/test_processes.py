"""Real agents, device processes and managers: killed, frozen and started again by their numbers."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.live.clusters import CLUSTER, eventually, processes, until
from vinesim.live.client import LiveError, connect
from vinesim.live.folder import JOURNAL
from vinesim.live.journal import Journal
from vinesim.model.errors import InputError


def run(folder, work, patience_s=120):
    async def inside():
        async with connect(folder) as session:
            return await asyncio.wait_for(work(session), patience_s)

    return asyncio.run(inside())


async def up(session, *nodes):
    """Wait for nodes to be up, and return the status."""
    while True:
        status = await session.call("client.status")
        if {n["name"] for n in status["nodes"] if n["state"] == "up"} >= set(nodes):
            return status
        await asyncio.sleep(0.01)


def pids(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_requests_errors_limits_and_the_four_calls(tmp_path):
    async def work(session):
        echo = session.application("ECHO")
        assert await asyncio.gather(*(echo.request(["say", i]) for i in range(20))) == list(range(20))
        with pytest.raises(LiveError, match="ValueError: no"):
            await echo.request(["raise", "no"])
        with pytest.raises(LiveError, match="ValueError: me"):
            await echo.request(["one_fails", "me"])
        with pytest.raises(InputError, match="at most 65,536 bytes"):
            await echo.request(["say", b"x" * 70_000])
        with pytest.raises(LiveError, match="its result has 70,009 bytes"):
            await echo.request(["big", 70_000])
        with pytest.raises(LiveError, match="tried 3 times"):
            await echo.request(["die", 0])
        mine = await session.register("MINE", 1e6, max_consolidated=4, task_type="ECHO")
        keys = [mine.new_request() for _ in range(3)]
        offers = [await mine.can_issue() for _ in range(3)]
        assert sorted(key for offer in offers for key in offer.keys) == sorted(keys)
        assert {offer.places[0][3] for offer in offers} <= {"CPU", "ACC"}
        for i, offer in enumerate(offers):
            assert await mine.issue(offer, "echo", [["say", i]]) == [i]
            assert await mine.complete(offer) is True
        assert await mine.complete(offers[0]) is False
        return await session.call("client.status")

    with processes(tmp_path, "manager", "n0") as cluster:
        status = run(cluster.folder, work)
        assert status["counters"]["n_done"] == 23
        assert status["counters"]["n_failed"] == 4
        assert status["counters"]["n_started_again"] == 2
        assert status["n_running"] == status["n_waiting"] == 0


def test_a_killed_device_and_a_killed_agent_are_started_again(tmp_path):
    note = tmp_path / "go"

    async def work(session):
        echo = session.application("ECHO")
        await up(session, "n1")
        first = asyncio.ensure_future(echo.request(["wait_for", str(note)]))
        started = tmp_path / "go.started"
        (pid,) = await eventually(lambda: pids(started))
        os.kill(pid, signal.SIGKILL)
        _, second = await eventually(lambda: pids(started)[1:] and pids(started))
        cluster.signal("n1", signal.SIGKILL)
        await eventually(lambda: not os.path.exists(f"/proc/{second}"))  # it ended with its agent
        cluster.start("n1")
        await eventually(lambda: pids(started)[2:])
        note.write_text("")
        assert await first == str(note)
        status = await session.call("client.status")
        assert status["counters"]["n_started_again"] == 2
        assert status["nodes"][1]["epoch"] == 2

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def test_a_frozen_agent_loses_its_lease_and_its_devices_end_themselves(tmp_path):
    """No one may give its unit away while the device works: the second start comes after the first process is gone."""
    note, started = tmp_path / "go", tmp_path / "go.started"

    async def work(session):
        echo = session.application("ECHO")
        await up(session, "n1")
        request = asyncio.ensure_future(echo.request(["wait_for", str(note)]))
        (first,) = await eventually(lambda: pids(started))
        cluster.signal("n1", signal.SIGSTOP)
        cluster.start("n0")
        await up(session, "n0")
        await eventually(lambda: len(pids(started)) > 1 or _is_gone(first))
        assert _is_gone(first)
        await eventually(lambda: len(pids(started)) > 1)
        note.write_text("")
        assert await request == str(note)
        cluster.signal("n1", signal.SIGCONT)
        status = await up(session, "n1")
        assert {node["name"]: node["epoch"] for node in status["nodes"]} == {"n0": 1, "n1": 2}
        assert status["counters"]["n_lost_nodes"] == 1
        assert status["counters"]["n_done"] == 1

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def _is_gone(pid):
    """Whether the process has ended; its frozen parent may not have collected it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_frozen_device_is_ended_and_its_request_runs_again(tmp_path):
    note, started = tmp_path / "go", tmp_path / "go.started"

    async def work(session):
        await up(session, "n1")
        request = asyncio.ensure_future(session.application("ECHO").request(["wait_for", str(note)]))
        (first,) = await eventually(lambda: pids(started))
        os.kill(first, signal.SIGSTOP)
        await eventually(lambda: len(pids(started)) > 1)
        assert not os.path.exists(f"/proc/{first}")
        note.write_text("")
        assert await request == str(note)

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def test_a_killed_manager_finds_requests_and_jobs_running(tmp_path):
    go, job_go = tmp_path / "go", tmp_path / "job_go"
    script = f"echo begin >> {tmp_path}/begun; while [ ! -e {job_go} ]; do sleep 0.02; done; echo said; exit 7"

    async def work(session):
        await up(session, "n0")
        request = asyncio.ensure_future(session.application("ECHO").request(["wait_for", str(go)]))
        job = {"task_type": "COMMAND", "commands": {"CPU": ["sh", "-c", script]}, "expected_us": 1e6}
        number = (await session.call("job.submit", job=job, key="mine"))["job"]
        await eventually(lambda: (tmp_path / "begun").exists() and (tmp_path / "go.started").exists())
        cluster.signal("manager", signal.SIGKILL)
        cluster.start("manager")
        assert (await session.call("job.submit", job=job, key="mine"))["job"] == number
        await up(session, "n0")
        go.write_text("")
        job_go.write_text("")
        assert await request == str(go)
        found = (await session.call("job.wait", job=number))["job"]
        assert (found["state"], found["exit_code"], found["n_attempts"]) == ("ended", 7, 1)
        assert found["usage"]["max_rss_kib"] > 0
        output = await session.call("job.output", job=number, stream="out", offset=0)
        assert output["data"] == b"said\n"
        assert (tmp_path / "begun").read_text() == "begin\n"
        assert len(pids(tmp_path / "go.started")) == 1

    with processes(tmp_path, "manager", "n0", text=CLUSTER.replace("lease: 1 s", "lease: 60 s")) as cluster:
        run(cluster.folder, work)


def test_a_job_is_ended_with_all_it_started_at_its_limit_when_cancelled_and_when_its_agent_dies(tmp_path):
    def spec(name, **more):
        script = f"sleep 1000 & echo $! > {tmp_path}/{name}.part; mv {tmp_path}/{name}.part {tmp_path}/{name}; wait"
        return {"task_type": "COMMAND", "commands": {"CPU": ["sh", "-c", script]}, "expected_us": 1e6, **more}

    def child(name):
        path = tmp_path / name
        return int(path.read_text()) if path.exists() else None

    async def work(session):
        await up(session, "n1")
        limited = (await session.call("job.submit", job=spec("limited", limit_us=1e6)))["job"]
        found = (await session.call("job.wait", job=limited))["job"]
        assert (found["state"], found["why"]) == ("failed", "it took longer than its limit of 1 s")
        cancelled = (await session.call("job.submit", job=spec("cancelled")))["job"]
        await eventually(lambda: child("cancelled"))
        await session.call("job.cancel", job=cancelled)
        assert (await session.call("job.wait", job=cancelled))["job"]["state"] == "cancelled"
        once = (await session.call("job.submit", job=spec("once", at_most_once=True)))["job"]
        await eventually(lambda: child("once"))
        cluster.signal("n1", signal.SIGKILL)
        cluster.start("n1")
        assert (await session.call("job.wait", job=once))["job"]["state"] == "unknown"
        for name in ("limited", "cancelled", "once"):
            await eventually(lambda name=name: not os.path.exists(f"/proc/{child(name)}"))

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def test_metrics_need_the_token_and_logs_are_json(tmp_path):
    async def work(session):
        await up(session, "n0")
        assert await session.application("ECHO").request(["say", 1]) == 1

    def get(path, token):
        url = f"http://{place['host']}:{place['metrics_port']}{path}"
        return urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})).read()

    with processes(tmp_path, "manager", "n0") as cluster:
        run(cluster.folder, work)
        place = json.loads((cluster.folder / "address.json").read_text())
        token = (cluster.folder / "token").read_text()
        until(lambda: b"vinesim_done_total 1.0" in get("/metrics", token))  # a client has its result sooner
        text = get("/metrics", token).decode()
        assert 'vinesim_nodes{state="up"} 1.0' in text
        assert 'vinesim_waiting{application="ECHO"} 0.0' in text
        for path, given, code in (("/metrics", "wrong", 401), ("/metrics", "", 401), ("/other", token, 404)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(path, given)
            assert refused.value.code == code
            refused.value.close()
        lines = [json.loads(line) for line in (cluster.folder / "logs" / "manager.jsonl").read_text().splitlines()]
        (came,) = [line for line in lines if line["event"] == "node up"]
        assert (came["node"], came["epoch"], came["level"]) == ("n0", 1, "info")


def test_stop_ends_everything_and_a_stranger_is_not_served(tmp_path):
    async def work(session):
        await up(session, "n0")
        await session.call("client.stop")

    with processes(tmp_path, "manager", "n0") as cluster:
        token = cluster.folder / "token"
        right = token.read_text()
        run(cluster.folder, lambda session: up(session, "n0"))
        token.write_text("00" * 32)
        with pytest.raises(LiveError, match="token"):
            run(cluster.folder, work)
        token.write_text(right)
        token.chmod(0o644)
        with pytest.raises(InputError, match="others can"):
            run(cluster.folder, work)
        token.chmod(0o600)
        run(cluster.folder, work)
        until(lambda: all(process.poll() is not None for process in cluster._running.values()))
        assert [process.returncode for process in cluster._running.values()] == [0, 0]


def test_an_agent_with_a_wrong_token_says_so_once_and_comes_with_the_right_one(tmp_path):
    with processes(tmp_path, "manager") as cluster:
        token, log = cluster.folder / "token", cluster.folder / "logs" / "n0.jsonl"
        right = token.read_text()
        token.write_text("00" * 32)
        cluster.start("n0")
        of_manager = cluster.folder / "logs" / "manager.jsonl"
        until(lambda: of_manager.read_text().count('"wrong token"') >= 3)
        said = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(one["event"], one["why"]) for one in said] == [
            ("no manager", "closed by the peer: the token is probably wrong")
        ]
        token.write_text(right)
        cluster.signal("n0", signal.SIGKILL)
        cluster.start("n0")
        run(cluster.folder, lambda session: up(session, "n0"))


def test_a_second_manager_of_a_folder_ends_before_it_changes_anything(tmp_path):
    with processes(tmp_path, "manager") as cluster:
        words = [sys.executable, "-m", "vinesim.live.serve", "manager", str(cluster.folder)]
        second = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert (second.returncode, second.stderr) == (1, f"{cluster.folder}: a manager runs there already\n")
        cluster.signal("manager", signal.SIGKILL)
        journal = Journal(cluster.folder / JOURNAL)
        assert journal.get("boots") == 1
        journal.close()
        cluster.start("manager")  # its lock has gone with it
        assert run(cluster.folder, lambda session: session.call("client.status"))["manager"]["n_starts"] == 2
