"""How the energy of a batch policy's periods, and the demand beyond capacity, are accounted for."""

from dataclasses import dataclass, field
from typing import Literal

from vinesim.model.attributes import NUMBER, attribute, wrong_attributes
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

    # fmt: off
    energy: EnergyReading = field(default="run_time", metadata=attribute(
        "How the thesis' energy is read; see the how-to page."))
    slav: SlavReading = field(default="incremental", metadata=attribute("How its demand beyond capacity is read."))
    wake_up_j: float = field(default=0.0, metadata=attribute(
        "Energy for waking a sleeping unit, J; applies to all policies.", NUMBER))
    migration_j: float = field(default=0.0, metadata=attribute("Energy for moving a running task, J.", NUMBER))
    optimum: bool = field(default=False, metadata=attribute(
        "Prove the least energy of each period's tasks within capacity, in small cases (OR-Tools)."))
    # fmt: on

    def __post_init__(self) -> None:
        problems = wrong_attributes(("accounting",), self)
        if self.optimum and self.energy != "run_time":
            problems.append(Problem(("accounting", "optimum"), "energy: run_time with it", repr(self.energy)))
        if problems:
            raise InputError(problems)
