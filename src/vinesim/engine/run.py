"""One run from outside: the interface of both engines to the rest of the package, and what watches a run, its progress,
how long a decision takes, and how it is abandoned.

Kernels run on other threads than the main one: Python handles a signal only when the main thread returns to it, and a
kernel whose policy never answers never returns.
"""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vinesim.formats.source.quantities import format_time_us
from vinesim.model.outage import Outage
from vinesim.model.result import EarlyEnds, Serving


class Run(Protocol):
    """A run of one scenario's model under one policy. Tasks and units are numbered as in the model."""

    scratch: Any  # the policy's own arrays, by name

    @property
    def now_us(self) -> float:
        """The clock."""

    @property
    def n_events(self) -> int:
        """The number of events handled so far."""

    @property
    def n_done(self) -> int:
        """The number of tasks that have finished or were dropped."""

    @property
    def n_pending(self) -> int:
        """The number of tasks that have arrived and not started."""

    @property
    def unit_load(self) -> np.ndarray:
        """[U] the demand on each unit now."""

    def compile(self) -> None:
        """Get ready, which may take seconds the first time."""

    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, should_abandon: Callable[[], bool] | None = None
    ) -> int:
        """Handle events until one of the reasons of ``engine.contract``, which is returned; ABANDONED if
        ``should_abandon``, which is called at intervals, returned True."""

    def pending(self) -> np.ndarray:
        """[P] int64: the pending tasks, oldest first."""

    def columns(self) -> dict[str, np.ndarray]:
        """Return the task columns that the run filled, [N] each: unit, init, start and finish."""

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks hold, or held last, besides their own: task [H] and unit [H] int32, by task."""

    def followers(self) -> np.ndarray:
        """[F] int64: the tasks that were consolidated with another task, their leader."""

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """For running tasks on units that share their speed: whether they have had all their service, and end at this
        instant, one after another."""

    def set_clock(self, now_us: float) -> None:
        """Set the clock, given that nothing happened until then."""

    def peaks_mw(self) -> np.ndarray:
        """Return the most that each rack, and the datacenter, has drawn so far, mW; nothing if there are no caps."""

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Carry out a batch policy's answer: move running tasks, then start pending ones; unit -1 leaves a task."""

    def early_ends(self) -> EarlyEnds:
        """Return the segments that ended before their tasks were done, in the order of time; of runs that log them."""

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks held besides their own in segments that ended early, without the last ones of
        tasks: the position of each segment among those that no limit ended [H], and unit [H] int32."""

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        """Let the first jobs arrive at 0 without calling the policy, and start some of their tasks; then it is
        called."""

    def eligible_us(self) -> np.ndarray:
        """Return when each job became eligible; NaN: never. No values if no job waits for others."""

    def serving(self, end_us: float) -> Serving:
        """Return how requests fared on serving engines in a run that ended at that time."""

    def granted_us(self) -> np.ndarray:
        """Return when each task was given to its unit, where units take tasks ahead; NaN: never."""

    def failures(self) -> tuple[Outage, ...]:
        """Return the random failures of nodes so far."""


SAY_S = 3.0  # a decision that takes longer is reported
LEAVE_S = 1.0  # a run that should stop is abandoned if one decision takes longer


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    n_events: int
    now_us: float
    n_done: int
    n_tasks: int


class Watchdog:
    """Watches one run from outside, even while its engine works on another thread."""

    def __init__(
        self,
        run: Run,
        policy: str,
        n_tasks: int,
        on_progress: Callable[[Progress], bool | None] | None,
        on_message: Callable[[str], None] | None,
    ):
        self._run, self._policy, self._n_tasks = run, policy, n_tasks
        self._on_progress, self._on_message = on_progress, on_message
        self._mark: tuple[int, ...] = ()
        self._since_s = time.perf_counter()
        self.is_stopped = False

    def report_progress(self) -> bool:
        """Report the run's progress. Returns whether it should stop."""
        if self._on_progress is not None and not self.is_stopped:
            run = self._run
            self.is_stopped = bool(self._on_progress(Progress(run.n_events, run.now_us, run.n_done, self._n_tasks)))
        return self.is_stopped

    def should_abandon(self) -> bool:
        """The same while one decision lasts, from any thread. Returns whether the run is to stop."""
        waited_s = self._waited_s()
        if waited_s > SAY_S and self._on_message is not None:
            self._on_message(f"{self.words()}; Ctrl-C ends the run and keeps what is done")
            self._on_message = None
        return waited_s > LEAVE_S and self.report_progress()

    def words(self) -> str:
        """Say where the run is."""
        waited_s, now_us = self._waited_s(), self._run.now_us
        if waited_s < LEAVE_S:
            return f"at {format_time_us(now_us)}, under the policy {self._policy}"
        return f"the policy {self._policy}, called at {format_time_us(now_us)}, has not returned for {waited_s:.0f} s"

    def _waited_s(self) -> float:
        """Return how long nothing has happened in the run, that is how long one decision has taken."""
        run, now_s = self._run, time.perf_counter()
        mark = (run.n_events, run.n_pending, run.n_done)
        if mark != self._mark:
            self._mark, self._since_s = mark, now_s
        return now_s - self._since_s


LOOK_S = 0.25  # how often the waiting thread checks


class Abandoned(BaseException):  # no policy catches it
    """The waiting thread has abandoned the work, which may run forever."""


class _Worker:
    """A thread that does one piece of work after another. It ends with the process, whatever it is doing."""

    def __init__(self) -> None:
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._ends_with_work = False
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

    def abandon(self) -> None:
        """Let the thread end when its work does."""
        self._ends_with_work = True

    def outcome(self) -> tuple[Any, BaseException | None]:
        """Return the result, and the error if there was one."""
        found = self._result, self._error
        self._work = self._result = self._error = None
        return found

    def _serve(self) -> None:
        while not self._ends_with_work:
            self._go.acquire()
            try:
                self._result = self._work()  # type: ignore[misc]
            except BaseException as wrong:  # raised in the waiting thread, as if it had done the work itself
                self._error = wrong
            self._done.release()


_idle: list[_Worker] = []  # starting a thread takes longer than a small run's events
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork


def run_interruptibly(works: list[Callable[[], Any]], look: Callable[[], bool] | None = None) -> list[Any]:
    """Return the results of several pieces of work, done in parallel while this thread waits and can be interrupted.

    ``look`` is called at intervals; if it returns True the work is abandoned and :class:`Abandoned` is raised. The same
    happens for any error in ``look``, including in a signal's handler. The first error of the work is raised at the
    end.
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
                    raise Abandoned
    except BaseException:
        for worker in workers:
            worker.abandon()
        raise
    outcomes = [worker.outcome() for worker in workers]
    _idle.extend(workers)
    for _, error in outcomes:
        if error is not None:
            raise error
    return [result for result, _ in outcomes]


@contextmanager
def abandoned_when(look: Callable[[], bool]) -> Iterator[None]:
    """Raise :class:`Abandoned` in plain Python on this thread when ``look``, called by another one, returns True."""
    here, is_over = ctypes.c_ulong(threading.get_ident()), threading.Event()

    def watch() -> None:
        is_asked = False
        while not is_over.wait(LOOK_S):
            is_asked = is_asked or look()
            if is_asked:  # again and again: what is raised in a callback of the garbage collector is lost
                ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(Abandoned))

    watcher = threading.Thread(target=watch, name="vinesim-look", daemon=True)
    report_lost = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is Abandoned else report_lost(lost)
    watcher.start()
    try:
        yield
    finally:
        while watcher.is_alive():
            with suppress(Abandoned):  # asked once more
                is_over.set()
                watcher.join()
        with suppress(Abandoned):
            for _ in range(2):  # the next turn of a loop raises what was asked at the end
                pass
        sys.unraisablehook = report_lost


def _is_interruptible() -> bool:
    """Whether this thread handles signals, and Ctrl-C is not ignored, as in the workers of a sweep."""
    return (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    )
