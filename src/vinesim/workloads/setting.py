"""What every generator gets in addition to its own options: arrivals, placement, types, and a random stream."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.placement import Placement


@dataclass(frozen=True)
class Setting:
    """The common input of a generated workload; the same ``seed`` gives the same workload."""

    seed: int = 0
    arrivals: Arrivals = field(default_factory=Arrivals)
    placement: Placement = field(default_factory=Placement)
    task_types: Sequence[TaskType] = TASK_TYPES
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise InputError([Problem(("seed",), "an integer from 0 to 2^63 - 1", f"{self.seed}")])

    def sizes(self) -> np.random.Generator:
        """Return the random stream for a generator's own draws; arrivals and placement have their own streams."""
        return stream(self.seed, "sizes")

    def common(self) -> dict[str, Any]:
        """Return the arguments of ``assemble`` that come from the setting."""
        return {
            "arrivals": self.arrivals,
            "placement": self.placement,
            "seed": self.seed,
            "task_types": self.task_types,
            "processor_types": self.processor_types,
        }
