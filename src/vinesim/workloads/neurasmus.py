"""The Neurasmus brain-simulation kernels on Xeon Phi, data-flow engines and GPUs.

Source: VineSim report, section 7.5, Table 3 (measured times, inverted); CPUs only coordinate.
"""

import numpy as np

from vinesim.model.affinity import from_times
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting

PROCESSOR_TYPES = tuple(ProcessorType(name) for name in ("PHI", "DFE", "GPU", "CPU"))
TASK_TYPES = tuple(TaskType(name) for name in ("SGJ", "RGJ", "NGJ"))
TIMES_US = np.array([[500.0, 750.0, 100.0], [300.0, 500.0, 10.0], [100.0, 2400.0, 60.0], [0.0, 0.0, 0.0]])


def affinity() -> np.ndarray:
    """Return the operations per us [PHI DFE GPU CPU, SGJ RGJ NGJ]; a kernel is one operation, and CPUs run none."""
    return from_times(TIMES_US)


def neurasmus(setting: Setting, *, n_jobs: int = 2500) -> Workload:
    """``n_jobs`` jobs of one task, each one kernel SGJ, RGJ or NGJ with equal probability.

    The task types are always this module's own; use its processor types and affinity too.
    """
    check_counts(n_jobs=n_jobs)
    kernel = setting.sizes().integers(len(TASK_TYPES), size=n_jobs)
    common = setting.common() | {"task_types": TASK_TYPES, "processor_types": PROCESSOR_TYPES}
    return assemble(np.ones(n_jobs, np.int64), kernel, 1.0, **common)
