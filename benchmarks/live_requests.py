"""A request to a live cluster compared with a bare call of a Ray actor, and the memory of the manager over many
requests: ``python -m benchmarks.live_requests [--calls N] [--seconds S]``.

Both calls carry the same small payload to a process that returns it. Blocks of both alternate, so that the load of the
machine is the same for both.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import ray

from benchmarks.live_truth.__main__ import live
from benchmarks.machine import description
from benchmarks.report import Table, figure
from vinesim.live.client import ApplicationClient, Session, connect

CLUSTER = """
processor_types: [{name: CPU}]
task_types: [ECHO]
affinity: {times: {CPU: {ECHO: 1 ms}}}
applications: [{name: ECHO, relative_deadline: 1 s, max_consolidated: 16}]
kernels: kernels.py
nodes: [{name: n0, units: {CPU: 2}}, {name: n1, units: {CPU: 2}}, {name: n2, units: {CPU: 2}}]
policy: fcfs
options: {consolidate: true}
lease: 60 s
"""
KERNELS = """
from vinesim.live.kernels import kernel


@kernel("echo")
def echo(payloads):
    return payloads
"""
BLOCK, OUTSTANDING, SAMPLES = 50, 64, 10


class Echo:
    """The bare actor."""

    async def call(self, payload: int) -> int:
        """Return the payload."""
        return payload


async def latencies(mine: ApplicationClient, actor: Any, n: int) -> dict[str, np.ndarray]:
    """Return the times of n calls of each kind, ms, one outstanding at a time."""
    found: dict[str, list[float]] = {"request": [], "actor": []}
    for _ in range(n // BLOCK):
        for kind, times in found.items():
            for i in range(BLOCK):
                begin_s = time.perf_counter()
                await (mine.request(i, 1.0) if kind == "request" else actor.call.remote(i))
                times.append((time.perf_counter() - begin_s) * 1e3)
    return {kind: np.array(times) for kind, times in found.items()}


async def memory(mine: ApplicationClient, manager: psutil.Process, seconds: float) -> list[tuple[int, float]]:
    """Send requests for some time, 64 outstanding. Returns how many were answered by then, and the manager's memory in
    MB, several times."""
    n, found, end_s = 0, [], time.monotonic() + seconds
    sample_s = time.monotonic()

    async def work() -> None:
        nonlocal n
        while time.monotonic() < end_s:
            await mine.request(n, 1.0)
            n += 1

    workers = [asyncio.ensure_future(work()) for _ in range(OUTSTANDING)]
    while not all(worker.done() for worker in workers):
        if time.monotonic() >= sample_s:
            found.append((n, manager.memory_info().rss / 1e6))
            sample_s += seconds / SAMPLES
        await asyncio.sleep(0.1)
    return [*found, (n, manager.memory_info().rss / 1e6)]


async def measured(folder: Path, actor: Any, calls: int, seconds: float) -> tuple[Any, Any]:
    manager = psutil.Process(json.loads((folder / "address.json").read_text())["pid"])
    session: Session
    async with connect(folder) as session:
        mine = session.application("ECHO")
        await latencies(mine, actor, BLOCK)  # warm
        return await latencies(mine, actor, calls), await memory(mine, manager, seconds)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    given = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with tempfile.TemporaryDirectory(prefix="vinesim-requests-") as name:
        place, folder = Path(name), Path(name) / "state"
        (place / "cluster.yaml").write_text(CLUSTER)
        (place / "kernels.py").write_text(KERNELS)
        live("start", str(place / "cluster.yaml"), "--folder", str(folder), "--wait", "300")
        try:
            ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
            actor = ray.remote(num_cpus=0)(Echo).remote()
            times, sizes = asyncio.run(measured(folder, actor, given.calls, given.seconds))
        finally:
            ray.shutdown()
            live("stop", "--folder", str(folder))
    rows = [
        [words, *(figure(float(np.percentile(times[kind], q))) for q in (50, 99))]
        for kind, words in (("request", "request, answered"), ("actor", "bare call of a Ray actor"))
    ]
    ratio = np.median(times["request"]) / np.median(times["actor"])
    note = f"One outstanding, {len(times['actor']):,} of each. Medians: {figure(float(ratio))} x."
    print(Table("Time of a call, ms", ["", "p50", "p99"], rows, note).markdown())
    print()
    grown = [[f"{n:,}", figure(mb)] for n, mb in sizes]
    note = f"{OUTSTANDING} outstanding, {given.seconds:g} s."
    print(Table("Memory of the manager", ["requests answered", "MB"], grown, note).markdown())
    print(description())


if __name__ == "__main__":
    main()
