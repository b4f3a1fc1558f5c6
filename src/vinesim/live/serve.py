"""The programs of a cluster: ``python -m vinesim.live.serve manager FOLDER`` and ``... agent FOLDER NODE``."""

import asyncio
import gc
import logging
import os
import sys
import time
from pathlib import Path

from vinesim.live.address import Address, read_token, write_place
from vinesim.live.agent.agent import Agent
from vinesim.live.clock import ClusterClock
from vinesim.live.engine import component
from vinesim.live.folder import JOURNAL, cluster_in, node_folder
from vinesim.live.journal import Journal
from vinesim.live.logs import log_to
from vinesim.live.manager.core import Core
from vinesim.live.manager.metrics import MetricsPort
from vinesim.live.manager.server import Server
from vinesim.live.running import alone

log = logging.getLogger("vinesim.live.serve")  # also as a program
NO_MANAGER_S = 0.1
FAILED = 70  # exit code of a manager whose turn raised
YOUNG = 10_000  # objects that are made before the garbage collector looks at them: most are gone by then


async def manager(folder: Path) -> None:
    """Serve the cluster of a folder until it is stopped. When its nodes change, it begins again from the journal."""
    with alone(folder / "manager.lock", "a manager"):  # before the journal is opened: a second one would change it
        while not await _is_over(folder):
            log.info("nodes have changed")


async def _is_over(folder: Path) -> bool:
    """Serve the cluster as its file is now; return whether it was stopped, not changed. It listens where it did before,
    if it has been started."""
    cluster, token = cluster_in(folder), read_token(folder)
    journal = Journal(folder / JOURNAL)
    started_s = journal.get("started_s")
    if started_s is None:
        started_s = time.time()
        journal.set("started_s", started_s)
    clock = ClusterClock(started_s, journal.latest_us(), journal.get("clock"))
    journal.set("clock", clock.keep())
    core = Core(cluster, component(cluster), journal, clock, folder)
    stop = asyncio.Event()
    server = Server(core, token, stop.set)
    server.failed.add_done_callback(lambda _: stop.set())
    await server.start(cluster.host, int(journal.get("port", 0)))
    metrics = MetricsPort(core, token)
    await metrics.start(cluster.host, int(journal.get("metrics_port", 0)))
    for name, port in (("port", server.port), ("metrics_port", metrics.port)):
        if journal.get(name) != port:
            journal.set(name, port)  # so that agents and clients find the next manager
    journal.commit()
    write_place(folder, cluster.host, server.port, metrics.port)
    _collect_less()
    log.info("manager up", extra={"pid": os.getpid(), "port": server.port})
    await stop.wait()
    if server.failed.done():
        os._exit(FAILED)  # what this turn has written is not kept
    metrics.close()
    await server.close()
    if core.is_stopping:
        log.info("manager stopped", extra={"pid": os.getpid()})
    return core.is_stopping


async def agent(folder: Path, node: str) -> None:
    """Serve a node until the cluster is stopped."""
    address = Address.in_folder(folder)
    while True:
        try:
            host, port, token = address.read()
            break
        except OSError:
            await asyncio.sleep(NO_MANAGER_S)  # the manager is not up yet
    _collect_less()
    await Agent(node, host, port, token, node_folder(folder, node)).run()


def _collect_less() -> None:
    """Let the garbage collector pass over what is there now, such as all modules: a look at it would stop the program
    for tens of milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


def main(words: list[str]) -> None:
    """Run one of the programs."""
    program, folder = words[0], Path(words[1])
    if program == "manager":
        log_to(folder / "logs" / "manager.jsonl")
        asyncio.run(manager(folder))
    else:
        log_to(folder / "logs" / f"{words[2]}.jsonl")
        asyncio.run(agent(folder, words[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
