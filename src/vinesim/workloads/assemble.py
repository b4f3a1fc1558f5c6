"""Build the columns of a workload from the choices of a generator for each job."""

import math
from collections.abc import Sequence

import numpy as np

from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, TASK_TYPES, ProcessorType, TaskType, code_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.placement import Placement

MAX_TASKS = 1_000_000_000


def assemble(
    n_tasks: np.ndarray,
    job_task_type: np.ndarray,
    operations: float | np.ndarray,
    arrivals: Arrivals,
    placement: Placement,
    seed: int,
    *,
    preferred: str | None = None,
    demand: np.ndarray | None = None,
    application: np.ndarray | None = None,
    application_names: Sequence[str] = (),
    task_types: Sequence[TaskType] = TASK_TYPES,
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
) -> Workload:
    """Build a workload whose job j has ``n_tasks[j]`` tasks [J] of type ``job_task_type[j]`` [J].

    ``operations`` and ``demand`` are per task: one number for all, or [N]. ``application`` is [J]. ``preferred`` is
    the name of a processor type, None or UNSPECIFIED for any. Arrivals and placement use their own random streams,
    so that a change in one does not affect the other.
    """
    first = np.concatenate(([0], np.cumsum(n_tasks, dtype=np.int64)))
    total = int(first[-1])
    if total > MAX_TASKS:
        raise InputError([Problem(("n_tasks",), f"at most {MAX_TASKS:,} tasks in all", f"{total:,}")])
    preferred_code = NO_PREFERENCE
    if preferred is not None and preferred != ANY_PROCESSOR:
        preferred_code = code_of(("preferred",), preferred, processor_types)
    rack, shelf = placement.draw(total, stream(seed, "placement"))
    return Workload(
        job_task_type=job_task_type,
        job_first=first,
        arrival_us=arrivals.draw(len(n_tasks), stream(seed, "arrivals")),
        operations=np.full(total, operations, np.float64),
        data_bytes=np.full(total, placement.data_bytes, np.float64),
        data_rack=rack,
        data_shelf=shelf,
        preferred_type=np.full(total, preferred_code),
        demand=demand,
        application=application,
        task_types=tuple(task_types),
        application_names=tuple(application_names),
    )


def check_counts(**counts: int) -> None:
    """Raise :class:`InputError` unless each option is at least 1 and their product at most ``MAX_TASKS``."""
    problems = [
        Problem(name, f"a whole number, 1 to {MAX_TASKS:,}", f"{value}")
        for name, value in counts.items()
        if not 1 <= value <= MAX_TASKS
    ]
    if not problems and math.prod(counts.values()) > MAX_TASKS:
        problems = [
            Problem(
                tuple(counts)[:1],
                f"at most {MAX_TASKS:,} tasks, {' x '.join(counts)}",
                f"{math.prod(counts.values()):,}",
            )
        ]
    if problems:
        raise InputError(problems)
