"""SCHEDULE: node after node, the free devices get their jobs. Source: RBSS paper, section 3.2.3.

A call begins when all arrivals and completions of an instant are known. Its starts are requested one by one, so its
position is kept in the scratch. Nodes without a free device of a type that may get a job are skipped by the index;
their free passes still count, as the calls since ``passed``.
"""

import math
from typing import Any

from vinesim.policies.resource_based.flags import RELAXES, SKIPS_EMPTY, STAYS, STRICT, TWO_PHASE
from vinesim.policies.resource_based.queues import enter
from vinesim.policies.resource_based.selection import first_job, look_at_queues, moved_job, next_free, relaxed_job
from vinesim.policies.resource_based.together import n_dropped, n_together
from vinesim.state.layout import ARRIVAL, FINISH, OUTAGE, PENDING, TIMER
from vinesim.state.places import end_of_members
from vinesim.state.queries import (
    all_arrived,
    first_interrupted,
    first_withdrawn,
    has_room,
    is_up,
    more_at_once,
    next_interrupted,
    next_withdrawn,
    nothing,
    start,
    task_type,
    unit_tasks,
    wait_until,
)

MOST_PASSES = 1100  # 0.5 to this power is 0: nothing remains of a request


def schedule(model: Any, state: Any, view: Any, order: int, relaxing: int, moving: int) -> Any:
    """Decide, for every policy of the family."""
    scratch = view.scratch
    count_passes_of_gang(model, state, scratch)
    if scratch.in_call[0] == 0:
        update(model, state, view, order, relaxing, moving)
        if more_at_once(model, state) or not is_time_to_call(view):
            return later(view)
        if scratch.waiting[0] > 0 or relaxing & SKIPS_EMPTY == 0:
            scratch.calls[0] += 1
        begin_call(scratch)
    task, unit = next_start(model, state, view, relaxing, moving)
    while task < 0 and relaxing != STRICT and period_us(view) == 0.0 and is_hopeful(model, state, scratch):
        scratch.stuck[0] += 1
        scratch.calls[0] += 1  # no event is to come: only more free passes can help
        begin_call(scratch)
        task, unit = next_start(model, state, view, relaxing, moving)
    if task < 0:
        scratch.in_call[0] = 0
        if scratch.started[0] == 1:
            return later(view)
        scratch.stuck[0] += 1  # until something happens, the next call differs only by the free passes
        return later(view) if relaxing != STRICT and scratch.stuck[0] < MOST_PASSES else nothing()
    scratch.passed[model.node_first[model.unit_node[unit]]] = scratch.calls[0]
    n_started = n_together(model, state, task)
    if n_started > 1:
        scratch.gang[0], scratch.gang_call[0], scratch.gang_us[0] = task + 1, scratch.calls[0], view.now_us
    scratch.waiting[0] -= 1
    scratch.waits[task] = 0
    scratch.running[0] += n_started
    scratch.stuck[0] = 0
    scratch.started[0] = 1
    scratch.changed[0] = 1
    if scratch.waiting[0] == 0:
        scratch.in_call[0] = 0  # the loop does not ask again
    return start(task, unit)


def count_passes_of_gang(model: Any, state: Any, scratch: Any) -> None:
    """Reset the free passes of all nodes of the gang that started last, now that its units are known."""
    first = int(scratch.gang[0]) - 1
    if first >= 0:
        scratch.gang[0] = 0
        for member in range(first, end_of_members(model, state, first)):
            unit = int(state.task_unit[member])
            if unit >= 0 and state.task_init_us[member] == scratch.gang_us[0]:
                scratch.passed[model.node_first[model.unit_node[unit]]] = scratch.gang_call[0]


def update(model: Any, state: Any, view: Any, order: int, relaxing: int, moving: int) -> None:
    """Process an event: tasks arrive, or one ends and its node has a free device again."""
    scratch = view.scratch
    if scratch.ready[0] == 0:
        order_devices(model, scratch)
        scratch.ready[0] = 1
    if view.event == ARRIVAL:
        first, end = int(model.job_first[view.job]), int(model.job_first[view.job + 1])
        scratch.stuck[0] = 0
        for task in range(first, end):
            if state.task_unit[task] == PENDING:
                enter(model, state, view, task, order, relaxing, moving)
    elif view.event == OUTAGE:
        take_back_interrupted(model, state, view, order, relaxing, moving)
    elif view.event == FINISH:
        scratch.running[0] -= 1
        scratch.stuck[0] = 0
        own_type = task_type(model, state, view.task)
        scratch.ended[own_type] += 1
        scratch.ended_us[own_type] += view.now_us - state.task_start_us[view.task]
        reset_passes_of_full(model, state, view, view.unit)
    if view.event == OUTAGE or view.event == TIMER:
        forget_withdrawn(model, state, view)


def reset_passes_of_full(model: Any, state: Any, view: Any, unit: int) -> None:
    """Reset the free passes of the unit's node if no other unit of it is free, but for those vacated by this event."""
    scratch, node = view.scratch, int(model.unit_node[unit])
    first, end = int(model.node_first[node]), int(model.node_first[node + 1])
    for other in range(first, end):
        if other != unit and scratch.is_vacated[other] == 0 and is_free(model, state, view.options, other):
            return
    scratch.passed[first] = scratch.calls[0]


def forget_withdrawn(model: Any, state: Any, view: Any) -> None:
    """Count out the tasks that have left because their jobs are withdrawn; the heaps let go of them as of others that
    do not wait any more."""
    scratch, task = view.scratch, first_withdrawn(model, state)
    while task >= 0:
        scratch.stuck[0], scratch.changed[0] = 0, 1
        if scratch.waits[task] == 1:
            scratch.waits[task] = 0
            scratch.waiting[0] -= 1
        elif state.task_unit[task] >= 0:
            scratch.running[0] -= 1
            scratch.is_vacated[state.task_unit[task]] = 1
        task = next_withdrawn(model, state, task)
    task = first_withdrawn(model, state)
    while task >= 0:
        if state.task_unit[task] >= 0:
            reset_passes_of_full(model, state, view, int(state.task_unit[task]))
        task = next_withdrawn(model, state, task)
    task = first_withdrawn(model, state)
    while task >= 0:
        if state.task_unit[task] >= 0:
            scratch.is_vacated[state.task_unit[task]] = 0
        task = next_withdrawn(model, state, task)


def take_back_interrupted(model: Any, state: Any, view: Any, order: int, relaxing: int, moving: int) -> None:
    """Put interrupted tasks back into their queues; reset the free passes of nodes that are up again."""
    scratch = view.scratch
    scratch.stuck[0] = 0
    task = first_interrupted(model, state)
    while task >= 0:
        if state.task_unit[task] == PENDING:
            scratch.running[0] -= n_together(model, state, task)
            enter(model, state, view, task, order, relaxing, moving)
        else:  # its job was withdrawn at the same instant
            scratch.running[0] -= n_dropped(model, state, task)
        task = next_interrupted(model, state, task)
    for node in range(len(model.node_first) - 1):
        first = int(model.node_first[node])
        if first < model.node_first[node + 1]:
            is_down = not is_up(model, state, first)
            if scratch.was_down[first] == 1 and not is_down:
                scratch.passed[first] = scratch.calls[0]
            scratch.was_down[first] = is_down


def is_free(model: Any, state: Any, options: Any, unit: int) -> bool:
    """Whether the unit can take a job."""
    return has_room(model, state, unit) and (options.sharing or unit_tasks(model, state, unit) == 0)


def order_devices(model: Any, scratch: Any) -> None:
    """Order devices: CPUs first, then accelerators, those with more SMs first; by code among equals."""
    for rank in range(len(model.affinity)):
        scratch.device_order[rank] = rank
        at = rank
        while at > 0 and is_tried_before(model, rank, int(scratch.device_order[at - 1])):
            scratch.device_order[at] = scratch.device_order[at - 1]
            at -= 1
        scratch.device_order[at] = rank


def is_tried_before(model: Any, one: int, other: int) -> bool:
    """Whether devices of the first type are tried before those of the second, whose code is lower."""
    if model.type_is_cpu[one] or model.type_is_cpu[other]:
        return model.type_is_cpu[one] and not model.type_is_cpu[other]
    return model.type_sms[one] > model.type_sms[other]


def period_us(view: Any) -> float:
    """Return the period of the calls; 0 if there is none, or if it is too short to advance the clock."""
    period = view.options.polling_us
    return period if view.now_us + period > view.now_us else 0.0


def next_poll(now_us: float, period: float) -> int:
    """Return the number of the first period that does not end before now."""
    polls = math.floor(now_us / period)
    while polls * period < now_us:
        polls += 1
    return polls


def is_time_to_call(view: Any) -> bool:
    """Whether SCHEDULE is called now: at once, or when a period ends. Skipped periods had nothing to do."""
    period = period_us(view)
    return period == 0.0 or next_poll(view.now_us, period) * period == view.now_us


def later(view: Any) -> Any:
    """Ask again when the period ends, if calls are periodic."""
    period = period_us(view)
    if period == 0.0 or view.scratch.waiting[0] == 0:
        return nothing()
    polls = next_poll(view.now_us, period)
    while not polls * period > view.now_us:
        polls += 1
    return wait_until(polls * period)


def begin_call(scratch: Any) -> None:
    """Begin at the first node."""
    scratch.in_call[0] = 1
    scratch.started[0] = 0
    scratch.in_second_phase[0] = 0
    scratch.node[0] = -1
    scratch.unit[0] = 0


def is_hopeful(model: Any, state: Any, scratch: Any) -> bool:
    """Whether nothing runs and nothing will arrive, and relaxing may still help the waiting jobs."""
    is_over = scratch.running[0] == 0 and all_arrived(model, state)
    return is_over and scratch.waiting[0] > 0 and scratch.stuck[0] < MOST_PASSES


def next_start(model: Any, state: Any, view: Any, relaxing: int, moving: int) -> tuple[int, int]:
    """Return the next job that the call starts, and its unit; -1, -1 at the end of the call."""
    scratch, n_types = view.scratch, len(model.affinity)
    if scratch.changed[0] == 1:
        look_at_queues(model, state, scratch, relaxing, moving)
        scratch.changed[0] = 0
    while True:
        node = int(scratch.node[0])
        if node < 0:
            node = next_node(model, state, view)
            if node < 0 and relaxing & TWO_PHASE and scratch.in_second_phase[0] == 0:
                scratch.in_second_phase[0] = 1
                scratch.unit[0] = 0
                continue
            if node < 0:
                return -1, -1
            scratch.node[0] = node
            scratch.rank[0] = 0
            scratch.unit[0] = model.node_first[node]
        first, end = int(model.node_first[node]), int(model.node_first[node + 1])
        while scratch.in_second_phase[0] == 0 and scratch.rank[0] < 2 * n_types:
            rank = int(scratch.rank[0])
            moves = rank >= n_types
            p = int(scratch.device_order[rank - n_types if moves else rank])
            unit = -1
            if scratch.wanted[p] == 1 and (not moves or (moving != STAYS and model.type_is_cpu[p])):
                unit = next_free(model, state, view.options, p, int(scratch.unit[0]))
            if unit < 0 or unit >= end:
                scratch.rank[0] += 1
                scratch.unit[0] = first
                continue
            scratch.unit[0] = unit + 1
            if moves:
                task = moved_job(model, state, view, unit, first, end, moving)
            else:
                task = first_job(model, state, view, unit)
            if task >= 0:
                return task, unit
        passes = int(scratch.calls[0]) - int(scratch.passed[first])
        scratch.node[0] = -1
        scratch.unit[0] = end
        if relaxing & RELAXES and passes > 0 and (scratch.in_second_phase[0] == 1 or relaxing & TWO_PHASE == 0):
            task, unit = relaxed_job(model, state, view, first, end, 0.5**passes)
            if task >= 0:
                return task, unit


def next_node(model: Any, state: Any, view: Any) -> int:
    """Return the next node, from ``scratch.unit`` on, with a free unit of a type that may get a job; -1 if none."""
    first = -1
    for p in range(len(model.affinity)):
        if view.scratch.wanted[p] == 1:
            unit = next_free(model, state, view.options, p, int(view.scratch.unit[0]))
            if unit >= 0 and (first < 0 or unit < first):
                first = unit
    return int(model.unit_node[first]) if first >= 0 else -1
