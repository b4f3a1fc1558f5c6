"""Four real kernels on a live cluster of one GPU: what a request takes beyond its kernel, how much the GPU computes
with 16 requests under way, and what arrays cost that go to the GPU."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import path
from benchmarks.live_cluster import is_up, one_node
from benchmarks.report import Table, Target, figure
from vinesim.live.client import LiveError, Session, connect
from vinesim.live.folder import JOURNAL
from vinesim.live.kernels import load, payload_for, source_of

CLUSTER = """
processor_types: [{name: GPU, ahead: 4}]
task_types: [SEARCH, OPTION, SQL, VIDEO, TAKE]
affinity: {times: {GPU: {SEARCH: 0.3 ms, OPTION: 0.2 ms, SQL: 1.5 ms, VIDEO: 0.2 ms, TAKE: 0.1 ms}}}
applications:
  - {name: SEARCH, relative_deadline: 60 s}
  - {name: OPTION, relative_deadline: 60 s}
  - {name: SQL, relative_deadline: 60 s}
  - {name: VIDEO, relative_deadline: 60 s}
  - {name: TAKE, relative_deadline: 60 s}
kernels: kernels.py
nodes: [{name: n0, units: {GPU: 1}}]
policy: fcfs
limits: {payload: 64 MiB}
"""
KERNELS = Path(__file__).parent / "served" / "kernels.py"
NAMES = {"SEARCH": "search", "OPTION": "option", "SQL": "transformer, 256 KiB", "VIDEO": "video"}
SIZES = {"256 KiB": 2**18, "4 MiB": 2**22}
UNDER_WAY = 16
TIMES = 6  # as many requests with several under way


def section(quick: bool, gpu: str) -> tuple[list[Table], list[Target]]:
    """Measure it."""
    n = 48 if quick else 320
    with one_node(CLUSTER, kernels()) as folder:
        served = Served(folder)
        asyncio.run(served.all(n))
    rows = []
    for name, words in NAMES.items():
        alone, (busy, rate) = served.alone[name], served.together[name]
        beyond_ms, kernel_ms = (np.percentile(of, (50, 99)) for of in alone)
        cells = figure(kernel_ms[0]), *map(figure, beyond_ms), figure(rate), figure(100 * busy)
        rows.append([words, *cells])
    hop_ms = {size: float(np.median(of)) for (size, _), of in zip(path.SIZES, path.hops(20), strict=True)}
    for size in SIZES:
        beyond_ms, kernel_ms = (np.percentile(of, (50, 99)) for of in served.alone[size])
        rows.append([f"array of {size}", figure(kernel_ms[0]), *map(figure, beyond_ms), "-", "-"])
    columns = [
        "kernel",
        "kernel, p50, ms",
        "beyond it, p50, ms",
        "p99, ms",
        f"requests a second, {UNDER_WAY} under way",
        "the device computes, %",
    ]
    note = (
        f"A cluster of one node with one unit, `fcfs`, `ahead: 4`, no consolidation; {n:,} requests one after the "
        f"other, {TIMES} times as many with {UNDER_WAY} under way. Of {served.n_sent:,} requests, {served.n_lost} "
        f"were lost, and {served.n_doubled} were started twice."
    )
    beyond = {name: float(np.median(found[0])) for name, found in served.alone.items()}
    targets = [
        Target(f"{name}, beyond its kernel", beyond[of], 0.4, 0.2, " ms", less_is_better=True)
        for name, of in (("search", "SEARCH"), ("option", "OPTION"), ("video", "VIDEO"))
    ]
    for size, most in (("256 KiB", 0.6), ("4 MiB", 5.0)):
        name = f"array of {size} to the GPU, beyond its kernel"
        targets.append(Target(name, beyond[size], most, 2 * hop_ms[size], " ms", less_is_better=True))
    busy = 100 * served.together["SEARCH"][0]
    targets.append(Target("share of time that the GPU computes, search, 16 under way", busy, 85.0, 95.0, " %"))
    lost = float(served.n_lost + served.n_doubled)
    targets.append(Target("requests lost or started twice", lost, 0.0, None, "", less_is_better=True))
    return [Table(f"Real kernels on one {gpu}", columns, rows, note)], targets


def kernels() -> str:
    """Load the kernels here too, because they make the payloads; return their text."""
    source = source_of(str(KERNELS))
    load(source, KERNELS.parent)
    return source["text"]


class Served:
    """What a cluster answered, and how fast."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.n_sent = self.n_failed = self.n_lost = self.n_doubled = 0
        self.alone: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # by kernel: beyond it, and the kernel, ms each
        self.together: dict[str, tuple[float, float]] = {}  # by kernel: share of time, requests a second

    async def all(self, n: int) -> None:
        """Send all requests, by kernel: one after the other, and then several under way."""
        random = np.random.default_rng(5)
        session: Session
        async with connect(self._folder) as session:
            await is_up(session)
            for name in NAMES:
                mine = session.application(name)
                payloads = [payload_for(name.lower(), 1.0, random) for _ in range(UNDER_WAY)]
                await self._send(mine, payloads, 1)
                self.alone[name] = await self._beyond(mine, payloads * (n // UNDER_WAY))
                payloads *= TIMES * n // UNDER_WAY
                begun_s = time.perf_counter()
                await self._send(mine, payloads, UNDER_WAY)
                wall_s = time.perf_counter() - begun_s
                computed_ms = float(np.sum(await self._executions(len(payloads))))
                self.together[name] = computed_ms / 1e3 / wall_s, len(payloads) / wall_s
            mine = session.application("TAKE")
            for size, n_bytes in SIZES.items():
                array = np.ones(n_bytes // 4, np.float32)
                await self._send(mine, [array] * UNDER_WAY, 1)
                self.alone[size] = await self._beyond(mine, [array] * min(n, 100))
        await self._executions(1)  # the journal has all
        answered = self._count("outcome = 'done'")
        self.n_lost = max(self.n_failed, self.n_sent - answered)
        self.n_doubled = self._count("n_attempts > 1") + max(0, answered - self.n_sent)

    async def _beyond(self, mine: Any, payloads: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """What each request takes beyond its kernel, and the kernel, ms."""
        times_ms = await self._send(mine, payloads, 1)
        kernel_ms = await self._executions(len(payloads))
        return np.array(times_ms) - kernel_ms, kernel_ms

    async def _send(self, mine: Any, payloads: list[Any], n_under_way: int) -> list[float]:
        """Send requests, some of them under way at a time; return how long each took, ms."""
        left, times_ms = iter(payloads), []

        async def one_after_another() -> None:
            for one in left:
                begun_s = time.perf_counter()
                try:
                    await mine.request(one)
                except LiveError:
                    self.n_failed += 1
                times_ms.append(1e3 * (time.perf_counter() - begun_s))

        await asyncio.gather(*(one_after_another() for _ in range(n_under_way)))
        self.n_sent += len(payloads)
        return times_ms

    async def _executions(self, n: int) -> np.ndarray:
        """The times of the last kernels, ms, in the order of their requests."""
        end_s = time.monotonic() + 5
        while self._count("TRUE") < self.n_sent and time.monotonic() < end_s:
            await asyncio.sleep(0.02)  # the journal writes behind the answers
        rows = self._rows(f"SELECT execution_us FROM requests ORDER BY id DESC LIMIT {n}")
        return np.array([row[0] for row in rows[::-1]], np.float64) / 1e3

    def _count(self, condition: str) -> int:
        return int(self._rows(f"SELECT count(*) FROM requests WHERE {condition}")[0][0])

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self._folder / JOURNAL)) as journal:
            return journal.execute(query).fetchall()
