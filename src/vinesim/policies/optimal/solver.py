"""OR-Tools' CP-SAT: loaded on demand, and always called in the same way."""

from typing import Any

from vinesim.model.packages import missing

SEED = 1


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
