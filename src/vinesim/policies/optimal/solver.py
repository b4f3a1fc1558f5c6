"""OR-Tools' CP-SAT: loaded on demand, and always called in the same way."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from vinesim.model.packages import missing

SEED = 1
LOOK_S = 0.25  # how often a search that must end is stopped again: it may not have begun yet


def cp_sat(where: str = "policy optimal") -> Any:
    """Return the module ``cp_model``; without OR-Tools raise an :class:`InputError` that says how to install it."""
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError:
        raise missing(where, "ortools") from None
    return cp_model


def new_solver(limit_s: float, workers: int) -> Any:
    """Return a solver with a time limit in seconds; with one worker its result is reproducible unless it is stopped."""
    solver = cp_sat().CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = SEED
    return solver


@contextmanager
def set_by_ctrl_c(event: threading.Event) -> Iterator[None]:
    """Let Ctrl-C set an event and do nothing else. Workers of a sweep do not handle it at all."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if is_main else None
    if before is None or before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def solve(solver: Any, model: Any, is_to_end: threading.Event, watcher: Any = None) -> int:
    """Return the solver's answer: when it has one, when its time is over, or soon after ``is_to_end`` is set.

    CP-SAT can handle Ctrl-C itself, but then does not tell. ``watcher`` is called on another thread.
    """
    solver.parameters.catch_sigint_signal = False
    with ThreadPoolExecutor(1) as thread:
        answer: Future[Any] = thread.submit(solver.solve, model, watcher)
        while not wait([answer], LOOK_S).done:
            if is_to_end.is_set():
                solver.stop_search()
    return int(answer.result())


def prove(solver: Any, model: Any) -> int:
    """Return the solver's answer. Ctrl-C raises KeyboardInterrupt: there is nothing to fall back on."""
    is_to_end = threading.Event()
    with set_by_ctrl_c(is_to_end):
        answer = solve(solver, model, is_to_end)
    if is_to_end.is_set():
        raise KeyboardInterrupt
    return answer
