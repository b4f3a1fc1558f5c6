"""Estimates of run times, as a scheduler gets them, with a given error."""

from dataclasses import replace

import numpy as np

from vinesim.model.alone import alone_us
from vinesim.model.datacenter import Datacenter
from vinesim.model.streams import stream
from vinesim.model.workload import Workload


def with_error(
    work: Workload, center: Datacenter, affinity: np.ndarray, overhead_us: np.ndarray | None, sd: float, seed: int
) -> Workload:
    """Return the workload with each task's estimate multiplied by a lognormal factor.

    ``sd`` is the standard deviation of the factor's logarithm; the median factor is 1. A workload without estimates
    starts from the true times, as the mean over the deployed types that can run the task. Draws from the stream
    ``estimates``.
    """
    factor = np.exp(stream(seed, "estimates").normal(0.0, sd, work.n_tasks))
    true_us = mean_times(work, center, affinity, overhead_us) if work.estimate_us is None else work.estimate_us
    return replace(work, estimate_us=true_us * factor)


def mean_times(work: Workload, center: Datacenter, affinity: np.ndarray, overhead_us: np.ndarray | None) -> np.ndarray:
    """Return [N] the mean execution time of each task over the deployed processor types that can run it, us."""
    codes = np.unique(center.unit_type)
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    total, n = np.zeros(work.n_tasks), np.zeros(work.n_tasks)
    for p in codes:
        speed = affinity[p, type_of_task]
        able = speed > 0
        us = np.zeros(work.n_tasks)
        measured_us = None if work.times_us is None else work.times_us[able, p]
        us[able] = alone_us(work.operations[able], speed[able], measured_us)
        if overhead_us is not None:
            us[able] += overhead_us[p, type_of_task[able]]
        total += us
        n += able
    return total / n
