"""A Ray cluster: worker processes of this machine, or those of the cluster at an address."""

import logging
import os
from collections.abc import Callable
from typing import Any

from vinesim.model.errors import InputError, Problem
from vinesim.studies.backends.address import check_address
from vinesim.studies.backends.contract import Finished, WorkerDied, unfit
from vinesim.studies.work import Order, work

PORT = 6379  # Ray's own


class Ray:
    """Ray tasks, one CPU each. A Ray that this program has joined already is used, and left running."""

    blames_exactly = True

    def __init__(self, workers: int | None, address: str | None, say: Callable[[str], None]):
        """``workers`` at an address is how many orders are in hand at once; None: one a CPU of the cluster."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray = ray
        self._in_hand = workers if address is not None else None
        self._refs: dict[Any, Order] = {}
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            _join(ray, workers, address)
        self._work = ray.remote(num_cpus=1, max_retries=0)(work)
        if not ray.cluster_resources().get("CPU"):
            say("waiting for the first Ray worker")

    @property
    def n_slots(self) -> int:
        """As many as wanted, or the CPUs of the cluster."""
        return self._in_hand or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, order: Order) -> None:
        """Start a task."""
        self._refs[self._work.remote(order)] = order

    def finished(self) -> list[Finished]:
        """Wait for one."""
        from ray.exceptions import RayError, RayTaskError

        found = []
        for ref in self._ray.wait(list(self._refs), num_returns=1)[0]:
            order = self._refs.pop(ref)
            try:
                found.append(Finished(order, self._ray.get(ref)))
            except RayTaskError as wrong:
                raise unfit("ray", wrong.cause) from wrong
            except RayError as wrong:
                words = f"its Ray worker died ({type(wrong).__name__})"
                found.append(Finished(order, WorkerDied(words)))
        return found

    def close(self) -> None:
        """Stop what is in hand, and leave the cluster; one that was started here ends."""
        for ref in self._refs:
            self._ray.cancel(ref, force=True)
        if self._is_ours:
            self._ray.shutdown()


def _join(ray: Any, workers: int | None, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": False}
    if address is None:
        ray.init("local", num_cpus=workers, include_dashboard=False, **quiet)
        return
    if address not in ("auto", "local"):
        check_address(address, "the address of a Ray cluster, as host:6379 or auto", PORT)
    try:
        ray.init(address, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as wrong:
        words = str(wrong).strip().splitlines()[0][:300] if str(wrong).strip() else type(wrong).__name__
        remedy = "Has this machine the cluster's token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH) and its version of Ray?"
        raise InputError([Problem(f"--address {address}", "a Ray cluster that lets us in", words, remedy)]) from None
