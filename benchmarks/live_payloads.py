"""What a payload costs on its way through a live cluster: ``python -m benchmarks.live_payloads [--calls N]``.

A kernel returns the payload's size. One request is outstanding at a time. Next to it the same bytes go through a local
socket and are confirmed, which is what one hop takes at least. Manager and agent run without Ray, which carries no
requests.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import description
from benchmarks.report import Table, figure
from vinesim.live.client import Session, connect
from vinesim.live.folder import prepare

CLUSTER = """
processor_types: [{name: CPU}]
task_types: [SIZE]
affinity: {times: {CPU: {SIZE: 1 ms}}}
applications: [{name: SIZE, relative_deadline: 1 s}]
kernels: kernels.py
nodes: [{name: n0, units: {CPU: 1}}]
policy: fcfs
engine: reference
"""
KERNELS = """
from vinesim.live.kernels import kernel


@kernel("size")
def size(payloads):
    return [len(one) for one in payloads]
"""
SIZES = (("1 KiB", 2**10), ("64 KiB", 2**16), ("256 KiB", 2**18), ("1 MiB", 2**20), ("4 MiB", 2**22))


async def requests(folder: Path, n: int) -> dict[str, list[np.ndarray]]:
    """The times of n requests of each size, ms: bytes, and arrays."""
    found: dict[str, list[np.ndarray]] = {"bytes": [], "array": []}
    session: Session
    async with connect(folder) as session:
        while (await session.call("client.status"))["nodes"][0]["state"] != "up":
            await asyncio.sleep(0.05)
        mine = session.application("SIZE")
        for _, size in SIZES:
            for kind, payload in (("bytes", b"x" * size), ("array", np.zeros(size // 8))):
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


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vinesim-payloads-") as name:
        place, folder = Path(name), Path(name) / "state"
        (place / "cluster.yaml").write_text(CLUSTER)
        (place / "kernels.py").write_text(KERNELS)
        prepare(folder, place / "cluster.yaml")
        programs: list[subprocess.Popen[Any]] = []
        try:
            for words in (["manager", str(folder)], ["agent", str(folder), "n0"]):
                command = [sys.executable, "-m", "vinesim.live.serve", *words]
                programs.append(subprocess.Popen(command, start_new_session=True))
                while not (folder / "address.json").exists():
                    time.sleep(0.05)
            times = asyncio.run(requests(folder, given.calls))
        finally:
            for program in programs:
                os.kill(program.pid, signal.SIGKILL)
                program.wait()
    columns = [times["bytes"], times["array"], hops(given.calls)]
    rows = [
        [name, *(" / ".join(figure(float(np.percentile(of[i], q))) for q in (50, 99)) for of in columns)]
        for i, (name, _) in enumerate(SIZES)
    ]
    print(Table("ms, p50 / p99", ["payload", "request, bytes", "request, array", "one hop"], rows).markdown())
    print(description())


if __name__ == "__main__":
    main()
