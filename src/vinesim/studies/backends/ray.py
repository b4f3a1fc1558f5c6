"""A Ray cluster: worker processes on this machine, or those of the cluster at an address."""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vinesim.model.errors import InputError, Problem
from vinesim.studies.backends.address import check_address
from vinesim.studies.backends.contract import Finished, WorkerDied, unfit
from vinesim.studies.backends.ray_security import ask_for_token, check_token, make_token, on_loopback
from vinesim.studies.work import WorkItem, work

PORT = 6379  # Ray's default
LOOK_S = 1.0  # seconds between checks for Ray: Ray ends this program if it has been gone for a minute
TIMEOUT_S = 5.0
STARTS = 3  # attempts at starting or joining Ray again
QUIET = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": False}


class Ray:
    """Ray tasks, one CPU each. If this program has already joined a Ray, that is used, and left running.

    If Ray itself ends, it is started or joined again, and work items in progress count as if their worker had died.
    """

    blames_exactly = True

    def __init__(self, workers: int | None, address: str | None, on_message: Callable[[str], None]):
        """With an address, ``workers`` limits the work items in progress; None: one per CPU of the cluster."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ask_for_token()
        import ray

        self._ray, self._workers, self._address, self._on_message = ray, workers, address, on_message
        self._in_hand = workers if address is not None else None
        self._refs: dict[Any, WorkItem] = {}
        self._has_ended = False
        self._is_ours = not ray.is_initialized()
        self._open()
        if not ray.cluster_resources().get("CPU"):
            on_message("waiting for the first Ray worker")

    def _open(self) -> None:
        """Start or join Ray."""
        if self._is_ours:
            _join(self._ray, self._workers, self._address, self._on_message)
        gcs = self._ray.get_runtime_context().gcs_address
        self._gcs = None if _is_refused(gcs) else gcs  # it cannot be reached through a Ray client
        self._work = self._ray.remote(num_cpus=1, max_retries=0)(work)
        self._has_ended = False

    @property
    def n_slots(self) -> int:
        """The requested number, or the CPUs of the cluster."""
        if self._in_hand is not None or self._is_gone():
            return self._in_hand or 1
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, item: WorkItem) -> None:
        """Start a task."""
        if self._is_gone():
            self._open_again()
        self._refs[self._work.remote(item)] = item

    def finished(self) -> list[Finished]:
        """Wait for a work item. If Ray has ended, all work items are lost."""
        ready: list[Any] = []
        while not ready and not self._is_gone():
            ready = self._ray.wait(list(self._refs), num_returns=1, timeout=LOOK_S)[0]
        found = [self._outcome(ref) for ref in ready]
        if self._is_gone():
            lost = WorkerDied("Ray stopped")
            found += [Finished(item, lost) for item in self._refs.values()]
            self._refs.clear()
        return found

    def _outcome(self, ref: Any) -> Finished:
        from ray.exceptions import LocalRayletDiedError, NodeDiedError, RayError, RayTaskError

        item = self._refs.pop(ref)
        try:
            return Finished(item, self._ray.get(ref))
        except RayTaskError as wrong:
            raise unfit("ray", wrong.cause) from wrong
        except RayError as wrong:
            is_own_node = self._address is None and isinstance(wrong, NodeDiedError)
            self._has_ended |= is_own_node or isinstance(wrong, LocalRayletDiedError)
            return Finished(item, WorkerDied(f"its Ray worker died ({type(wrong).__name__})"))

    def _is_gone(self) -> bool:
        """Whether the Ray that this program joined has ended."""
        self._has_ended = self._has_ended or (self._gcs is not None and _is_refused(self._gcs))
        return self._has_ended

    def _open_again(self) -> None:
        if not self._is_ours:
            remedy = "Repeat the command to continue."
            raise InputError([Problem("--backend ray", "the Ray that this program had joined", "it stopped", remedy)])
        for left in reversed(range(STARTS)):
            self._on_message(f"Ray stopped; {'starting' if self._address is None else 'joining'} it again")
            self._ray.shutdown()
            try:
                self._open()
                return
            except InputError:
                if not left:
                    raise

    def close(self) -> None:
        """Stop the work in progress and leave the cluster; a cluster that this sweep started ends."""
        if not self._is_gone():
            for ref in self._refs:
                self._ray.cancel(ref, force=True)
        if self._is_ours:
            self._ray.shutdown()


def _is_refused(address: str) -> bool:
    """Whether nothing listens at the address any more."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:  # it may answer later
        return False
    return False


def _join(ray: Any, workers: int | None, address: str | None, on_message: Callable[[str], None]) -> None:
    if address is None:
        make_token()
        with on_loopback(ray, on_message), _as_input_error("--backend ray", "a Ray that starts", "Repeat the command."):
            ray.init("local", num_cpus=workers, include_dashboard=False, **QUIET)
        check_token(ray)
        return
    if address not in ("auto", "local"):
        check_address(address, "the address of a Ray cluster, such as host:6379 or auto", PORT)
    remedy = "Check the cluster's token (RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH) and its version of Ray on this machine."
    with _as_input_error(f"--address {address}", "a Ray cluster that accepts this program", remedy):
        ray.init(address, **QUIET)
    check_token(ray)


@contextmanager
def _as_input_error(where: str, expected: str, remedy: str) -> Iterator[None]:
    """Convert Ray's exceptions, which may be of any type, to :class:`InputError`."""
    try:
        yield
    except Exception as wrong:
        words = str(wrong).strip().splitlines()[0][:300] if str(wrong).strip() else type(wrong).__name__
        raise InputError([Problem(where, expected, words, remedy)]) from None
