"""How the energy of a batch policy's periods, and the demand beyond capacity, are accounted for."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from vinesim.model.errors import InputError, Problem

EnergyReading = Literal["run_time", "eq1xT", "eq2"]
SlavReading = Literal["incremental", "eq3"]


@dataclass(frozen=True)
class Accounting:
    """How the energy-aware scheduler thesis' equations 1 to 4 are read, and the energy of wake-ups and migrations.

    T is the period, up the demand and ut the remaining time of a task; a server is active if a task was placed on it.

    ``energy`` run_time: active servers draw alpha for T, their tasks beta x up for min(ut, T); the others sleep. eq1xT:
    the power of equation 1 for the whole of T. eq2: equation 2 literally, the sum of alpha x up + beta x up x ut.
    ``slav`` incremental: in the tasks' order, each task adds its server's load beyond capacity at that point, times
    min(ut, T). eq3: each task adds its server's final load beyond capacity.
    ``optimum``: prove the least energy of each period's tasks within capacity, in small cases (energy run_time).
    """

    energy: EnergyReading = "run_time"
    slav: SlavReading = "incremental"
    wake_up_j: float = 0.0  # energy for waking a server, J
    migration_j: float = 0.0  # energy for moving a running task to another server, J
    optimum: bool = False

    def __post_init__(self) -> None:
        readings = (("energy", get_args(EnergyReading)), ("slav", get_args(SlavReading)))
        problems = [
            Problem(("accounting", name), "one of " + ", ".join(known), repr(getattr(self, name)))
            for name, known in readings
            if getattr(self, name) not in known
        ]
        problems += [
            Problem(("accounting", name), "a finite number, 0 or more", f"{getattr(self, name)}")
            for name in ("wake_up_j", "migration_j")
            if not 0 <= getattr(self, name) < math.inf
        ]
        if self.optimum and self.energy != "run_time":
            problems.append(Problem(("accounting", "optimum"), "energy: run_time with it", repr(self.energy)))
        if problems:
            raise InputError(problems)
