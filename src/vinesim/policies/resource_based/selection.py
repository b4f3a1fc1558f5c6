"""Step 2, job selection: which job a free device of a node gets. Source: RBSS paper, 3.2.3, Algorithms 1, 2, Fig. 5.

Questions with one answer for all tasks of a group (same type and requests) are asked about one of them.
"""

from typing import Any

from vinesim.policies.resource_based.flags import BY_CPU_TIME, BY_LENGTH, FROM_HEAD, IN_ORDER, STAYS, STRICT, TO_MOVE
from vinesim.policies.resource_based.queues import without_started
from vinesim.policies.resource_based.together import all_meet, longest_us
from vinesim.state.layout import PENDING
from vinesim.state.queries import fits, job_of, next_with_room, task_type, unit_tasks
from vinesim.state.skew_heap import comes_before, join, without_root

ANY_FIT, OPTIMAL, IN_TIME = range(3)  # what is required besides fitting; IN_TIME requires optimal too


def next_free(model: Any, state: Any, options: Any, processor_type: int, unit: int) -> int:
    """Return the first unit of a type, ``unit`` or after it, that can take a job."""
    found = next_with_room(model, state, processor_type, unit)
    while found >= 0 and not options.sharing and unit_tasks(model, state, found) > 0:
        found = next_with_room(model, state, processor_type, found + 1)
    return found


def is_able(model: Any, processor_type: int, group: int) -> bool:
    """Whether the type can run the group's tasks."""
    return model.affinity[processor_type, model.group_task_type[group]] > 0.0


def look_at_queues(model: Any, state: Any, scratch: Any, relaxing: int, moving: int) -> None:
    """Find the first job of the queues for each processor type, and the types that may get any."""
    for queue in range(len(scratch.order_root)):
        scratch.order_root[queue] = without_started(
            state,
            scratch.held,
            IN_ORDER,
            scratch.order_key,
            scratch.order_left,
            scratch.order_right,
            FROM_HEAD,
            int(scratch.order_root[queue]),
        )
        scratch.short_root[queue] = without_started(
            state,
            scratch.held,
            BY_LENGTH,
            scratch.estimate,
            scratch.short_left,
            scratch.short_right,
            FROM_HEAD,
            int(scratch.short_root[queue]),
        )
    for p in range(len(model.affinity)):
        scratch.head[p], scratch.wanted[p] = 0, 0
        for group in range(len(model.group_task_type)):
            root = int(scratch.order_root[2 * group + (0 if model.type_is_cpu[p] else 1)])
            if root > 0 and is_able(model, p, group):
                if relaxing != STRICT:
                    scratch.wanted[p] = 1
                if all_meet(model, state, root - 1, p):
                    scratch.wanted[p] = 1
                    head = int(scratch.head[p])
                    if head == 0 or comes_before(scratch.order_key, 1, root, head):
                        scratch.head[p] = root
    if moving != STAYS:
        look_for_moves(model, state, scratch, moving)


def look_for_moves(model: Any, state: Any, scratch: Any, moving: int) -> None:
    """Also mark CPUs as wanted if an accelerator job may be fast enough on one."""
    limit_us = -1.0  # no accelerator job sets a higher limit
    for p in range(len(model.affinity)):
        head = int(scratch.head[p])
        if head > 0 and not model.type_is_cpu[p]:
            for other in range(len(model.affinity)):
                us = accelerator_us(model, state, head - 1, other)
                if us < float("inf"):
                    limit_us = max(limit_us, us)
    for group in range(len(model.group_task_type)):
        scratch.move_root[group] = without_started(
            state,
            scratch.held,
            TO_MOVE,
            scratch.order_key,
            scratch.move_left,
            scratch.move_right,
            moving,
            int(scratch.move_root[group]),
        )
        scratch.cpu_root[group] = without_started(
            state,
            scratch.held,
            BY_CPU_TIME,
            scratch.cpu_us,
            scratch.cpu_left,
            scratch.cpu_right,
            FROM_HEAD,
            int(scratch.cpu_root[group]),
        )
        quickest = int(scratch.cpu_root[group])
        if quickest > 0 and scratch.cpu_us[quickest - 1] <= limit_us:
            for p in range(len(model.affinity)):
                if model.type_is_cpu[p] and is_able(model, p, group) and all_meet(model, state, quickest - 1, p):
                    scratch.wanted[p] = 1


def accelerator_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the task's time on a type of accelerator that meets its requests, else infinite."""
    if model.type_is_cpu[processor_type] or not all_meet(model, state, task, processor_type):
        return float("inf")
    return longest_us(model, state, task, processor_type)


def limit_of_node(model: Any, state: Any, scratch: Any, first: int, end: int) -> float:
    """Return the time limit for a job that moves to the node's CPU: the time of the first job that fits an accelerator
    of the node, busy or not, on the fastest one that it fits; -1 if there is none."""
    job = 0
    for unit in range(first, end):
        head = int(scratch.head[model.unit_type[unit]])
        is_first = head > 0 and (job == 0 or comes_before(scratch.order_key, 1, head, job))
        if is_first and not model.type_is_cpu[model.unit_type[unit]]:
            job = head
    if job == 0:
        return -1.0
    best_us = float("inf")
    for unit in range(first, end):
        best_us = min(best_us, accelerator_us(model, state, job - 1, int(model.unit_type[unit])))
    return best_us


def faster_is_free(model: Any, state: Any, options: Any, task: int, processor_type: int) -> bool:
    """Whether another free device of the same kind, which meets the task's requests, is faster for it."""
    own_us = longest_us(model, state, task, processor_type)
    for p in range(len(model.affinity)):
        if (
            model.type_is_cpu[p] == model.type_is_cpu[processor_type]
            and longest_us(model, state, task, p) < own_us
            and all_meet(model, state, task, p)
        ):
            unit = next_free(model, state, options, p, 0)
            while unit >= 0:
                if fits(model, state, task, unit):
                    return True
                unit = next_free(model, state, options, p, unit + 1)
    return False


def is_accepted(model: Any, state: Any, options: Any, task: int, unit: int, rule: int, limit_us: float) -> bool:
    """Whether the task may start on the unit, given that its requests are met."""
    if not fits(model, state, task, unit):
        return False
    if rule == IN_TIME and longest_us(model, state, task, int(model.unit_type[unit])) > limit_us:
        return False
    return (
        rule == ANY_FIT
        or options.node_rule.fit
        or not faster_is_free(model, state, options, task, int(model.unit_type[unit]))
    )


def are_all_alike(model: Any, state: Any, scratch: Any, task: int, rule: int) -> bool:
    """Whether a refusal of one task of a group holds for all of them. It says nothing about the rest of gangs."""
    if len(model.job_gang) > 0 and task != model.job_first[job_of(model, state, task)]:
        return False
    if rule == IN_TIME or len(model.task_demand) > 0 or len(model.task_times_us) > 0 or scratch.has_empty[0] == 1:
        return False
    own_type = task_type(model, state, task)
    overhead_us = 0.0
    for p in range(len(model.affinity)):
        overhead_us += model.overhead_us[p, own_type]
    return overhead_us == 0.0


def first_accepted(
    model: Any,
    state: Any,
    view: Any,
    heap: int,
    key: Any,
    left: Any,
    right: Any,
    direction: int,
    roots: Any,
    place: int,
    unit: int,
    rule: int,
    limit_us: float,
) -> int:
    """Return the first waiting task of a heap that may start on the unit, numbered from 1; 0 if there is none.

    Tasks that are refused on the way are removed and put back: few, unless ``are_all_alike`` is false.
    """
    scratch = view.scratch
    found, chain = 0, 0
    root = int(roots[place])
    while root > 0:
        if state.task_unit[root - 1] == PENDING:
            if is_accepted(model, state, view.options, root - 1, unit, rule, limit_us):
                found = root
                break
            if are_all_alike(model, state, scratch, root - 1, rule):
                break
            scratch.aside[root - 1] = chain
            chain = root
        else:
            scratch.held[root - 1] = int(scratch.held[root - 1]) & ~heap
        root = without_root(key, left, right, direction, root)
    while chain > 0:
        following = int(scratch.aside[chain - 1])
        root = join(key, left, right, direction, root, chain)
        chain = following
    roots[place] = root
    return found


def first_job(model: Any, state: Any, view: Any, unit: int) -> int:
    """Algorithms 1 and 2: return the first job of the unit's queue for which its node is optimal; -1 if none."""
    scratch, p = view.scratch, int(model.unit_type[unit])
    head = int(scratch.head[p])
    if head == 0 or is_accepted(model, state, view.options, head - 1, unit, OPTIMAL, 0.0):
        return head - 1
    best = 0
    for group in range(len(model.group_task_type)):
        queue = 2 * group + (0 if model.type_is_cpu[p] else 1)
        root = int(scratch.order_root[queue])
        if root > 0 and is_able(model, p, group) and all_meet(model, state, root - 1, p):
            found = first_accepted(
                model,
                state,
                view,
                IN_ORDER,
                scratch.order_key,
                scratch.order_left,
                scratch.order_right,
                FROM_HEAD,
                scratch.order_root,
                queue,
                unit,
                OPTIMAL,
                0.0,
            )
            if found > 0 and (best == 0 or comes_before(scratch.order_key, 1, found, best)):
                best = found
    return best - 1


def moved_job(model: Any, state: Any, view: Any, unit: int, first: int, end: int, moving: int) -> int:
    """Figure 5: return the accelerator job that the free CPU of the node [first, end) runs instead; -1 if none."""
    scratch, p = view.scratch, int(model.unit_type[unit])
    limit_us = limit_of_node(model, state, scratch, first, end)
    best = 0
    for group in range(len(model.group_task_type)):
        quickest = int(scratch.cpu_root[group])
        if (
            quickest > 0
            and scratch.cpu_us[quickest - 1] <= limit_us
            and is_able(model, p, group)
            and all_meet(model, state, quickest - 1, p)
        ):
            found = first_accepted(
                model,
                state,
                view,
                TO_MOVE,
                scratch.order_key,
                scratch.move_left,
                scratch.move_right,
                moving,
                scratch.move_root,
                group,
                unit,
                IN_TIME,
                limit_us,
            )
            if found > 0 and (best == 0 or comes_before(scratch.order_key, moving, found, best)):
                best = found
    return best - 1


def relaxed_job(model: Any, state: Any, view: Any, first: int, end: int, share: float) -> tuple[int, int]:
    """Relaxed requests: return the shortest job for which ``share`` of its requests fits a free device of the node
    [first, end), and that device; -1, -1 if there is none."""
    scratch = view.scratch
    best, best_unit = 0, -1
    for rank in range(len(model.affinity)):
        p = int(scratch.device_order[rank])
        unit = next_free(model, state, view.options, p, first)
        while 0 <= unit < end:
            for group in range(len(model.group_task_type)):
                queue = 2 * group + (0 if model.type_is_cpu[p] else 1)
                root = int(scratch.short_root[queue])
                if root > 0 and is_able(model, p, group) and all_meet(model, state, root - 1, p, share):
                    found = first_accepted(
                        model,
                        state,
                        view,
                        BY_LENGTH,
                        scratch.estimate,
                        scratch.short_left,
                        scratch.short_right,
                        FROM_HEAD,
                        scratch.short_root,
                        queue,
                        unit,
                        ANY_FIT,
                        0.0,
                    )
                    if found > 0 and (best == 0 or comes_before(scratch.estimate, 1, found, best)):
                        best, best_unit = found, unit
            if len(model.task_demand) == 0:
                break  # the other units of the type are equally free
            unit = next_free(model, state, view.options, p, unit + 1)
    return best - 1, best_unit
