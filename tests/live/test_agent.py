"""An agent and its processes, against a manager that a test plays."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from tests.live.clusters import KERNELS, eventually
from vinesim.live import clock
from vinesim.live.address import make_token, write_place
from vinesim.live.agent.agent import Agent
from vinesim.live.agent.device import Device, Family
from vinesim.live.agent.processes import descendants, end_descendants, end_group, is_alive, started_at
from vinesim.live.agent.records import node_folder
from vinesim.live.clock import ClusterClock
from vinesim.live.wire.connection import Connection

FOREVER_US = 1e9


class Manager:
    """The other end of an agent's connection: what the agent has said, and what the test says."""

    def __init__(self):
        self.said, self.peer = [], None

    async def start(self, folder):
        token = make_token(folder)

        def connection():
            return Connection(token, 2**20, True, self._opened, self._received, lambda *_: None)

        self.server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
        write_place(folder, "127.0.0.1", self.server.sockets[0].getsockname()[1], 0)

    def _opened(self, peer):
        self.peer = peer

    def _received(self, _, message):
        self.said.append(message)
        if message["op"] == "agent.lease":
            self.peer.send({"op": "lease", "at_us": message["at_us"]})

    def of(self, op):
        return [message for message in self.said if message["op"] == op]

    def ends(self):
        return [end for message in self.of("agent.ended") for end in message["ends"]]

    def welcome(self, n_processes=1, ahead=0, **more):
        units = [{"unit": 0, "type": "CPU", "n_processes": n_processes, "ahead": ahead, **more}]
        kernels = {"text": KERNELS, "name": "kernels.py"}
        more = {"units": units, "kernels": kernels, "lease_us": FOREVER_US, "limit": 2**20}
        self.peer.send({"op": "welcome", "epoch": 1, **more})

    def run(self, attempt, *words, **more):
        commands = {"*": ["sh", "-c", *words]}
        order = {"op": "run", "attempt": attempt, "unit": 0, "job": attempt, "commands": commands, "env": {}}
        self.peer.send({**order, "folder": "", "limit_us": None, **more})


def played(tmp_path, work):
    """Run a test with a manager that it plays and a real agent."""

    async def inside():
        manager = Manager()
        await manager.start(tmp_path)
        command = [sys.executable, "-m", "vinesim.live.serve", "agent", str(tmp_path), "n0"]
        agent = subprocess.Popen(command, start_new_session=True)
        try:
            await eventually(lambda: manager.of("agent.hello"))
            await work(manager)
            manager.peer.send({"op": "stop"})
            await eventually(lambda: agent.poll() is not None)
        finally:
            agent.kill()
            agent.wait(60)
            manager.peer.close("the test is over")
            manager.server.close()
            await manager.server.wait_closed()

    asyncio.run(asyncio.wait_for(inside(), 60))


def test_a_unit_is_ready_once_all_its_processes_are(tmp_path):
    devices = set()

    def known():
        records = [json.loads(path.read_text()) for path in node_folder(tmp_path, "n0").glob("process-*.json")]
        return {record["pid"] for record in records} & {*devices}

    async def work(manager):
        manager.welcome(n_processes=2)
        await eventually(lambda: manager.of("agent.ready"))
        for attempt in (1, 2):
            waits = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
            manager.run(attempt, f"echo $PPID > {tmp_path}/{attempt}; {waits}")
        await eventually(lambda: all((tmp_path / name).exists() for name in "12"))
        (tmp_path / "go").touch()
        await eventually(lambda: len(manager.ends()) == 2)
        assert len(manager.of("agent.ready")) == 1
        devices.update(int((tmp_path / name).read_text()) for name in "12")
        assert len(devices) == len(known()) == 2

    played(tmp_path, work)


def test_a_process_sees_the_gpu_of_its_unit(tmp_path):
    async def work(manager):
        manager.welcome(gpu="MIG-1")
        manager.run(1, f"echo $CUDA_VISIBLE_DEVICES $VINESIM_UNIT > {tmp_path}/seen")
        await eventually(manager.ends)
        assert (tmp_path / "seen").read_text() == "MIG-1 0\n"

    played(tmp_path, work)


@pytest.mark.parametrize("is_busy", [False, True])
def test_what_is_killed_before_its_process_exists_never_runs(tmp_path, is_busy):
    async def work(manager):
        manager.welcome()
        if is_busy:  # the first process is there, and a second one is started for the order
            await eventually(lambda: manager.of("agent.ready"))
            manager.run(1, f"touch {tmp_path}/first; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
            await eventually((tmp_path / "first").exists)
        manager.run(7, f"touch {tmp_path}/ran")
        manager.peer.send({"op": "kill", "attempt": 7, "why": "cancelled"})
        await eventually(lambda: [end for end in manager.ends() if end["attempt"] == 7])
        (tmp_path / "go").touch()
        manager.run(8, "exit 5")  # the unit goes on
        await eventually(lambda: [end for end in manager.ends() if end["attempt"] == 8])
        ends = {end["attempt"]: (end["outcome"], end.get("exit_code")) for end in manager.ends()}
        assert (ends[7], ends[8]) == (("killed", None), ("done", 5))
        assert not (tmp_path / "ran").exists()

    played(tmp_path, work)


def test_a_fenced_agent_comes_back_once_nothing_of_it_runs(tmp_path):
    async def work(manager):
        manager.welcome()
        manager.run(1, f"echo $$ > {tmp_path}/pid.part; mv {tmp_path}/pid.part {tmp_path}/pid; exec sleep 1000")
        await eventually((tmp_path / "pid").exists)
        manager.peer.send({"op": "fenced", "why": "its epoch is over"})
        manager.peer.close("fenced")
        await eventually(lambda: len(manager.of("agent.hello")) == 2)
        again = manager.of("agent.hello")[1]
        assert (again["epoch"], again["running"], again["ready"], again["ended"]) == (0, [], [], [])
        assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
        assert not manager.ends()  # whose they are is over
        manager.welcome()
        manager.run(2, "exit 4")
        await eventually(manager.ends)
        assert manager.ends()[0]["exit_code"] == 4

    played(tmp_path, work)


def test_a_limit_does_not_count_the_start_of_a_process(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.live.test_agent.KERNELS", f"import time\ntime.sleep(2.5)\n{KERNELS}")

    async def work(manager):
        manager.welcome()
        manager.run(1, "exit 3", limit_us=2.4e6)
        await eventually(manager.ends)
        assert (manager.ends()[0]["outcome"], manager.ends()[0]["exit_code"]) == ("done", 3)

    played(tmp_path, work)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot adopt orphans")
@pytest.mark.parametrize("how", ["ended", "killed", "its device died"])
def test_what_a_command_starts_in_sessions_of_their_own_ends_with_it(tmp_path, how):
    child = tmp_path / "child"
    inner = f"echo $$ > {child}.part; mv {child}.part {child}; exec sleep 1000"
    script = f"setsid sh -c '{inner}' & echo $PPID > {tmp_path}/device"

    async def work(manager):
        manager.welcome()
        manager.run(1, script if how == "ended" else f"{script}; wait")
        if how != "ended":
            await eventually(child.exists)
        if how == "killed":
            manager.peer.send({"op": "kill", "attempt": 1, "why": "cancelled"})
        elif how == "its device died":
            os.kill(int((tmp_path / "device").read_text()), 9)
        await eventually(manager.ends)
        assert not child.exists() or not os.path.exists(f"/proc/{child.read_text().strip()}")

    played(tmp_path, work)


def test_an_output_that_cannot_be_read_is_said(tmp_path):
    async def work(manager):
        (node_folder(tmp_path, "n0") / "jobs" / "1" / "5.out").mkdir(parents=True)
        for ticket, attempt in ((1, 5), (2, 6)):
            manager.peer.send(
                {"op": "read", "ticket": ticket, "job": 1, "attempt": attempt, "stream": "out", "offset": 0}
            )
        await eventually(lambda: len(manager.of("agent.text")) == 2)
        directory, nothing = manager.of("agent.text")
        assert "directory" in directory["why"]
        assert nothing["data"] == b""

    played(tmp_path, work)


def test_outputs_of_forgotten_jobs_are_removed(tmp_path):
    async def work(manager):
        for job in (1, 2, 3, 9):
            (node_folder(tmp_path, "n0") / "jobs" / str(job)).mkdir(parents=True)
        manager.peer.send({"op": "prune", "kept": [2, 4]})
        left = node_folder(tmp_path, "n0") / "jobs"
        await eventually(lambda: sorted(path.name for path in left.iterdir()) == ["2", "9"])

    played(tmp_path, work)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know starts by the date")
def test_a_process_is_known_by_its_start_whatever_the_date_is(monkeypatch):
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        started = started_at(process.pid)
        monkeypatch.setattr("psutil.Process.create_time", lambda _: pytest.fail("this follows the date"))
        assert is_alive(process.pid, started)
        assert not is_alive(process.pid, started + "0")
        end_group(process.pid, started + "0")
        assert is_alive(process.pid, started)
        assert process.pid in descendants(os.getpid())
        assert not descendants(os.getpid(), frozenset([process.pid]) | frozenset(_others(process.pid)))
        end_group(process.pid, started)
        assert process.wait(30) == -9
        assert started_at(process.pid) is None
    finally:
        process.kill()
        process.wait()


def _others(pid):
    return [one for one in descendants(os.getpid()) if one != pid]


def test_descendants_end_but_those_that_are_spared(tmp_path):
    script = f"sleep 1000 & echo $! > {tmp_path}/a; setsid sleep 1000 & echo $! > {tmp_path}/b"
    script += f"; echo > {tmp_path}/c; wait"
    process = subprocess.Popen(["sh", "-c", script])
    try:
        while not (tmp_path / "c").exists():
            assert process.poll() is None
        spared, other = (int((tmp_path / name).read_text()) for name in "ab")
        end_descendants(process.pid, frozenset([spared]))
        assert not is_alive(other, started_at(other))
        assert is_alive(spared, started_at(spared))
        end_descendants(process.pid)
        assert not is_alive(spared, started_at(spared))
    finally:
        process.kill()
        process.wait()


def test_the_clock_of_a_cluster_goes_on_whatever_the_date_is(monkeypatch):
    first = ClusterClock(clock.time.time() - 100.0)
    kept, before_us = first.keep(), first.now_us()
    for step_s in (-1e6, 1e6):
        monkeypatch.setattr("vinesim.live.clock.time.time", lambda step_s=step_s: 1.7e9 + step_s)
        second = ClusterClock(1.7e9 - 100.0, before_us, kept)
        assert 0.0 <= second.now_us() - before_us < 50e6
    other_boot = ClusterClock(1.7e9 - 100.0, before_us, {**kept, "boot": "another"})
    assert other_boot.now_us() >= 1e12


def outcomes(manager):
    return {end["attempt"]: end["outcome"] for end in manager.ends()}


def until(path):
    return f"while [ ! -e {path} ]; do sleep 0.01; done"


def test_a_process_takes_its_next_order_without_a_word_from_the_manager(tmp_path):
    async def work(manager):
        manager.welcome(ahead=2)
        await eventually(lambda: manager.of("agent.ready"))
        for attempt in (1, 2, 3):
            manager.run(attempt, f"echo {attempt} $PPID >> {tmp_path}/ran; {until(tmp_path / 'go')}")
        await eventually((tmp_path / "ran").exists)
        manager.run(9, "true", unit=0)  # the agent has read the others once it has this
        manager.peer.send({"op": "kill", "attempt": 9, "why": "cancelled"})
        await eventually(lambda: outcomes(manager) == {9: "killed"})
        assert len((tmp_path / "ran").read_text().splitlines()) == 1  # one after another
        (tmp_path / "go").touch()
        await eventually(lambda: len(outcomes(manager)) == 4)
        ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
        assert [attempt for attempt, _ in ran] == ["1", "2", "3"]
        assert len({process for _, process in ran}) == 1
        assert [end["attempt"] for end in manager.ends()] == [9, 1, 2, 3]

    played(tmp_path, work)


def test_an_order_that_waits_is_taken_back_and_what_runs_goes_on(tmp_path):
    async def work(manager):
        manager.welcome(ahead=2)
        await eventually(lambda: manager.of("agent.ready"))
        manager.run(1, f"touch {tmp_path}/first; {until(tmp_path / 'go')}")
        manager.run(2, f"touch {tmp_path}/second")
        manager.run(3, f"touch {tmp_path}/third")
        await eventually((tmp_path / "first").exists)
        manager.peer.send({"op": "kill", "attempt": 2, "why": "cancelled"})
        await eventually(lambda: outcomes(manager) == {2: "killed"})
        (tmp_path / "go").touch()
        await eventually(lambda: outcomes(manager) == {1: "done", 2: "killed", 3: "done"})
        assert not (tmp_path / "second").exists()

    played(tmp_path, work)


def test_what_waits_behind_an_order_that_is_killed_runs_in_another_process(tmp_path):
    async def work(manager):
        manager.welcome(ahead=1)
        await eventually(lambda: manager.of("agent.ready"))
        manager.run(1, f"touch {tmp_path}/first; {until(tmp_path / 'never')}")
        manager.run(2, f"touch {tmp_path}/second")
        await eventually((tmp_path / "first").exists)
        manager.peer.send({"op": "kill", "attempt": 1, "why": "cancelled"})
        await eventually(lambda: outcomes(manager) == {1: "killed", 2: "done"})

    played(tmp_path, work)


def test_an_agent_that_is_fenced_runs_nothing_of_what_waited(tmp_path):
    async def work(manager):
        manager.welcome(ahead=1)
        await eventually(lambda: manager.of("agent.ready"))
        manager.run(1, f"touch {tmp_path}/first; {until(tmp_path / 'never')}")
        manager.run(2, f"touch {tmp_path}/second")
        await eventually((tmp_path / "first").exists)
        manager.peer.send({"op": "fenced", "why": "its epoch is over"})
        manager.peer.close("fenced")
        await eventually(lambda: len(manager.of("agent.hello")) == 2)
        assert manager.of("agent.hello")[1]["running"] == []
        assert outcomes(manager) == {}
        assert not (tmp_path / "second").exists()

    played(tmp_path, work)


def test_an_agent_that_comes_back_says_what_waits_too(tmp_path):
    async def work(manager):
        manager.welcome(ahead=1)
        await eventually(lambda: manager.of("agent.ready"))
        manager.run(1, f"touch {tmp_path}/first; {until(tmp_path / 'go')}")
        manager.run(2, "true")
        await eventually((tmp_path / "first").exists)
        manager.peer.close("lost")
        await eventually(lambda: len(manager.of("agent.hello")) == 2)
        assert [one["attempt"] for one in manager.of("agent.hello")[1]["running"]] == [1, 2]
        manager.welcome(ahead=1)
        (tmp_path / "go").touch()
        await eventually(lambda: outcomes(manager) == {1: "done", 2: "done"})

    played(tmp_path, work)


def test_ends_that_come_together_are_reported_together(tmp_path):
    said = []

    async def inside():
        one = Agent("n0", "", 0, b"", tmp_path)
        one._say = said.append
        device = Device(0, "CPU", Family(tmp_path), one._from_device)
        device.orders.extend([{"op": "run", "attempt": attempt} for attempt in (1, 2, 3)])
        ends = [{"op": "ended", "attempt": attempt, "outcome": "raised", "why": "x"} for attempt in (1, 2)]
        device._receive(ends)
        device._receive([{"op": "alive"}])
        device._receive([{"op": "ended", "attempt": 3, "outcome": "raised", "why": "x"}])

    asyncio.run(inside())
    assert [[end["attempt"] for end in message["ends"]] for message in said] == [[1, 2], [3]]
