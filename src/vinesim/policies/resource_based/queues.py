"""Step 1, queue assignment: cpu_jobs, acc_jobs and ocl_jobs, and their tasks. Source: RBSS paper, 3.2.2."""

from typing import Any

from vinesim.policies.resource_based.flags import (
    BY_ARRIVAL,
    BY_CPU_TIME,
    BY_LENGTH,
    IN_ORDER,
    LONGEST,
    SHORTEST,
    STAYS,
    STRICT,
    TO_MOVE,
)
from vinesim.policies.resource_based.together import any_is_empty, longest_estimate_us, longest_us
from vinesim.state.demand import amount_of
from vinesim.state.layout import OVERFULL, PENDING
from vinesim.state.queries import arrival_us, job_of, n_arrived, task_type
from vinesim.state.skew_heap import join, without_root


def group_of(model: Any, task: int) -> int:
    """Return the task's group."""
    return int(model.task_group[task]) if len(model.task_group) else 0


def fastest_us(model: Any, state: Any, task: int, on_cpu: bool) -> float:
    """Return the task's shortest time on a deployed CPU, or accelerator, of the types that can hold it with its gang;
    infinite if there are none."""
    best_us = float("inf")
    own_type = task_type(model, state, task)
    for i in range(model.ranking.shape[1]):
        p = int(model.ranking[own_type, i])
        if p < 0:
            break
        if model.type_is_cpu[p] == on_cpu and may_hold(model, state, task, p):
            best_us = min(best_us, longest_us(model, state, task, p))
    return best_us


def may_hold(model: Any, state: Any, task: int, processor_type: int) -> bool:
    """Whether the empty datacenter has room for the task, and for its gang if it is of one, on units of a type."""
    if len(model.gang_types) > 0 and not model.gang_types[job_of(model, state, task), processor_type]:
        return False
    if len(model.task_demand) == 0:
        return True
    capacity = model.type_capacity[processor_type]
    return amount_of(model.task_demand[task], capacity) <= capacity * OVERFULL


def place_in_order(model: Any, state: Any, scratch: Any, task: int, order: int) -> float:
    """Return the key of the task in its queue; the smallest comes first. Aging, now - submit + estimate, grows equally
    for all waiting tasks, so the key needs only the submit time and not the clock."""
    estimate = scratch.estimate[task]
    if order == BY_ARRIVAL:
        return 0.0
    if order == SHORTEST:
        return estimate
    if order == LONGEST:
        return -estimate
    return arrival_us(model, state, task) - estimate


def estimate_on_entry(model: Any, state: Any, view: Any, task: int) -> float:
    """Return the estimate of the task as it enters its queue."""
    own_type = task_type(model, state, task)
    if view.options.estimate.learned and view.scratch.ended[own_type] > 0:
        return view.scratch.ended_us[own_type] / view.scratch.ended[own_type]
    return longest_estimate_us(model, state, task)


def enter(model: Any, state: Any, view: Any, task: int, order: int, relaxing: int, moving: int) -> None:
    """Add the task to the heaps of its queues. A task that returns gets its old place, with its old estimate."""
    scratch = view.scratch
    scratch.waiting[0] += 1
    scratch.waits[task] = 1
    scratch.changed[0] = 1
    scratch.move_from[0] = moving
    if any_is_empty(model, state, task):
        scratch.has_empty[0] = 1
    if scratch.held[task] == 0:
        scratch.estimate[task] = estimate_on_entry(model, state, view, task)
        scratch.order_key[task] = place_in_order(model, state, scratch, task, order)
        scratch.cpu_us[task] = fastest_us(model, state, task, True)
        accelerator_us = fastest_us(model, state, task, False)
        is_faster = accelerator_us < scratch.cpu_us[task]
        scratch.for_accelerator[task] = is_faster if view.options.kind.best else accelerator_us < float("inf")
    wanted = int(IN_ORDER)
    if relaxing != STRICT:
        wanted |= BY_LENGTH
    if moving != STAYS and scratch.for_accelerator[task] == 1 and scratch.cpu_us[task] < float("inf"):
        wanted |= TO_MOVE | BY_CPU_TIME
    into_heaps(model, scratch, task, wanted & ~int(scratch.held[task]), moving)


def into_heaps(model: Any, scratch: Any, task: int, wanted: int, moving: int) -> None:
    """Add the task to heaps that do not hold it."""
    group, item = group_of(model, task), task + 1
    queue = 2 * group + int(scratch.for_accelerator[task])
    if wanted & IN_ORDER:
        scratch.order_root[queue] = join(
            scratch.order_key, scratch.order_left, scratch.order_right, 1, int(scratch.order_root[queue]), item
        )
    if wanted & BY_LENGTH:
        scratch.short_root[queue] = join(
            scratch.estimate, scratch.short_left, scratch.short_right, 1, int(scratch.short_root[queue]), item
        )
    if wanted & TO_MOVE:
        scratch.move_root[group] = join(
            scratch.order_key, scratch.move_left, scratch.move_right, moving, int(scratch.move_root[group]), item
        )
    if wanted & BY_CPU_TIME:
        scratch.cpu_root[group] = join(
            scratch.cpu_us, scratch.cpu_left, scratch.cpu_right, 1, int(scratch.cpu_root[group]), item
        )
    scratch.held[task] = int(scratch.held[task]) | wanted


def queue_again(model: Any, state: Any, scratch: Any) -> None:
    """Rebuild all heaps, of the tasks that wait: tasks or groups have other numbers than before."""
    scratch.changed[0] = 1
    for queue in range(len(scratch.order_root)):
        scratch.order_root[queue], scratch.short_root[queue] = 0, 0
    for group in range(len(scratch.move_root)):
        scratch.move_root[group], scratch.cpu_root[group] = 0, 0
    for task in range(n_arrived(model, state)):
        scratch.order_left[task], scratch.order_right[task] = 0, 0
        scratch.short_left[task], scratch.short_right[task] = 0, 0
        scratch.move_left[task], scratch.move_right[task] = 0, 0
        scratch.cpu_left[task], scratch.cpu_right[task] = 0, 0
        wanted = int(scratch.held[task])
        scratch.held[task] = 0
        if state.task_unit[task] == PENDING:
            into_heaps(model, scratch, task, wanted, int(scratch.move_from[0]))


def without_started(
    state: Any, held: Any, heap: int, key: Any, left: Any, right: Any, direction: int, root: int
) -> int:
    """Return the heap with a waiting task at its root, or empty."""
    root = int(root)
    while root > 0 and state.task_unit[root - 1] != PENDING:
        held[root - 1] = int(held[root - 1]) & ~heap
        root = without_root(key, left, right, direction, root)
    return root
