"""The four client-server applications of the Symphony paper, on its two processor types.

Rates, sizes, response times: the paper's Tables II and IV. Everything else is VineSim's assumption: service times,
consolidation limits, noise and bursts are not in the paper. The values are plausible for a Tesla C2050 and two Xeon
E5620, and chosen so that FCFS and Symphony miss about as many deadlines as in Table IV. A scenario file can replace
all of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.model.application import Application
from vinesim.model.catalog import ProcessorType, TaskType

DAY_S = 86_400.0
PROCESSOR_TYPES = (
    ProcessorType("E5620x2", capacity=8.0, parallelism=1.0),  # a node's CPUs: 8 requests, which share the speed
    ProcessorType("C2050"),  # one request, or one leader with its followers, at a time
)
TASK_TYPES = tuple(TaskType(name) for name in ("SEARCH", "VIDEO", "SQL", "OPTION"))
OVERHEAD_US = np.array([[3_700.0, 200_000.0, 0.0, 0.0], [900.0, 200_000.0, 15_000.0, 160_000.0]])  # [P, T]
TIME_OF_SIZE_US = np.array([[3_700.0, 120_000.0, 550_000.0, 900_000.0], [100.0, 50_000.0, 5_000.0, 80_000.0]])
REQUESTS_A_DAY = {"SEARCH": 17_200_000, "VIDEO": 52_000, "SQL": 576_000, "OPTION": 108_000}
SIZES = {"VIDEO": (4.0, 45.0)}  # MB; the other sizes are 1
APPLICATIONS = (
    Application("SEARCH", 5_000.0, average_load=17_200_000 / DAY_S, max_consolidated=16),
    Application("VIDEO", 500_000.0, per_size=True, average_load=52_000 / DAY_S, max_consolidated=1),
    Application("SQL", 150_000.0, average_load=576_000 / DAY_S, max_consolidated=8),
    Application("OPTION", 800_000.0, average_load=108_000 / DAY_S, max_consolidated=4),
)


def applications(options: Mapping[str, Any]) -> tuple[Application, ...]:
    """Return the four applications, repeated by the generator's option ``copies``, with loads times its ``scale``."""
    copies, scale = options.get("copies", 1), options.get("scale", 1.0)
    if not (isinstance(copies, int) and isinstance(scale, int | float) and 0 < scale < np.inf):
        return APPLICATIONS  # the generator itself reports wrong options
    return tuple(
        replace(a, name=a.name if copy == 0 else f"{a.name}_{copy + 1}", average_load=a.average_load * scale)
        for copy in range(max(1, min(copies, 100_000)))
        for a in APPLICATIONS
    )


def affinity() -> np.ndarray:
    """Return the size done per us [E5620x2 C2050, SEARCH VIDEO SQL OPTION]."""
    return 1.0 / TIME_OF_SIZE_US


def overhead() -> np.ndarray:
    """Return the time before a request, or a leader with its followers, computes, us; shape as :func:`affinity`."""
    return OVERHEAD_US.copy()
