"""A Dask cluster: worker processes on this machine, or those of the scheduler at an address."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from vinesim.model.errors import InputError, Problem
from vinesim.studies.backends.address import check_address
from vinesim.studies.backends.contract import Finished, WorkerDied, unfit
from vinesim.studies.work import WorkItem, work

EXPECTED = "the address of a Dask scheduler, such as tcp://host:8786"
PORT = 8786  # Dask's default
TIMEOUT_S = 15.0  # seconds for the scheduler to answer
WORKERS_TIMEOUT_S = 600.0  # seconds for the first worker to appear: batch systems start them late
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # the sweep counts failures itself
    "distributed.deploy.lost-worker-timeout": "1 day",  # otherwise a worker that dies twice in 15 s is never replaced
}


class Dask:
    """The workers of a scheduler, including workers that join later."""

    blames_exactly = False

    def __init__(self, workers: int | None, address: str | None, on_message: Callable[[str], None]):
        """With an address, ``workers`` limits the work items in progress; None: one per thread of its workers."""
        import dask
        from distributed import Client

        self._in_hand = workers if address is not None else None
        self._futures: dict[Any, WorkItem] = {}
        if address is not None:
            check_address(address, EXPECTED, PORT)
        self._settings = dask.config.set(SETTINGS)
        self._cluster = _local(workers) if address is None else None
        try:
            self._client = Client(self._cluster or address, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as wrong:  # TimeoutError is an OSError
            found = "something else" if isinstance(wrong, TimeoutError) else str(wrong)
            raise InputError([Problem(f"--address {address}", EXPECTED, found)]) from None
        try:
            self._wait_for_workers(address, on_message)
        except BaseException:
            self.close()
            raise

    def _wait_for_workers(self, address: str | None, on_message: Callable[[str], None]) -> None:
        if not self._client.nthreads():
            on_message("waiting for the first Dask worker")
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_TIMEOUT_S)
        except TimeoutError:
            found = f"none in {WORKERS_TIMEOUT_S:g} s"
            raise InputError([Problem(f"--address {address}", "a scheduler with workers", found)]) from None
        if any(threads > 1 for threads in self._client.nthreads().values()):
            on_message("a Dask worker does one run at a time: start one worker per core, with --nthreads 1")

    @property
    def n_slots(self) -> int:
        """The requested number, or the threads of all workers."""
        with _answering():
            return self._in_hand or max(1, sum(self._client.nthreads().values()))

    def submit(self, item: WorkItem) -> None:
        """Send a work item to the scheduler."""
        with _answering():
            self._futures[self._client.submit(work, item, pure=False)] = item

    def finished(self) -> list[Finished]:
        """Wait for a work item. The scheduler may have tried it on several workers."""
        from distributed import wait
        from distributed.scheduler import KilledWorker

        with _answering(), self._client.as_current():
            done = wait(list(self._futures), return_when="FIRST_COMPLETED").done
        found = []
        for future in done:
            item = self._futures.pop(future)
            try:
                found.append(Finished(item, future.result()))
            except CancelledError:
                raise _gone() from None
            except KilledWorker:
                found.append(Finished(item, WorkerDied("its Dask worker died (killed, out of memory, or a crash)")))
            except Exception as wrong:
                raise unfit("dask", wrong) from wrong
        return found

    def close(self) -> None:
        """Cancel the work in progress and end the workers that this sweep started."""
        self._client.cancel(list(self._futures))
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        self._settings.__exit__(None, None, None)


@contextmanager
def _answering() -> Iterator[None]:
    """Raise :class:`InputError` if the scheduler does not answer any more."""
    try:
        yield
    except (CancelledError, OSError):
        raise _gone() from None


def _gone() -> InputError:
    remedy = "Finished runs are kept; repeat the command to continue."
    return InputError([Problem("--backend dask", "a scheduler that answers", "no answer any more", remedy)])


def _local(workers: int | None) -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)
