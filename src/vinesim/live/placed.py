"""The cluster on Ray: Ray starts the manager and an agent per node, places them, watches them and starts them again.

``python -m vinesim.live.placed FOLDER`` is the supervisor: the program that owns them. Without an address in the
cluster file it starts its own Ray, one Ray node per node of the file, on the loopback interface; with one it joins
that Ray.
Ray does not carry requests: its actors open sockets to each other.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ray

from vinesim.live.address import PRIVATE, Address, read_token
from vinesim.live.agent.agent import Agent
from vinesim.live.agent.records import node_folder
from vinesim.live.folder import CLUSTER, cluster_in
from vinesim.live.logs import log_to
from vinesim.live.manager.program import FAILED, manager
from vinesim.live.running import alone
from vinesim.model.cluster import Cluster

log = logging.getLogger("vinesim.live.placed")
LABEL = "vinesim-node"
LOOPBACK = "127.0.0.1"
POLL_S = 0.25
RESTARTS = 1000  # of a manager or an agent, before Ray gives it up
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": False}
OBJECT_STORE_BYTES = 80 * 2**20
SETTINGS = {  # of our own Ray: it finds a frozen node in seconds instead of half a minute
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_failure_threshold": "5",
    "RAY_worker_niceness": "0",  # else manager, agents, kernels and jobs run at niceness 15, behind all other programs
}


class Host:
    """The actor: runs the manager or an agent in its own thread; without it, the process ends."""

    def __init__(self, name: str, log_file: str, work: Any, *arguments: Any):
        self._is_over = False
        log_to(Path(log_file))
        threading.Thread(target=self._serve, args=(name, work, arguments), daemon=True).start()

    def is_over(self) -> bool:
        """Whether it has ended on request."""
        return self._is_over

    def _serve(self, name: str, work: Any, arguments: Any) -> None:
        try:
            asyncio.run(work(*arguments))
        except BaseException:
            log.critical("ended by an error", exc_info=True, extra={"program": name})
            os._exit(FAILED)  # Ray starts it again
        self._is_over = True


async def agent_of(node: str, host: str, port: int, token: bytes, folder: str) -> None:
    """Serve a node, on whichever machine Ray has placed this."""
    await Agent(node, host, port, token, Path(folder).expanduser()).run()


def supervise(folder: Path) -> None:
    """Run the cluster of a folder until it is stopped or this process gets SIGTERM."""
    cluster = cluster_in(folder)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with _locked(folder), _started(folder, cluster) as add, contextlib.suppress(_Ended):
        log.info("ray up")
        hosts = _hosts(folder, cluster, ended)
        placed, seen = {node.name for node in cluster.nodes}, 0
        while not ended.is_set() and not _is_over(hosts[0]):
            if seen != (seen := (folder / CLUSTER).stat().st_mtime_ns):
                hosts += _joined(folder, placed, add, ended)
            ended.wait(POLL_S)
        until_s = time.monotonic() + cluster.limits.lease_us / 1e6
        while not ended.is_set() and time.monotonic() < until_s and not all(map(_is_over, hosts)):
            ended.wait(POLL_S)  # the agents end their devices
    log.info("stopped")


def _hosts(folder: Path, cluster: Cluster, ended: threading.Event) -> list[Any]:
    """Start the manager, then an agent for each node."""
    (folder / "address.json").unlink(missing_ok=True)
    first = None if cluster.address else {LABEL: cluster.nodes[0].name}
    log_file = str(folder / "logs" / "manager.jsonl")
    hosts = [_actor_on(_actor(), first).remote("manager", log_file, manager, folder)]
    return [*hosts, *(_agent(folder, node.name, ended) for node in cluster.nodes if not node.is_removed)]


def _joined(folder: Path, placed: set[str], add: Callable[[str], None], ended: threading.Event) -> list[Any]:
    """Start an agent for each node that has joined. What goes wrong with one is no harm to the cluster that runs."""
    found = []
    for node in cluster_in(folder).nodes:
        if node.name not in placed:
            placed.add(node.name)
            try:
                add(node.name)
                found.append(_agent(folder, node.name, ended))
            except _Ended:
                raise
            except Exception:
                log.error("a node could not be placed", exc_info=True, extra={"node": node.name})
    return found


def _actor() -> Any:
    return ray.remote(num_cpus=0, max_restarts=RESTARTS, max_task_retries=0)(Host)


def _agent(folder: Path, node: str, ended: threading.Event) -> Any:
    """Start the agent of a node, once the manager listens. Raises :class:`_Ended`."""
    host, port = _place(folder, ended)
    home, log_file = str(node_folder(folder, node)), str(folder / "logs" / f"{node}.jsonl")
    arguments = (node, host, port, read_token(folder), home)
    return _actor_on(_actor(), {LABEL: node}).remote(node, log_file, agent_of, *arguments)


def _actor_on(actor: Any, labels: dict[str, str] | None) -> Any:
    """Return the actor, to be placed on the Ray node that has these labels."""
    return actor.options(label_selector=labels) if labels else actor


class _Ended(Exception):
    """SIGTERM came while this waited for a manager that perhaps never listens."""


def _place(folder: Path, ended: threading.Event) -> tuple[str, int]:
    """Wait until the manager listens. Raises :class:`_Ended`."""
    address = Address.in_folder(folder)
    while not ended.is_set():
        try:
            host, port, _ = address.read()
            return host, port
        except OSError:
            ended.wait(POLL_S / 5)
    raise _Ended


def _is_over(host: Any) -> bool:
    try:
        return bool(ray.get(host.is_over.remote(), timeout=POLL_S))
    except ray.exceptions.GetTimeoutError:
        return False
    except ray.exceptions.ActorUnavailableError:  # Ray is starting it again
        return False
    except ray.exceptions.RayError:
        return True


@contextlib.contextmanager
def _locked(folder: Path) -> Any:
    """Keep a second supervisor out of the folder."""
    with alone(folder / "lock", "a cluster"):
        (folder / "supervisor.pid").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (folder / "supervisor.pid").unlink(missing_ok=True)


@contextlib.contextmanager
def _started(folder: Path, cluster: Cluster) -> Any:
    """Start a Ray of our own on the loopback interface, or join the one at the cluster's address. Gives what adds a Ray
    node for one of ours."""
    if cluster.address:
        ray.init(cluster.address, **QUIET)
        try:
            yield lambda node: None  # whoever runs that Ray adds a Ray node with the label
        finally:
            ray.shutdown()
        return
    from ray.cluster_utils import Cluster as Local

    place = Path(tempfile.mkdtemp(prefix="vinesim-"))  # 0700; sockets need a short path
    (place / "ray").mkdir()  # Ray notes its address there, and creates the folder only later
    os.environ |= SETTINGS | {"RAY_AUTH_TOKEN_PATH": str(_ray_token(folder)), "RAY_TMPDIR": str(place)}
    local = None
    try:
        local = Local()
        add = partial(_add_node, local)
        for i, node in enumerate(cluster.nodes):
            if i == 0:
                add(node.name, include_dashboard=False)
            elif not node.is_removed:
                add(node.name)
        _stay_on_loopback()
        ray.init(local.address, **QUIET)
        yield add
    finally:
        ray.shutdown()
        if local is not None:
            local.shutdown()
        shutil.rmtree(place, ignore_errors=True)


def _add_node(local: Any, node: str, **more: Any) -> None:
    """Start a Ray node of our own."""
    local.add_node(
        wait=False,
        node_ip_address=LOOPBACK,
        num_cpus=1,
        labels={LABEL: node},
        object_store_memory=OBJECT_STORE_BYTES,
        **more,
    )


def _stay_on_loopback() -> None:
    """Let a driver reach a Ray on the loopback address: Ray would replace it by the machine's address, and hang."""
    from ray._private import services

    services.resolve_ip_for_localhost = lambda host: host


def _ray_token(folder: Path) -> Path:
    """Return the file with the token that Ray's own processes require."""
    path = folder / "ray_token"
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as file:
            file.write(secrets.token_hex(32))
    return path


if __name__ == "__main__":
    log_to(Path(sys.argv[1]) / "logs" / "supervisor.jsonl")
    try:
        supervise(Path(sys.argv[1]))
    except Exception:
        log.critical("the supervisor has failed", exc_info=True)
        raise
