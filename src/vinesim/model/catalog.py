"""Processor types and task types: the papers' built-in catalogs, open to the user's own types.

Source: VineSim report, section 5.2.1 (codes), section 6 (meaning of the task types).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True)
class TaskType:
    """A kind of computation; the affinity table says how fast each processor type does it."""

    name: str


PROCESSOR_TYPES = tuple(
    ProcessorType(name) for name in ("CPU_INTEL", "CPU_ARM", "GPU", "FPGA", "CPU_MULTICORE", "UNSPECIFIED")
)
TASK_TYPES = tuple(TaskType(name) for name in ("INT", "FP_BAD", "FP_GOOD", "MEM", "IO", "ARB", "UNSPEC_TASK"))

ANY_PROCESSOR = "UNSPECIFIED"  # as a task's preferred type: any unit
