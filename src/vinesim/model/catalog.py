"""Processor types and task types: the papers' built-in catalogs, open to the user's own types.

Source: VineSim report, section 5.2.1 (codes), section 6 (meaning of the task types).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from vinesim.model.errors import InputError, Problem


@dataclass(frozen=True)
class ProcessorType:
    """A kind of processing unit.

    ``capacity`` is what its tasks share: a task takes its ``demand`` of it while it runs, by default all of it.
    Tasks run at full speed while their demands add up to ``parallelism`` or less; beyond that they share the speed.
    """

    name: str
    price: float | None = None  # cost of purchase of one unit, in the price list's currency
    idle_power_w: float = 0.0  # power of a unit that runs nothing, W
    sleep_power_w: float | None = None  # power of a unit asleep, W; None: it never sleeps
    capacity: float = 1.0
    parallelism: float | None = None  # None: as the capacity, so the unit never slows down
    attributes: Mapping[str, float] = field(default_factory=dict)  # cores, sms, memory_bytes ...

    @property
    def is_shared(self) -> bool:
        """Whether the tasks of a unit can slow one another down."""
        return self.parallelism is not None and self.parallelism < self.capacity

    def __post_init__(self) -> None:
        problems = [
            Problem(f"processor type {self.name}, {what}", "a finite number above 0", f"{value}")
            for what, value in (("capacity", self.capacity), ("parallelism", self.parallelism))
            if value is not None and not 0 < value < math.inf
        ]
        problems += [
            Problem(f"processor type {self.name}, {what}", "a finite number, 0 or more", f"{value}")
            for what in ("price", "idle_power_w", "sleep_power_w")
            if (value := getattr(self, what)) is not None and not 0 <= value < math.inf
        ]
        if problems:
            raise InputError(problems)


@dataclass(frozen=True)
class TaskType:
    """A kind of computation; the affinity table says how fast each processor type does it."""

    name: str


PROCESSOR_TYPES = tuple(
    ProcessorType(name) for name in ("CPU_INTEL", "CPU_ARM", "GPU", "FPGA", "CPU_MULTICORE", "UNSPECIFIED")
)
TASK_TYPES = tuple(TaskType(name) for name in ("INT", "FP_BAD", "FP_GOOD", "MEM", "IO", "ARB", "UNSPEC_TASK"))

ANY_PROCESSOR = "UNSPECIFIED"  # as a task's preferred type: any unit
