"""Jobs drawn from measured times: how long each kind of task took on each processor type of a real machine."""

from dataclasses import dataclass

import numpy as np

from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.workload import NO_PREFERENCE, Workload

MAX_JOBS = 10_000_000


@dataclass(frozen=True)
class Measured:
    """Measured times, us, of T task types on P processor types; each task type has at least one."""

    processor_types: tuple[ProcessorType, ...]
    task_types: tuple[TaskType, ...]
    time_us: np.ndarray  # [P, T] times of one operation; NaN: cannot run, or was not measured
    spread: np.ndarray | None = None  # [T] standard deviation of a time / its mean

    @property
    def affinity(self) -> np.ndarray:
        """[P, T] operations per us; 0 if it cannot run."""
        return np.nan_to_num(1.0 / self.time_us)


def measured_jobs(
    measured: Measured,
    n_jobs: int,
    *,
    nodes: int = 4,
    load: float = 0.9,
    median_us: float | None = None,
    sd: float = 1.0,
    is_noisy: bool = False,
    seed: int = 0,
) -> Workload:
    """Draw jobs of one task each, from all measured task types with equal probability, in a Poisson process.

    A job has one operation or, with ``median_us``, a number of operations that takes a lognormal time on its fastest
    processor type; ``sd`` is the standard deviation of that time's logarithm. ``times_us`` of the workload holds the
    resulting times. ``load`` is the arrival rate as a share of what ``nodes`` units of each type can do, if each type
    gets the same mix of jobs. ``is_noisy`` multiplies the true times by a lognormal factor with mean 1 and the measured
    spread, which no scheduler knows. Raises :class:`InputError`.
    """
    _check(n_jobs, nodes, load, median_us, sd, seed)
    kind = stream(seed, "types").integers(0, len(measured.task_types), n_jobs)
    operations = np.ones(n_jobs)
    if median_us is not None:
        time_us = median_us * np.exp(stream(seed, "sizes").normal(0.0, sd, n_jobs))
        operations = np.maximum(1.0, np.round(time_us / np.nanmin(measured.time_us, axis=0)[kind]))
    times_us = (measured.time_us[:, kind] * operations).T
    runs = np.isfinite(times_us)
    per_us = sum(nodes / times_us[runs[:, p], p].mean() for p in range(runs.shape[1]) if runs[:, p].any())
    gaps = stream(seed, "arrivals").exponential(1.0 / (load * per_us), n_jobs)
    factor = None
    if is_noisy and measured.spread is not None:
        variance = np.log1p(measured.spread[kind] ** 2)  # of the factor's logarithm
        factor = np.exp(stream(seed, "noise").normal(-0.5 * variance, np.sqrt(variance)))
    return Workload(
        job_task_type=kind,
        job_first=np.arange(n_jobs + 1),
        arrival_us=np.cumsum(gaps) - gaps[0],
        operations=operations,
        data_bytes=np.zeros(n_jobs),
        data_rack=np.zeros(n_jobs),
        data_shelf=np.zeros(n_jobs),
        preferred_type=np.full(n_jobs, NO_PREFERENCE),
        times_us=times_us,
        time_factor=factor,
        task_types=measured.task_types,
    )


def _check(n_jobs: int, nodes: int, load: float, median_us: float | None, sd: float, seed: int) -> None:
    problems = []
    if not 1 <= n_jobs <= MAX_JOBS:
        problems.append(Problem(("jobs",), f"a whole number, 1 to {MAX_JOBS:,}", f"{n_jobs}"))
    if not 1 <= nodes <= MAX_JOBS:
        problems.append(Problem(("nodes",), f"a whole number, 1 to {MAX_JOBS:,}", f"{nodes}"))
    if not 0 < load <= 1000:
        problems.append(Problem(("load",), "a number above 0, up to 1000", f"{load}"))
    if median_us is not None and not 0 < median_us < 1e15:
        problems.append(Problem(("duration",), "a time above 0, up to 30 years", f"{median_us / 1e6:g} s"))
    if not 0 <= sd <= 5:
        problems.append(Problem(("duration-sd",), "a number, 0 to 5", f"{sd}"))
    if not 0 <= seed < 2**63:
        problems.append(Problem(("seed",), "an integer from 0 to 2^63 - 1", f"{seed}"))
    if problems:
        raise InputError(problems)
