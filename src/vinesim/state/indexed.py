"""The queries of ``state/queries.py``, answered from the indexes: this is what a compiled policy calls.

Each function here is the compiled form of the query of the same name and must give the same answer; property tests
compare the two over whole runs.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba.core.typing.templates import infer_global

from vinesim.state import event_queue, node_index, queries, skew_heap
from vinesim.state.bits import ZERO, at_or_after, at_or_before, contains, count_ones, lowest
from vinesim.state.demand import amount_of
from vinesim.state.kernel import (
    ends_early,
    has_gangs,
    holds_several,
    inlined,
    kernel,
    not_negative,
    part,
    scores_nodes,
)
from vinesim.state.layout import DROP, FULL, MOVE, NOTHING, OVERFULL, PENDING, PREEMPT, START, UNFIT, Action
from vinesim.state.part import Choice, PartType

INTEGER_BITS = np.uint64(11)
TO_UNIT = 2.0**-53
_forms: dict[Callable[..., Any], Any] = {}  # Numba refers to them weakly


def compiled_form_of(
    query: Callable[..., Any],
    inline: bool = True,
    without: Callable[..., Any] | None = None,
    where: Callable[..., bool] = holds_several,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make ``body`` what compiled code runs for a call of ``query``; long bodies stay calls, which compile faster.

    ``without`` is what it runs instead where no task holds several units, or where something else does not hold: loops
    are compiled apart for both, so that one costs the other nothing.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        form = part(body, inline)
        _forms[query] = form if without is None else Choice(where, form, part(without, inline))
        infer_global(query, PartType(_forms[query]))
        return body

    return register


def _only(
    where: Callable[..., bool], without: Callable[..., Any], inline: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make of a body a function for compiled code that does ``without`` elsewhere. The first arguments of both are the
    model and the state."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        def stub(*args: Any) -> Any:
            raise NotImplementedError(f"{body.__name__} is for compiled code")

        compiled_form_of(stub, inline, without, where)(body)
        return stub

    return register


with_several_units, with_early_ends = partial(_only, holds_several), partial(_only, ends_early)
with_gangs, with_node_scores = partial(_only, has_gangs), partial(_only, scores_nodes)


# These bodies work in both engines: the queries that they call are answered from the indexes here.
for same in (
    queries.arrival_us,
    queries.bounded,
    queries.deadline_us,
    queries.has_room,
    queries.has_room_for,
    queries.is_up,
    queries.meets_on_type,
    queries.operations,
    queries.room,
    queries.started_us,
    queries.transfer_us,
):
    compiled_form_of(same)(same)


@compiled_form_of(queries.demand, without=queries.demand)
def demand(model, state, task, unit):
    return amount_of(model.kind_share[queries.task_type(model, state, task)], model.unit_capacity[unit])


@kernel
def companion_of_several(model, state, place, amount):
    """Return the first of the units of a type at a node that has room for that amount."""
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        if queries.has_room_for(model, state, np.int64(model.node_unit[i]), amount):
            return np.int64(model.node_unit[i])
    return np.int64(-1)


@compiled_form_of(queries.companion_unit)
def companion_unit(model, state, node, processor_type, amount):
    place = not_negative(node * model.affinity.shape[0] + processor_type)
    unit = np.int64(model.node_sole[place])
    if unit >= 0:
        return unit if queries.has_room_for(model, state, unit, amount) else np.int64(-1)
    return companion_of_several(model, state, place, amount)


for called in (queries.first_free_at, queries.tightest_free_at):
    compiled_form_of(called, inline=False)(called)


def nothing_else(model: Any, state: Any, task: int, unit: int) -> bool:
    return True


compiled_form_of(queries.rest_fits, inline=False, without=nothing_else)(queries.rest_fits)


@compiled_form_of(queries.nothing)
def nothing():
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), np.inf)


@compiled_form_of(queries.wait_until)
def wait_until(time_us):
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), float(time_us))


@compiled_form_of(queries.start)
def start(task, unit):
    return Action(np.int64(START), np.int64(task), np.int64(1), np.int64(unit), np.inf)


@compiled_form_of(queries.start_consolidated)
def start_consolidated(task, count, unit):
    return Action(np.int64(START), np.int64(task), np.int64(count), np.int64(unit), np.inf)


@compiled_form_of(queries.drop)
def drop(task):
    return Action(np.int64(DROP), np.int64(task), np.int64(0), np.int64(-1), np.inf)


@compiled_form_of(queries.preempt)
def preempt(task):
    return Action(np.int64(PREEMPT), np.int64(task), np.int64(1), np.int64(-1), np.inf)


@compiled_form_of(queries.move)
def move(task, unit):
    return Action(np.int64(MOVE), np.int64(task), np.int64(1), np.int64(unit), np.inf)


@compiled_form_of(queries.more_at_once)
def more_at_once(model, state):
    run = state.run[0]
    arrives = run.next_job < model.job_arrival_us.shape[0] and model.job_arrival_us[run.next_job] == run.now_us
    return arrives or event_queue.next_us(state) == run.now_us


@inlined
def group_of(model, task):
    return not_negative(model.task_group[task]) if model.task_group.shape[0] > 0 else np.int64(0)


@compiled_form_of(queries.n_arrived)
def n_arrived(model, state):
    return np.int64(state.run[0].n_arrived)


@compiled_form_of(queries.n_pending)
def n_pending(model, state):
    return np.int64(state.run[0].n_pending)


@compiled_form_of(queries.oldest_pending)
def oldest_pending(model, state):
    if state.group_head.shape[0] == 1:
        head = state.group_head[0]
        return head if head < state.run[0].n_arrived else np.int64(-1)
    return np.int64(at_or_after(state.heads, state.heads_1, state.heads_2, 0, 0))


@compiled_form_of(queries.next_pending)
def next_pending(model, state, task):
    if state.group_head.shape[0] == 1:
        head = state.group_head[0]
        return head if task < head < state.run[0].n_arrived else np.int64(-1)
    return np.int64(at_or_after(state.heads, state.heads_1, state.heads_2, 0, task + 1))


@compiled_form_of(queries.first_pending)
def first_pending(model, state, group):
    head = state.group_head[group]
    return head if head < state.run[0].n_arrived else np.int64(-1)


@compiled_form_of(queries.group_size)
def group_size(model, state, task):
    return state.group_pending[group_of(model, task)]


@compiled_form_of(queries.task_type)
def task_type(model, state, task):
    return not_negative(model.group_task_type[group_of(model, task)])


@compiled_form_of(queries.preferred_type)
def preferred_type(model, state, task):
    return np.int64(model.group_preferred[group_of(model, task)])


@compiled_form_of(queries.job_of)
def job_of(model, state, task):
    return np.int64(model.task_job[task])


@compiled_form_of(queries.application)
def application(model, state, task):
    return np.int64(model.group_application[group_of(model, task)])


@compiled_form_of(queries.estimate_us)
def estimate_us(model, state, task):
    if model.task_estimate_us.shape[0] > 0:
        return model.task_estimate_us[task]
    kind = queries.task_type(model, state, task)
    total, n = 0.0, 0
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        total += queries.time_on_type_us(model, state, task, p)
        n += 1
    return total / n


@compiled_form_of(queries.remaining_us)
def remaining_us(model, state, task):
    return max(0.0, queries.estimate_us(model, state, task) * queries.left(model, state, task))


@compiled_form_of(queries.left, inline=False)
def left(model, state, task):
    if not queries.is_running(model, state, task):
        return state.task_left[task]
    return state.task_left[task] * (1.0 - share_done(model, state, task))


@kernel
def share_done(model, state, task):
    """Return which share of the work of its present segment a running task has done, 0 to 1."""
    work = state.task_work_us[task]
    return work_done_us(model, state, task) / work if work > 0.0 else 0.0


@kernel
def work_done_us(model, state, task):
    """Return the us of work that a running task has had in its present segment, at full speed, without its transfer and
    its restart."""
    before, work = state.task_before_us[task], state.task_work_us[task]
    unit, now = np.int64(state.task_unit[task]), state.run[0].now_us
    served = now - state.task_init_us[task]
    if model.unit_parallelism[unit] < model.unit_capacity[unit]:
        load, parallelism = state.unit_load[unit], model.unit_parallelism[unit]
        speed = 1.0 if load <= parallelism else parallelism / load
        done = state.work_done[unit] + (now - state.work_at_us[unit]) * speed
        served = before + work - max(0.0, state.work_due[task] - done) if work < np.inf else 0.0
    return min(max(served - before, 0.0), work)


@compiled_form_of(queries.attained_us)
def attained_us(model, state, task):
    so_far = state.task_attained_us[task]
    if queries.is_running(model, state, task):
        return so_far + (state.run[0].now_us - state.task_init_us[task])
    return so_far


@compiled_form_of(queries.priority)
def priority(model, state, task):
    return model.job_priority[model.task_job[task]] if model.job_priority.shape[0] > 0 else 0.0


@compiled_form_of(queries.user)
def user(model, state, task):
    return np.int64(model.job_user[model.task_job[task]]) if model.job_user.shape[0] > 0 else np.int64(-1)


@compiled_form_of(queries.unit_of)
def unit_of(model, state, task):
    return np.int64(state.task_unit[task])


@compiled_form_of(queries.is_running)
def is_running(model, state, task):
    return contains(state.running, 0, task)


@compiled_form_of(queries.next_running)
def next_running(model, state, task=-1):
    return np.int64(at_or_after(state.running, state.running_1, state.running_2, 0, task + 1))


@compiled_form_of(queries.meets)
def meets(model, state, task, unit, share=1.0):
    return queries.meets_on_type(model, state, task, not_negative(model.unit_type[unit]), share)


@compiled_form_of(queries.first_interrupted)
def first_interrupted(model, state):
    return state.run[0].interrupted


@compiled_form_of(queries.next_interrupted)
def next_interrupted(model, state, task):
    return np.int64(state.task_interrupted[task])


@compiled_form_of(queries.next_with_room)
def next_with_room(model, state, processor_type, unit):
    return np.int64(at_or_after(state.free, state.free_1, state.free_2, processor_type, unit))


@compiled_form_of(queries.can_start)
def can_start(model, state, task, unit):
    p, t = not_negative(model.unit_type[unit]), queries.task_type(model, state, task)
    return model.affinity[p, t] > 0.0 and queries.fits(model, state, task, unit)


@inlined
def data_node(model, task):
    return np.int64(model.task_data_node[task]) if model.task_data_node.shape[0] > 0 else np.int64(0)


@compiled_form_of(queries.tier)
def tier(model, state, task, unit):
    data = data_node(model, task)
    node = np.int64(model.unit_node[unit])
    if node == data:
        return 0
    return 1 if model.node_rack[node] == model.node_rack[data] else 2


@compiled_form_of(queries.execution_us)
def execution_us(model, state, task, unit):
    return queries.time_on_type_us(model, state, task, not_negative(model.unit_type[unit]))


@compiled_form_of(queries.time_on_type_us)
def time_on_type_us(model, state, task, processor_type):
    t = queries.task_type(model, state, task)
    speed = model.affinity[processor_type, t]
    if speed <= 0.0:
        return math.inf
    if model.task_times_us.shape[0] > 0:
        return model.overhead_us[processor_type, t] + model.task_times_us[task, processor_type]
    return model.overhead_us[processor_type, t] + model.task_operations[task] / speed


@compiled_form_of(queries.consolidated_us)
def consolidated_us(model, state, task, processor_type, n_tasks, total_us, share=1.0):
    if model.joined_most.shape[0] == 0:
        return total_us
    t = queries.task_type(model, state, task)
    most = model.joined_most[processor_type, t]
    if most == 0:
        return total_us
    rounds, rest = n_tasks // most, n_tasks % most
    computing_us = rounds * model.joined_us[processor_type, t, most - 1]
    if rest > 0:
        computing_us += model.joined_us[processor_type, t, rest - 1]
    return (model.overhead_us[processor_type, t] + computing_us) * share


def fits_alone(model, state, task, unit):
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return load < capacity * FULL and load + queries.demand(model, state, task, unit) <= capacity * OVERFULL


@compiled_form_of(queries.fits_itself, without=fits_alone)
def fits_itself(model, state, task, unit):
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return (
        load < capacity * FULL
        and load + queries.demand(model, state, task, unit) <= capacity * OVERFULL
        and queries.rest_fits(model, state, task, unit)
    )


def fits_without_gang(model, state, task, unit):
    return queries.fits_itself(model, state, task, unit)


@compiled_form_of(queries.fits, without=fits_without_gang, where=has_gangs)
def fits(model, state, task, unit):
    return queries.fits_itself(model, state, task, unit) and queries.gang_fits(model, state, task, unit)


def first_in_set(model, state, task, p, low, high):
    """Return the first unit of type p in [low, high) with room for the task; the set holds units with any room."""
    unit = at_or_after(state.free, state.free_1, state.free_2, p, low)
    while unit >= 0 and unit < high:
        if queries.fits(model, state, task, unit):
            return np.int64(unit)
        unit = at_or_after(state.free, state.free_1, state.free_2, p, unit + 1)
    return np.int64(-1)


first_of_set = inlined(first_in_set)


@with_several_units(without=first_in_set)
def first_with_room(model, state, task, p, low, high):
    unit = np.int64(at_or_after(state.free, state.free_1, state.free_2, p, low))
    if unit < 0 or unit >= high:
        return np.int64(-1)
    if queries.fits(model, state, task, unit):
        return unit
    return next_that_fits(model, state, task, p, unit, high)


@kernel
def next_that_fits(model, state, task, p, low, high):
    """Do the same when the first unit with any room does not fit: only then is the index of nodes asked."""
    if state.node_room.shape[0] > 0:
        return node_index.first(model, state, task, np.int64(p), np.int64(low), np.int64(high))
    return first_of_set(model, state, task, p, low, high)


@kernel
def first_in_range(model, state, task, p, low, high):
    """Do the same as a call: inlined a dozen times it made closer_to_data compile for 12 s."""
    return first_with_room(model, state, task, p, low, high)


@inlined
def first_of_type(model, state, task, p, distance):
    """Return the first unit of type p, at one tier or any (-1), that has room for the task."""
    if distance < 0:
        return first_with_room(model, state, task, p, 0, model.unit_type.shape[0])
    return first_at_tier(model, state, task, p, distance)


@kernel
def first_at_tier(model, state, task, p, distance):
    """Return the first unit of type p at one tier that has room for the task."""
    n_units = model.unit_type.shape[0]
    node = data_node(model, task)
    rack = model.node_rack[node]
    near, near_end = np.int64(model.node_first[node]), np.int64(model.node_first[node + 1])
    side, side_end = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    if distance == 0:
        return first_in_range(model, state, task, p, near, near_end)
    if distance == 1:
        unit = first_in_range(model, state, task, p, side, near)
        return unit if unit >= 0 else first_in_range(model, state, task, p, near_end, side_end)
    unit = first_in_range(model, state, task, p, 0, side)
    return unit if unit >= 0 else first_in_range(model, state, task, p, side_end, n_units)


@compiled_form_of(queries.first_free, inline=False)
def first_free(model, state, task, processor_type=-1, distance=-1):
    kind = queries.task_type(model, state, task)
    if processor_type >= 0:
        if model.affinity[processor_type, kind] > 0.0:
            return first_of_type(model, state, task, processor_type, distance)
        return np.int64(-1)
    if model.runs_everywhere[kind]:
        return first_of_type(model, state, task, model.affinity.shape[0], distance)
    best = np.int64(-1)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        unit = first_of_type(model, state, task, p, distance)
        if unit >= 0 and (best < 0 or unit < best):
            best = unit
    return best


@compiled_form_of(queries.fastest_free)
def fastest_free(model, state, task):
    kind = queries.task_type(model, state, task)
    best, best_speed = np.int64(-1), 0.0
    n_units = model.unit_type.shape[0]
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0 or (best >= 0 and model.affinity[p, kind] < best_speed):
            break
        unit = first_with_room(model, state, task, p, 0, n_units)
        if unit >= 0 and (best < 0 or unit < best):
            best, best_speed = unit, model.affinity[p, kind]
    return best


@compiled_form_of(queries.is_allowed)
def is_allowed(model, state, task, unit):
    a = model.group_application[group_of(model, task)]
    if a < 0 or a >= model.application_max_consolidated.shape[0]:
        return True
    if not contains(model.application_units, a, unit):
        return False
    return model.application_gang_size[a] == 1 or not holds_member(model, state, task, model.unit_node[unit])


@kernel
def holds_member(model, state, task, node):
    """Whether a task of the same job runs or ran on the node."""
    job = model.task_job[task]
    for other in range(model.job_first[job], model.job_first[job + 1]):
        unit = state.task_unit[other]
        if unit >= 0 and model.unit_node[unit] == node:
            return True
    return False


@compiled_form_of(queries.unit_tasks)
def unit_tasks(model, state, unit):
    return np.int64(state.unit_tasks[unit])


@compiled_form_of(queries.node_tasks)
def node_tasks(model, state, node):
    n = np.int64(0)
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        n += state.unit_tasks[unit]
    return n


@kernel
def renew_scores(model, state, view, task, kind, score):
    """Score the nodes that have changed since tasks of the type last asked; all, where their demands differ."""
    is_alike = model.kind_units.shape[0] > 0 or model.task_demand.shape[0] == 0
    seen = state.kind_seen[kind] if is_alike else np.int64(-1)
    for node in range(model.node_rack.shape[0]):
        if state.node_change[node] > seen:
            found = np.int64(UNFIT)
            if queries.first_free_at(model, state, task, node) >= 0:
                found = np.int64(queries.bounded(score(model, state, task, node, view)))
            state.node_score[kind, node] = found
    state.kind_seen[kind] = state.run[0].n_changes


@compiled_form_of(queries.best_node, inline=False)
def best_node(model, state, view, task, score):
    kind = queries.task_type(model, state, task)
    renew_scores(model, state, view, task, kind, score)
    best, highest = np.int64(-1), np.int64(UNFIT)
    for node in range(model.node_rack.shape[0]):
        found = np.int64(state.node_score[kind, node])
        if found > highest:
            best, highest = np.int64(node), found
    return best


@kernel
def _no_score(model, state, task, node, view):
    return np.int64(0)


@compiled_form_of(queries.random_node, inline=False)
def random_node(model, state, view, task):
    kind = queries.task_type(model, state, task)
    renew_scores(model, state, view, task, kind, _no_score)
    n = np.int64(0)
    for node in range(model.node_rack.shape[0]):
        n += state.node_score[kind, node] != UNFIT
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    for node in range(model.node_rack.shape[0]):
        if state.node_score[kind, node] != UNFIT:
            if k == 0:
                return np.int64(node)
            k -= 1
    return np.int64(-1)


@compiled_form_of(queries.node_tasks_of)
def node_tasks_of(model, state, node, task_type):
    return np.int64(state.node_kinds[node, task_type])


@compiled_form_of(queries.least_busy, inline=False)
def least_busy(model, state, task, processor_type):
    """Look at the units of the type with room, until one on an idle node is found."""
    best, fewest = np.int64(-1), np.int64(0)
    if model.affinity[processor_type, queries.task_type(model, state, task)] <= 0.0:
        return best
    unit = at_or_after(state.free, state.free_1, state.free_2, processor_type, 0)
    while unit >= 0:
        if queries.fits(model, state, task, unit) and queries.is_allowed(model, state, task, unit):
            n = queries.node_tasks(model, state, model.unit_node[unit])
            if best < 0 or n < fewest:
                best, fewest = np.int64(unit), n
                if n == 0:
                    break
        unit = at_or_after(state.free, state.free_1, state.free_2, processor_type, unit + 1)
    return best


@compiled_form_of(queries.has_nodes, inline=False)
def has_nodes(model, state, task, processor_type, n):
    if model.affinity[processor_type, queries.task_type(model, state, task)] <= 0.0:
        return n <= 0
    last, found = np.int64(-1), np.int64(0)
    unit = at_or_after(state.free, state.free_1, state.free_2, processor_type, 0)
    while unit >= 0 and found < n:
        node = np.int64(model.unit_node[unit])  # the units of a node are consecutive
        if node != last and queries.fits(model, state, task, unit) and queries.is_allowed(model, state, task, unit):
            last = node
            found += 1
        unit = at_or_after(state.free, state.free_1, state.free_2, processor_type, unit + 1)
    return found >= n


@compiled_form_of(queries.operations_started)
def operations_started(model, state, task):
    total = model.task_operations[task]
    other = state.task_follower[task]
    while other >= 0:
        total += model.task_operations[other]
        other = state.task_follower[other]
    return total


@compiled_form_of(queries.following)
def following(model, state, task):
    n_arrived = state.run[0].n_arrived
    task = np.int64(task + 1 if model.task_group.shape[0] == 0 else model.task_next[task])
    while task < n_arrived and state.task_unit[task] != PENDING:
        task = np.int64(task + 1 if model.task_group.shape[0] == 0 else model.task_next[task])
    return task if task < n_arrived else np.int64(-1)


@compiled_form_of(queries.group)
def group(model, state, task):
    return np.int64(group_of(model, task))


def last_in_set(model, state, task, p, low, high):
    """Return the last unit of type p in [low, high) that has room for the task."""
    unit = at_or_before(state.free, state.free_1, state.free_2, p, high - 1)
    while unit >= low:
        if queries.fits(model, state, task, unit):
            return np.int64(unit)
        unit = at_or_before(state.free, state.free_1, state.free_2, p, unit - 1)
    return np.int64(-1)


last_of_set = kernel(last_in_set)


@with_several_units(without=last_in_set, inline=False)
def last_with_room(model, state, task, p, low, high):
    if state.node_room.shape[0] > 0:
        return node_index.last(model, state, task, np.int64(p), np.int64(low), np.int64(high))
    return last_of_set(model, state, task, p, low, high)


@inlined
def split_at_shelf(model, rack, shelf):
    """Return the first unit of a rack that is on the shelf or above it."""
    low, high = np.int64(model.rack_node[rack]), np.int64(model.rack_node[rack + 1])
    while low < high:
        middle = (low + high) >> 1
        if model.node_shelf[middle] < shelf:
            low = middle + 1
        else:
            high = middle
    return np.int64(model.node_first[low])


@kernel
def closest_in_rack(model, state, task, p, rack, shelf, best, best_v):
    """Return the unit of a rack at the smallest shelf distance below best_v, else best; lower shelves before higher."""
    low, high = np.int64(model.rack_first[rack]), np.int64(model.rack_first[rack + 1])
    split = split_at_shelf(model, rack, shelf)
    below = last_with_room(model, state, task, p, low, split)
    if below >= 0:
        node = model.unit_node[below]
        v = np.int64(shelf - model.node_shelf[node])
        unit = first_in_range(model, state, task, p, model.node_first[node], model.node_first[node + 1])
        if v < best_v or (v == best_v and unit < best):
            best, best_v = unit, v
    above = first_in_range(model, state, task, p, split, high)
    if above >= 0:
        v = np.int64(model.node_shelf[model.unit_node[above]] - shelf)
        if v < best_v or (v == best_v and above < best):
            best, best_v = above, v
    return best, best_v


@kernel
def closest_of_type(model, state, task, p):
    """Return the closest unit of type p, with its distances: (unit, rack distance, shelf distance)."""
    far = np.int64(1) << np.int64(40)
    node = data_node(model, task)
    rack, shelf = np.int64(model.node_rack[node]), np.int64(model.node_shelf[node])
    n_units = model.unit_type.shape[0]
    best, best_v = closest_in_rack(model, state, task, p, rack, shelf, np.int64(-1), far)
    if best >= 0:
        return best, np.int64(0), best_v
    left = last_with_room(model, state, task, p, np.int64(0), np.int64(model.rack_first[rack]))
    right = first_in_range(model, state, task, p, np.int64(model.rack_first[rack + 1]), n_units)
    h_left = rack - model.node_rack[model.unit_node[left]] if left >= 0 else far
    h_right = model.node_rack[model.unit_node[right]] - rack if right >= 0 else far
    h = min(h_left, h_right)
    if left >= 0 and h_left == h:
        best, best_v = closest_in_rack(model, state, task, p, rack - h, shelf, best, best_v)
    if right >= 0 and h_right == h:
        best, best_v = closest_in_rack(model, state, task, p, rack + h, shelf, best, best_v)
    return best, h, best_v


@compiled_form_of(queries.closest_free, inline=False)
def closest_free(model, state, task):
    kind = queries.task_type(model, state, task)
    if model.runs_everywhere[kind]:
        return closest_of_type(model, state, task, model.affinity.shape[0])[0]
    best, best_h, best_v = np.int64(-1), np.int64(0), np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        unit, h, v = closest_of_type(model, state, task, p)
        if unit >= 0 and (best < 0 or h < best_h or (h == best_h and (v < best_v or (v == best_v and unit < best)))):
            best, best_h, best_v = unit, h, v
    return best


@inlined
def word_of_types(model, state, kind, w):
    """Return one word of the set of units with room whose type can run the task type."""
    if model.runs_everywhere[kind]:
        return state.free[model.affinity.shape[0], w]
    word = ZERO
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        word |= state.free[p, w]
    return word


@inlined
def count_in_block(model, state, kind, block):
    """Count the units with room in a block of 4096 units, of the types that can run the task type."""
    if model.runs_everywhere[kind]:
        return np.int64(state.free_count[model.affinity.shape[0], block])
    n = np.int64(0)
    for i in range(model.ranking.shape[1]):
        p = np.int64(model.ranking[kind, i])
        if p < 0:
            break
        n += state.free_count[p, block]
    return n


@kernel
def random_among_fitting(model, state, task, kind):
    """Check the units one by one, if there are no counts or if demands make room differ from task to task."""
    n = np.int64(0)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, kind, w)
        while word != ZERO:
            n += queries.fits(model, state, task, (w << 6) + lowest(word))
            word &= word - np.uint64(1)
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    for w in range(state.free.shape[1]):
        word = word_of_types(model, state, kind, w)
        while word != ZERO:
            unit = np.int64((w << 6) + lowest(word))
            if queries.fits(model, state, task, unit):
                if k == 0:
                    return unit
                k -= 1
            word &= word - np.uint64(1)
    return np.int64(-1)


@compiled_form_of(queries.random_free, inline=False)
def random_free(model, state, task):
    kind = queries.task_type(model, state, task)
    if model.task_demand.shape[0] > 0 or state.free_count.shape[1] == 0:
        return random_among_fitting(model, state, task, kind)
    return random_among_counted(model, state, kind)


@kernel
def random_among_counted(model, state, kind):
    """For whole-unit tasks: skip block by block, then word by word, to the unit that was drawn."""
    n = np.int64(0)
    for block in range(state.free_count.shape[1]):
        n += count_in_block(model, state, kind, block)
    if n == 0:
        return np.int64(-1)
    k = queries.random_below(state, n)
    block = np.int64(0)
    n = count_in_block(model, state, kind, block)
    while k >= n:
        k -= n
        block += 1
        n = count_in_block(model, state, kind, block)
    w = block << 6
    word = word_of_types(model, state, kind, w)
    n = np.int64(count_ones(word))
    while k >= n:
        k -= n
        w += 1
        word = word_of_types(model, state, kind, w)
        n = np.int64(count_ones(word))
    for _ in range(k):
        word &= word - np.uint64(1)
    return np.int64((w << 6) + lowest(word))


@compiled_form_of(queries.random_below)
def random_below(state, n):
    state.run[0].random += np.uint64(0x9E3779B97F4A7C15)
    z = state.run[0].random
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(np.float64(z >> INTEGER_BITS) * TO_UNIT * n)


for _function, _inline in (
    (amount_of, True),
    (skew_heap.comes_before, True),
    (skew_heap.join, False),
    (skew_heap.without_root, True),
):
    compiled_form_of(_function, _inline)(_function)
