"""Measurements of the path to a device: a cluster of one node, whose kernels compute for 0.3 ms on the CPU."""

import asyncio
import os
import socket
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.gpu.stages import NOTED, NOTES, table
from benchmarks.live_cluster import is_up, one_node
from vinesim.live.client import Session, connect
from vinesim.live.clock import lease_clock_us
from vinesim.live.folder import JOURNAL

KERNEL_US = 300.0
FIRST = 50  # requests before several are under way
PROGRAMS = {  # a word by which each is known
    "client": "",
    "manager": "manager",
    "agent": "agent",
    "device": "vinesim.live.agent.device_process",
}
WARM = 20  # requests before those that count
CLUSTER = """
processor_types: [{name: GPU, ahead: 0}]
task_types: [WORK, SIZE]
affinity: {times: {GPU: {WORK: 0.3 ms, SIZE: 1 us}}}
applications: [{name: WORK, relative_deadline: 1 s}, {name: SIZE, relative_deadline: 1 s}]
kernels: kernels.py
nodes: [{name: n0, units: {GPU: 1}}]
policy: fcfs
limits: {payload: 64 MiB}
"""
KERNELS = """
import hashlib
import os
import time

from vinesim.live.kernels import kernel, prepare

if os.environ.get("VINESIM_STAGES"):
    from benchmarks.gpu.stages import NOTED, device_noted

    device_noted()
    note = NOTED.note
else:
    note = len
DATA = bytes(2**20)


def compute(n):
    hashlib.blake2b(memoryview(DATA)[:n])  # another thread can run meanwhile, as during a kernel of a GPU


@prepare
def calibrate():
    global N
    took = []
    for _ in range(20):
        begin = time.perf_counter()
        compute(2**20)
        took.append(time.perf_counter() - begin)
    N = min(2**20, int(2**20 * 300e-6 / sorted(took)[5]))


@kernel("work")
def work(payloads):
    note("kernel")
    for _ in payloads:
        compute(N)
    note("device")
    return [0 for _ in payloads]


@kernel("size")
def size(payloads):
    return [one.nbytes if hasattr(one, "nbytes") else len(one) for one in payloads]
"""
NOTHING = KERNELS.replace("compute(N)", "pass")
WAITS = KERNELS.replace("compute(N)", "time.sleep(240e-6)")  # the timer of the operating system adds some 60 us
SIZES = (("1 KiB", 2**10), ("64 KiB", 2**16), ("256 KiB", 2**18), ("1 MiB", 2**20), ("4 MiB", 2**22))


def stages(n: int) -> tuple[dict[str, float], float]:
    """The stages of small requests, one after the other, in us; and a whole request without notes, beyond its kernel,
    us, the median."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "notes"
        os.environ[NOTES] = str(path)
        try:
            with one_node(CLUSTER, KERNELS, "benchmarks.gpu.noted") as folder:
                windows = asyncio.run(_small(folder, n, is_noted=True))
        finally:
            del os.environ[NOTES]
        path.open("a").write("".join(NOTED._lines))
        found = table(path, windows)
    with one_node(CLUSTER, KERNELS) as folder:
        times = asyncio.run(_small(folder, n, is_noted=False))
        kernel_us = np.median(_executions(folder, len(times) + WARM))
    return found, float(np.median([end - begin for begin, end in times]) - kernel_us)


async def _small(folder: Path, n: int, is_noted: bool) -> list[tuple[float, float]]:
    windows = []
    session: Session
    async with connect(folder) as session:
        await is_up(session)
        mine = session.application("WORK")
        for i in range(n + WARM):
            begin_us = lease_clock_us()
            if is_noted:
                NOTED.note("client")
            answer = asyncio.ensure_future(mine.request(i))
            await asyncio.sleep(0)
            if is_noted:
                NOTED.note("to manager")
            await answer
            windows.append((begin_us, lease_clock_us()))
    return windows[WARM:]


def _executions(folder: Path, n: int) -> list[float]:
    """The times of n kernels, us, once the journal has them: it writes behind the answers."""
    found: list[float] = []
    while len(found) < n:
        time.sleep(0.01)
        with sqlite3.connect(folder / JOURNAL) as journal:
            found = [row[0] for row in journal.execute("SELECT execution_us FROM requests ORDER BY id")]
    return found


def busy(n: int, n_under_way: int, ahead: int = 0, kernels: str = KERNELS) -> tuple[float, float, dict[str, float]]:
    """The share of time in which the unit computes, requests a second, and the CPU time that each program takes for a
    request, us, with ``n_under_way`` requests under way; the unit takes requests ahead."""
    with one_node(CLUSTER.replace("ahead: 0", f"ahead: {ahead}"), kernels) as folder:
        wall_s, spent_us = asyncio.run(_many(folder, n, n_under_way))
        computed_s = sum(_executions(folder, n + FIRST)[FIRST:]) / 1e6
    return computed_s / wall_s, n / wall_s, spent_us


def most_busy(spent_us: dict[str, float], n_cores: int) -> float:
    """The largest share of time in which a unit can compute whose kernel holds one core: the other programs have the
    other cores."""
    others_us = sum(us for name, us in spent_us.items() if name != "device")
    return min(1.0, (n_cores - 1) * KERNEL_US / others_us)


async def _many(folder: Path, n: int, n_under_way: int) -> tuple[float, dict[str, float]]:
    """Send requests, some of them under way at a time. Returns the time, s, and the CPU time of a request, us."""
    session: Session
    async with connect(folder) as session:
        await is_up(session)
        mine = session.application("WORK")
        left = iter(range(n))

        async def one_after_another() -> None:
            for i in left:
                await mine.request(i)

        for i in range(FIRST):
            await mine.request(i)
        begin_s, before_us = time.perf_counter(), _cpu_us()
        await asyncio.gather(*(one_after_another() for _ in range(n_under_way)))
        wall_s, after_us = time.perf_counter() - begin_s, _cpu_us()
    return wall_s, {name: (after_us[name] - before_us[name]) / n for name in PROGRAMS}


def _cpu_us() -> dict[str, float]:
    """The CPU time of each program of the cluster so far, us; this process is the client."""
    found = dict.fromkeys(PROGRAMS, 0.0)
    for one in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        words, times = one.cmdline(), one.cpu_times()
        name = next((name for name, word in PROGRAMS.items() if word in words), "client")
        found[name] += 1e6 * (times.user + times.system)
    return found


def payloads(n: int) -> dict[str, list[np.ndarray]]:
    """The times of n requests of each size, ms: bytes, and arrays."""
    with one_node(CLUSTER, KERNELS) as folder:
        return asyncio.run(_payloads(folder, n))


async def _payloads(folder: Path, n: int) -> dict[str, list[np.ndarray]]:
    found: dict[str, list[np.ndarray]] = {"bytes": [], "array": []}
    session: Session
    async with connect(folder) as session:
        await is_up(session)
        mine = session.application("SIZE")
        for _, size in SIZES:
            given: dict[str, Any] = {"bytes": b"x" * size, "array": np.zeros(size // 8)}
            for kind, payload in given.items():
                times = []
                for _ in range(n + 3):
                    begin_s = time.perf_counter()
                    await mine.request(payload)
                    times.append((time.perf_counter() - begin_s) * 1e3)
                found[kind].append(np.array(times[3:]))
    return found


def hops(n: int) -> list[np.ndarray]:
    """The times of n hops of each size through a local socket, ms."""
    ours, theirs = socket.socketpair()

    def confirm() -> None:
        for _, size in SIZES:
            for _ in range(n):
                left = size
                while left:
                    left -= len(theirs.recv(min(left, 2**18)))
                theirs.send(b"1")

    threading.Thread(target=confirm, daemon=True).start()
    found = []
    for _, size in SIZES:
        data, times = b"x" * size, []
        for _ in range(n):
            begin_s = time.perf_counter()
            ours.sendall(data)
            ours.recv(1)
            times.append((time.perf_counter() - begin_s) * 1e3)
        found.append(np.array(times))
    return found
