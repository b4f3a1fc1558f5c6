"""Clusters for tests: a core with a clock that the test moves, and real processes without Ray."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from vinesim.live.engine import component
from vinesim.live.folder import cluster_in, prepare
from vinesim.live.journal import Journal
from vinesim.live.manager.core import Core
from vinesim.live.manager.status import status_of
from vinesim.live.wire.contents import parts_of, value_of

CLUSTER = """
processor_types: [{name: CPU, capacity: 2}, {name: ACC}]
task_types: [ECHO, COMMAND]
affinity: {times: {CPU: {ECHO: 2 ms, COMMAND: 1 us}, ACC: {ECHO: 1 ms}}}
applications: [{name: ECHO, relative_deadline: 50 ms, average_load: 100, max_consolidated: 8}]
kernels: kernels.py
nodes: [{name: n0, units: {ACC: 1, CPU: 1}}, {name: n1, units: {CPU: 1}}]
policy: fcfs
engine: reference
lease: 1 s
grace: 0.5 s
limits: {payload: 64 KiB, pending: 50, kernel: 20 s}
"""
KERNELS = '''
import os, time
import numpy as np
from vinesim.live.kernels import kernel

@kernel("echo")
def echo(payloads):
    return [work(one) for one in payloads]

def work(one):
    """What a payload asks for: a pair of a verb and its argument."""
    verb, argument = one if isinstance(one, list) else ("say", one)
    if verb == "note":  # say in a file that it ran, and where
        with open(argument, "a") as file:
            file.write(f"{os.getpid()}\\n")
    elif verb == "wait_for":  # until a file is there, and say so before
        with open(argument + ".started", "a") as file:
            file.write(f"{os.getpid()}\\n")
        while not os.path.exists(argument):
            time.sleep(0.01)
    elif verb == "last":  # say in a file when it begins and when it ends, and compute meanwhile
        path, number, seconds = argument
        for word in ("begins", "ends"):
            with open(path, "a") as file:
                file.write(f"{number} {word}\\n")
            time.sleep(seconds * (word == "begins"))
    elif verb == "raise":
        raise ValueError(argument)
    elif verb == "one_fails":
        return ValueError(argument)
    elif verb == "big":
        return b"x" * argument
    elif verb == "die":
        os._exit(3)
    elif verb == "exit":
        raise SystemExit(argument)
    elif verb == "odd":
        return ODD[argument]
    elif verb == "bad_words":
        raise BadWords
    elif verb == "surrogates":
        raise ValueError(chr(0xD800) + chr(0))
    return argument

class BadWords(Exception):
    def __str__(self):
        raise RuntimeError

deep = []
for _ in range(2_000):
    deep = [deep]
ODD = {
    "tuple keys": {("a", 1): 2}, "bytes keys": {b"a": 1}, "set": {1}, "object": object(), "big": 2**70,
    "surrogate": chr(0xD800), "deep": deep, "objects": np.array([object()]), "nan": float("nan"),
}
'''
PATIENCE_S = 60.0


def write_files(folder: Path, text: str = CLUSTER) -> Path:
    """Write the cluster file and its kernels. Returns the former."""
    (folder / "kernels.py").write_text(KERNELS)
    path = folder / "cluster.yaml"
    path.write_text(text)
    return path


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.us = 1e6

    def now_us(self) -> float:
        return self.us


class CoreTest:
    """A manager's core with its clock and the messages that it has sent. Peers are plain text."""

    def __init__(self, folder: Path, text: str = CLUSTER):
        self._folder, self._state = folder, folder / "state"
        if not (self._state / "token").exists():
            prepare(self._state, write_files(folder, text))
        self.clock, self._n = HandClock(), 1000
        self.begin()

    def begin(self) -> None:
        """Start the manager, or restart it after a crash."""
        cluster = cluster_in(self._state)
        journal = Journal(self._state / "journal")
        self.core = Core(cluster, component(cluster), journal, self.clock, self._state)
        weakref.finalize(self.core, journal._db.close)  # without a commit, as in a crash
        self.turn()

    def turn(self, *messages: tuple[str, dict[str, Any]], after_us: float = 1e3) -> list[tuple[str, dict[str, Any]]]:
        """Move the clock, deliver messages, and return what the core sends."""
        self.clock.us += after_us
        sent = self.core.turn(messages)
        self.core.journal.commit()
        return sent

    def agent(self, node: str, epoch: int = 0, **more: Any) -> list[tuple[str, dict[str, Any]]]:
        """Send an agent's hello from the peer with the node's name."""
        hello = {"op": "agent.hello", "node": node, "epoch": epoch, "ready": [0, 1, 2], **more}
        return self.turn((node, hello))

    def client(self, name: str = "c") -> None:
        self.turn((name, {"op": "client.hello", "n": 0, "id": name}))

    def request(self, key: str = "1", payload: Any = None, peer: str = "c") -> list[tuple[str, dict[str, Any]]]:
        message = {"op": "client.request", "key": key, "application": "ECHO", "size": 1.0, "payload": content(payload)}
        return self.turn((peer, message))

    def submit(self, key: str | None = None, peer: str = "c", **job: Any) -> list[tuple[str, dict[str, Any]]]:
        self._n += 1
        job = {"task_type": "COMMAND", "commands": {"*": ["true"]}, "expected_us": 1e6, **job}
        return self.turn((peer, {"op": "job.submit", "n": self._n, "key": key, "job": job}))

    def end(self, node: str, attempt: int, epoch: int = 1, **end: Any) -> list[tuple[str, dict[str, Any]]]:
        """Send the end of an attempt: of a request with the result 7, of a command with an exit code, or as given."""
        results = [] if {"exit_code", "outcome"} & set(end) else [{"result": content(7)}]
        end = {"outcome": "done", "results": results, "execution_us": 500.0, **end}
        message = {"op": "agent.ended", "ends": [{"attempt": attempt, "epoch": epoch, **end}]}
        return self.turn((node, message))

    def status(self) -> dict[str, Any]:
        return status_of(self.core)

    def job(self, number: int) -> dict[str, Any]:
        return dict(self.core.journal.one("SELECT * FROM jobs WHERE id = ?", number))


def content(value: Any) -> bytes:
    """Return a payload or a result as bytes."""
    return b"".join(parts_of(value))


def result_of(answer: dict[str, Any]) -> Any:
    """Return the result in an answer."""
    return value_of(answer["result"])


def only(sent: list[tuple[str, dict[str, Any]]], op: str) -> dict[str, Any]:
    """Return the only message with an ``op``."""
    (found,) = every(sent, op)
    return found


def every(sent: list[tuple[str, dict[str, Any]]], op: str) -> list[dict[str, Any]]:
    return [message for _, message in sent if message["op"] == op]


class Processes:
    """A manager and agents as processes, without Ray; the test starts and ends them."""

    def __init__(self, folder: Path, text: str = CLUSTER):
        self.folder = folder / "state"
        prepare(self.folder, write_files(folder, text))
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Start ``manager`` or the agents of nodes."""
        for name in names:
            words = ["manager", str(self.folder)] if name == "manager" else ["agent", str(self.folder), name]
            command = [sys.executable, "-m", "vinesim.live.serve", *words]
            self._running[name] = subprocess.Popen(command, start_new_session=True)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a process; after SIGKILL wait for its end."""
        process = self._running[name]
        os.kill(process.pid, number)
        if number == signal.SIGKILL:
            process.wait(PATIENCE_S)

    def has_ended(self, name: str) -> bool:
        """Whether a process has ended by itself."""
        return self._running[name].poll() is not None

    def devices(self, node: str) -> list[int]:
        """Return the ids of a node's live processes."""
        found = []
        for path in (self.folder / "nodes" / node).glob("process-*.json"):
            pid = int(path.stem.partition("-")[2])
            if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        return [pid for pid in found if pid != self._running[node].pid]

    def end(self) -> None:
        """End everything that was started."""
        for process in self._running.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE_S)
        nodes = [name for name in self._running if name != "manager"]
        until(lambda: not any(self.devices(node) for node in nodes))


@contextmanager
def processes(folder: Path, *names: str, text: str = CLUSTER) -> Any:
    """Yield processes that end with the block."""
    cluster = Processes(folder, text)
    try:
        cluster.start(*names)
        until((cluster.folder / "address.json").exists)
        yield cluster
    finally:
        cluster.end()


def until(condition: Callable[[], Any]) -> Any:
    """Wait until a condition holds, and return its value."""
    end_s = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.01)
    return value


async def eventually(condition: Callable[[], Any]) -> Any:
    """Return a function that waits as :func:`until` does while the event loop continues."""
    end_s = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < end_s, "it did not happen"
        await asyncio.sleep(0.01)
    return value
