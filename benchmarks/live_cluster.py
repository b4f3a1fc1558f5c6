"""A cluster of one node for measurements: manager and agent as programs of this machine, without Ray, which carries no
requests."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from vinesim.live.client import Session, connect
from vinesim.live.folder import prepare


@contextmanager
def one_node(cluster: str, kernels: str, program: str = "vinesim.live.serve") -> Iterator[Path]:
    """A cluster that ends with the block; ``program`` serves it. Yields its folder."""
    with tempfile.TemporaryDirectory(prefix="vinesim-live-") as name:
        place, folder = Path(name), Path(name) / "state"
        (place / "cluster.yaml").write_text(cluster)
        (place / "kernels.py").write_text(kernels)
        prepare(folder, place / "cluster.yaml")
        programs: list[subprocess.Popen[bytes]] = []
        try:
            for words in (["manager", str(folder)], ["agent", str(folder), "n0"]):
                programs.append(subprocess.Popen([sys.executable, "-m", program, *words], start_new_session=True))
                while not (folder / "address.json").exists():
                    time.sleep(0.05)
            yield folder
        finally:
            for one in programs:
                os.kill(one.pid, signal.SIGKILL)
                one.wait()


async def is_up(session: Session) -> None:
    """Wait until the node can take work."""
    while (await session.call("client.status"))["nodes"][0]["state"] != "up":
        await asyncio.sleep(0.05)


async def stopped(folder: Path) -> None:
    """Stop the cluster once nothing runs, and wait until its manager has closed the journal."""
    manager = psutil.Process(json.loads((folder / "address.json").read_text())["pid"])
    session: Session
    async with connect(folder) as session:
        while (await session.call("client.status"))["n_running"]:  # a device answers before the manager knows
            await asyncio.sleep(0.01)
        await session.call("client.stop")
        while manager.status() != psutil.STATUS_ZOMBIE:  # a child of this process
            await asyncio.sleep(0.01)
