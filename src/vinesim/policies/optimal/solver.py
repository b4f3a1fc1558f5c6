"""OR-Tools' CP-SAT: loaded on demand, and always called in the same way."""

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from vinesim.model.packages import missing

SEED = 1
LOOK_S = 0.25  # how often a search that is to end is told so: it may just be about to begin


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


def solve(solver: Any, model: Any, watcher: Any = None) -> tuple[int, bool]:
    """Return the solver's answer, and whether Ctrl-C ended its search.

    CP-SAT can handle Ctrl-C itself, but then does not tell. ``watcher`` is called on another thread.
    """
    solver.parameters.catch_sigint_signal = False
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if is_main else None
    if before is None or before is signal.SIG_IGN:  # none is handled here, as in the workers of a sweep
        return int(solver.solve(model, watcher)), False
    is_asked = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: is_asked.set())
    try:
        with ThreadPoolExecutor(1) as thread:
            answer: Future[Any] = thread.submit(solver.solve, model, watcher)
            while not wait([answer], LOOK_S).done:
                if is_asked.is_set():
                    solver.stop_search()
    finally:
        signal.signal(signal.SIGINT, before)
    return int(answer.result()), is_asked.is_set()
