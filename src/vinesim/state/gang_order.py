"""In which order the tasks of a gang are placed: those that take most first."""

import numpy as np

from vinesim.model.workload import NO_GANG, Workload
from vinesim.state.demand import amounts, demands
from vinesim.state.demand_classes import DemandClasses
from vinesim.state.gang_room import gangs_of

BY_NUMBER = np.empty(0, np.int32)


def placing_order(
    work: Workload, classes: DemandClasses | None, can_run: np.ndarray, unit_type: np.ndarray, capacity: np.ndarray
) -> np.ndarray:
    """[N] int32: the tasks of each job in the order in which they are placed if it is a gang; [0] if that is everywhere
    the order of their numbers.

    Larger tasks come first, and equal ones in the order of their numbers. The tasks of one node of a gang with a number
    of nodes stay together, and those nodes come first that need most in all. ``can_run`` [T, P] says on which processor
    types the tasks of each type, or of each class, run; ``unit_type`` and ``capacity`` [U] are of the units.
    """
    if classes is None and work.demand is None:
        return BY_NUMBER
    counts = np.diff(work.job_first)
    size = np.where(
        np.repeat(gangs_of(work) != NO_GANG, counts), _sizes(work, classes, can_run, unit_type, capacity), 0
    )
    if (size == np.repeat(size[work.job_first[:-1]], counts)).all():
        return BY_NUMBER
    job, task = np.repeat(np.arange(work.n_jobs), counts), np.arange(work.n_tasks)
    block, of_block = _blocks(work, size)
    return np.lexsort((task, -size, block, -of_block, job)).astype(np.int32)


def _sizes(
    work: Workload, classes: DemandClasses | None, can_run: np.ndarray, unit_type: np.ndarray, capacity: np.ndarray
) -> np.ndarray:
    """[N] the largest share that each task takes of all that the datacenter has of something: of the units that it can
    run on together, or of a processor type of which it holds a companion."""
    n_types = can_run.shape[1]
    total, largest = np.bincount(unit_type, capacity, n_types), np.zeros(n_types)
    np.maximum.at(largest, unit_type, capacity)
    of_leads, most = can_run @ total, np.where(can_run, largest, 0.0).max(axis=1)
    if classes is None:
        type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
        return np.asarray(amounts(demands(work), most[type_of_task]) / of_leads[type_of_task])
    size = classes.units * amounts(classes.share, most) / of_leads
    held = total > 0
    of_companions = (classes.companion[:, held] / total[held]).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(size, of_companions)[classes.of_task])


def _blocks(work: Workload, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each task which of its gang's nodes it is for, and the sizes of all tasks of that node together; 0
    where the gang has no number of nodes."""
    number, in_all = np.zeros(work.n_tasks, np.int64), np.zeros(work.n_tasks)
    if work.gang_nodes is None or work.tasks_per_node is None:
        return number, in_all
    counts, first = np.diff(work.job_first), np.repeat(work.job_first[:-1], np.diff(work.job_first))
    per_node = np.repeat(np.where(work.gang_nodes > 0, work.tasks_per_node, 0), counts)
    is_counted = per_node > 0
    number = np.where(is_counted, (np.arange(work.n_tasks) - first) // np.maximum(per_node, 1), 0)
    leader = first + number * per_node  # the first task of its node
    np.add.at(in_all, leader, size)
    return number, np.where(is_counted, in_all[leader], 0.0)
