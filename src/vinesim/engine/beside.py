"""Kernels run on threads of their own, beside the main thread: Python handles a signal only when the main thread comes
back to it, and a kernel whose policy never answers never comes back."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

LOOK_S = 0.25  # how often the waiting thread looks up


class Left(Exception):
    """The waiting thread has left the work to itself: it may go on for ever."""


class _Worker:
    """A thread that does one piece of work after the other. It ends with the process, whatever it does."""

    def __init__(self) -> None:
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._is_left = False
        self._work: Callable[[], Any] | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._serve, name="vinesim-kernel", daemon=True)
        self.thread.start()

    def begin(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._go.release()

    def is_done(self, within_s: float) -> bool:
        return self._done.acquire(timeout=within_s)

    def leave(self) -> None:
        """The thread ends when its work does."""
        self._is_left = True

    def outcome(self) -> tuple[Any, BaseException | None]:
        """The result, and the error if there was one."""
        found = self._result, self._error
        self._work = self._result = self._error = None
        return found

    def _serve(self) -> None:
        while not self._is_left:
            self._go.acquire()
            try:
                self._result = self._work()  # type: ignore[misc]
            except BaseException as wrong:  # the waiting thread's, as if it had done the work itself
                self._error = wrong
            self._done.release()


_idle: list[_Worker] = []  # starting a thread takes longer than a small run's events
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork


def beside(works: list[Callable[[], Any]], look: Callable[[], bool] | None = None) -> list[Any]:
    """The results of some pieces of work, done side by side while this thread waits and can be interrupted.

    ``look`` is called now and then; when it returns True the work is left to itself and :class:`Left` raised. So it is
    with any error of ``look``, a signal's handler among them. The first error of the work is raised when all is done.
    """
    if len(works) == 1 and not _is_interruptible():
        return [works[0]()]
    workers = [_idle.pop() if _idle else _Worker() for _ in works]
    try:
        for worker, work in zip(workers, works, strict=True):
            worker.begin(work)
        for worker in workers:
            while not worker.is_done(LOOK_S):
                if look is not None and look():
                    raise Left
    except BaseException:
        for worker in workers:
            worker.leave()
        raise
    outcomes = [worker.outcome() for worker in workers]
    _idle.extend(workers)
    for _, error in outcomes:
        if error is not None:
            raise error
    return [result for result, _ in outcomes]


def _is_interruptible() -> bool:
    """Whether this thread handles signals, and Ctrl-C is not ignored, as in the workers of a sweep."""
    return (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
