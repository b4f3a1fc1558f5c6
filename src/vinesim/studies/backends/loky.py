"""Processes of this machine, through joblib's loky.

Each worker is a separate executor with one process: if it dies, the work item that it held is known, and the other
workers continue.
"""

import atexit
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from vinesim.studies.backends.contract import Finished, WorkerDied
from vinesim.studies.work import WorkItem, work

LOOK_S = 1.0  # seconds between a worker's checks that the sweep still runs


class Loky:
    """Worker processes on this machine."""

    blames_exactly = True

    def __init__(self, workers: int):
        self.n_slots = workers
        self._free: list[Any] = [_executor() for _ in range(workers)]
        self._busy: dict[Future, tuple[WorkItem, Any]] = {}

    def submit(self, item: WorkItem) -> None:
        """Give a work item to a free worker; a worker that died while it was free is replaced."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        executor = self._free.pop()
        with _interrupts_held():
            try:
                future = executor.submit(work, item)
            except BrokenProcessPool:
                executor.shutdown(wait=True, kill_workers=True)
                executor = _executor()
                future = executor.submit(work, item)
        self._busy[future] = item, executor

    def finished(self) -> list[Finished]:
        """Wait for a work item; a worker that died is replaced."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        done, _ = wait(self._busy, return_when=FIRST_COMPLETED)
        found = []
        for future in done:
            item, executor = self._busy.pop(future)
            try:
                found.append(Finished(item, future.result()))
                self._free.append(executor)
            except BrokenProcessPool:
                executor.shutdown(wait=True, kill_workers=True)
                self._free.append(_executor())
                found.append(Finished(item, WorkerDied("its worker process died (killed, out of memory, or a crash)")))
        return found

    def close(self) -> None:
        """End the processes."""
        deadline = time.monotonic() + LOOK_S  # ended in the middle of taking work, an executor prints a traceback
        while any(not (one.running() or one.done()) for one in self._busy) and time.monotonic() < deadline:
            time.sleep(0.001)
        executors = [*self._free, *(executor for _, executor in self._busy.values())]
        threads = [threading.Thread(target=executor.shutdown, args=(True, True)) for executor in executors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _executor() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(1, timeout=None, initializer=_begin, initargs=(os.getpid(),))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Deliver Ctrl-C only to this process. Processes started meanwhile never get it, not even at their first line."""
    resource_tracker.ensure_running()  # starting it would unblock the held signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Make the worker end when the parent is gone, and end silently: DuckDB lists the objects that it finds alive when
    Python has ended, and nobody can act on that."""
    atexit.register(_close_standard_error)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _close_standard_error() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)
