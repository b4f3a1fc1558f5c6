"""OR-Tools' CP-SAT: loaded when it is needed, and asked in one way."""

from typing import Any

from vinesim.model.packages import missing

SEED = 1


def cp_sat(where: str = "policy optimal") -> Any:
    """The module ``cp_model``; without OR-Tools an :class:`InputError` for ``where`` that says how to install it."""
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError:
        raise missing(where, "ortools") from None
    return cp_model


def new_solver(limit_s: float, workers: int) -> Any:
    """A solver that stops after so many seconds; with one worker it finds the same each time, if it is not stopped."""
    solver = cp_sat().CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = SEED
    return solver
