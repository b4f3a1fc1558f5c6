"""How the energy of a batch policy's periods and the demand beyond capacity are counted."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from vinesim.model.errors import InputError, Problem

EnergyReading = Literal["run_time", "eq1xT", "eq2"]
SlavReading = Literal["incremental", "eq3"]


@dataclass(frozen=True)
class Accounting:
    """The readings of the energy-aware scheduler thesis' equations 1 to 4, and what a change of place costs.

    T is the period; up the demand, ut the remaining time of a task; a server is active if a task was placed on it.

    ``energy`` run_time: active servers draw alpha for T, their tasks beta x up for min(ut, T), the others sleep. eq1xT:
    the power of equation 1 for the whole of T. eq2: equation 2 to the letter, sum of alpha x up + beta x up x ut.
    ``slav`` incremental: each task adds what its server then holds beyond its capacity, times min(ut, T), in the tasks'
    order. eq3: each task adds what its server holds in the end.
    ``optimum``: prove the least energy of each period's tasks within capacity, for small cases (energy run_time).
    """

    energy: EnergyReading = "run_time"
    slav: SlavReading = "incremental"
    wake_up_j: float = 0.0  # energy of each server that goes from sleep to active, J
    migration_j: float = 0.0  # energy of each running task that moves to another server, J
    optimum: bool = False

    def __post_init__(self) -> None:
        readings = (("energy", get_args(EnergyReading)), ("slav", get_args(SlavReading)))
        problems = [
            Problem(f"accounting.{name}", "one of " + ", ".join(known), repr(getattr(self, name)))
            for name, known in readings
            if getattr(self, name) not in known
        ]
        problems += [
            Problem(f"accounting.{name}", "a finite number, 0 or more", f"{getattr(self, name)}")
            for name in ("wake_up_j", "migration_j")
            if not 0 <= getattr(self, name) < math.inf
        ]
        if self.optimum and self.energy != "run_time":
            problems.append(Problem("accounting.optimum", "energy: run_time beside it", repr(self.energy)))
        if problems:
            raise InputError(problems)
