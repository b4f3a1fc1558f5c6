"""The manager as a program: it serves the cluster of a folder."""

import asyncio
import logging
import os
import time
from pathlib import Path

from vinesim.live.address import read_token, write_place
from vinesim.live.clock import ClusterClock
from vinesim.live.collecting import collect_less
from vinesim.live.engine import component
from vinesim.live.folder import JOURNAL, cluster_in
from vinesim.live.journal import Journal
from vinesim.live.manager.core import Core
from vinesim.live.manager.metrics import MetricsPort
from vinesim.live.manager.server import Server
from vinesim.live.running import alone

log = logging.getLogger(__name__)
FAILED = 70  # exit code of a manager whose turn raised


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
    collect_less()
    log.info("manager up", extra={"pid": os.getpid(), "port": server.port})
    await stop.wait()
    if server.failed.done():
        os._exit(FAILED)  # what this turn has written is not kept
    metrics.close()
    await server.close()
    if core.is_stopping:
        log.info("manager stopped", extra={"pid": os.getpid()})
    return core.is_stopping
