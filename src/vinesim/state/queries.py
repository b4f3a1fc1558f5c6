"""What a policy can ask. These bodies define the meaning, for the reader and for the reference engine; each looks at
every unit or every pending task. The compiled engine gives the same answers from indexes, in ``core``.

``model`` and ``state`` are the arguments of ``decide``; tasks, units and types are integers; -1 means none.
"""

import math
from numbers import Integral
from typing import Any

import numpy as np

from vinesim.model.errors import PolicyError
from vinesim.state.demand import amount_of
from vinesim.state.layout import (
    DROP,
    DROPPED,
    FULL,
    MOST_SCORE,
    MOVE,
    NOTHING,
    OVERFULL,
    PREEMPT,
    START,
    UNFIT,
    Action,
)

LOCAL, INTRA_RACK, INTER_RACK = 0, 1, 2  # tiers of distance from a task's data


def nothing() -> Action:
    """Return the action of a policy that has nothing more to start until the next event."""
    return Action(NOTHING, -1, 0, -1, math.inf)


def wait_until(time_us: float) -> Action:
    """Start nothing now; the policy is called again at that time at the latest."""
    return Action(NOTHING, -1, 0, -1, time_us)


def start(task: int, unit: int) -> Action:
    """Start a pending task on a unit."""
    return Action(START, task, 1, unit, math.inf)


def start_consolidated(task: int, count: int, unit: int) -> Action:
    """Start the first ``count`` pending tasks of the group that ``task`` leads on a unit, consolidated into one. At
    most ``joinable`` tasks can start in this way. For gangs, all first tasks start as one, all second tasks as another,
    and so on."""
    return Action(START, task, count, unit, math.inf)


def drop(task: int) -> Action:
    """Drop a pending task: it never runs. Its job has no finish, and misses its deadline."""
    return Action(DROP, task, 0, -1, math.inf)


def preempt(task: int) -> Action:
    """Take a running task, and those consolidated behind it, from its unit: they are pending again, with the work that
    is left. The policy must declare ``preempts``, as for ``move``."""
    return Action(PREEMPT, task, 1, -1, math.inf)


def move(task: int, unit: int) -> Action:
    """Take a running task from its unit and start it on another one, with the work that is left."""
    return Action(MOVE, task, 1, unit, math.inf)


def more_at_once(model: Any, state: Any) -> bool:
    """Whether another finish or arrival comes at this very instant, so that a policy that decides once per instant
    waits."""
    return state.next_finish_us() == state.now_us or state.next_arrival_us() == state.now_us


def all_arrived(model: Any, state: Any) -> bool:
    """Whether no further job is known to arrive. Jobs that wait for others do not count, because it is not known when
    they arrive. A live scheduler never knows of a further job."""
    return state.next_arrival_us() == math.inf


def n_arrived(model: Any, state: Any) -> int:
    """Return how many tasks have arrived; :func:`arrived_task` says which."""
    return len(state.arrived) if len(model.job_predecessors) else model.job_first[state.next_job]


def arrived_task(model: Any, state: Any, position: int) -> int:
    """Return the task that arrived at a position among all that have arrived, from 0: the task of that number, unless
    jobs wait for others."""
    return state.arrived[position] if len(model.job_predecessors) else position


def n_pending(model: Any, state: Any) -> int:
    """Return how many tasks have arrived and not started. A policy that counts arrivals and starts itself can compare,
    and so notice that outages made further tasks pending."""
    return len(state.pending)


def oldest_pending(model: Any, state: Any) -> int:
    """Return the task that has been pending longest. Tasks whose quotas leave no room are passed over, with the rest of
    their groups."""
    return next_pending(model, state, -1)


def next_pending(model: Any, state: Any, task: int) -> int:
    """Return the oldest pending task, younger than ``task``, that is the first of its group. It is the next task to try
    if ``task`` found no unit, because the rest of the group of ``task`` would find none either. Tasks whose quotas
    leave no room are passed over."""
    groups = set()
    for other in state.pending:
        group = state.group_of(other)
        if other > task and group not in groups and is_within_quotas(model, state, other):
            return other
        groups.add(group)
    return -1


def first_pending(model: Any, state: Any, group: int) -> int:
    """Return the oldest pending task of a group."""
    for task in state.pending:
        if state.group_of(task) == group:
            return task
    return -1


def group_size(model: Any, state: Any, task: int) -> int:
    """Return how many tasks of a task's group are pending."""
    return sum(state.group_of(other) == state.group_of(task) for other in state.pending)


def joinable(model: Any, state: Any, task: int, most: int) -> int:
    """Return how many pending tasks of a task's group can start as one, beginning with the task, which is the group's
    first: all of them, up to ``most``. For gangs, only those before the first gang that has other tasks left than the
    task's gang."""
    waiting = [other for other in state.pending if state.group_of(other) == state.group_of(task)][:most]
    alike = [state.left_of_job(other) == state.left_of_job(task) for other in waiting]
    return alike.index(False) if False in alike else len(alike)


def task_type(model: Any, state: Any, task: int) -> int:
    """Return a task's type."""
    return state.task_type_of(task)


def preferred_type(model: Any, state: Any, task: int) -> int:
    """Return a task's preferred processor type. The policy's groups must name ``preferred_type``."""
    return model.group_preferred[group(model, state, task)]


def arrival_us(model: Any, state: Any, task: int) -> float:
    """Return when a task's job arrived."""
    return model.job_arrival_us[model.task_job[task]]


def job_of(model: Any, state: Any, task: int) -> int:
    """Return a task's job."""
    return model.task_job[task]


def deadline_us(model: Any, state: Any, task: int) -> float:
    """Return when a task's job is due; infinite if it has no deadline."""
    return model.job_deadline_us[model.task_job[task]] if len(model.job_deadline_us) else math.inf


def application(model: Any, state: Any, task: int) -> int:
    """Return a task's application, -1 if it has none. The policy's groups must name ``application``."""
    return model.group_application[group(model, state, task)]


def operations(model: Any, state: Any, task: int) -> float:
    """Return a task's number of operations, its size."""
    return model.task_operations[task]


def estimate_us(model: Any, state: Any, task: int) -> float:
    """Return the scheduler's estimate of a task's run time: the workload's, or else the mean of its execution times on
    the deployed processor types that can run it."""
    return model.task_estimate_us[task] if len(model.task_estimate_us) else mean_time_us(model, state, task)


def mean_time_us(model: Any, state: Any, task: int) -> float:
    """Return the mean of a task's execution times on the deployed processor types that can run it."""
    total, n = 0.0, 0
    for p in model.ranking[task_type(model, state, task)]:
        if p >= 0:
            total += time_on_type_us(model, state, task, p)
            n += 1
    return total / n


def remaining_us(model: Any, state: Any, task: int) -> float:
    """Return the estimated run time of the rest of a task, running or pending; 0 once it has run longer than
    estimated."""
    return max(0.0, estimate_us(model, state, task) * left(model, state, task))


def left(model: Any, state: Any, task: int) -> float:
    """Return the share of a task's work that is left now. The policy must declare ``preempts``."""
    return state.left_now(task)


def attained_us(model: Any, state: Any, task: int) -> float:
    """Return how long a task has held units so far. The policy must declare ``preempts``."""
    return state.attained_us[task] + (state.now_us - state.task_init_us[task] if is_running(model, state, task) else 0)


def input_tokens(model: Any, state: Any, task: int) -> int:
    """Return the tokens of a request's prompt; 0 if no unit is a serving engine."""
    return model.task_input[task] if len(model.task_input) else 0


def priority(model: Any, state: Any, task: int) -> float:
    """Return the priority of a task's job, higher is more urgent; 0 if the workload has none."""
    return model.job_priority[model.task_job[task]] if len(model.job_priority) else 0.0


def user(model: Any, state: Any, task: int) -> int:
    """Return the user of a task's job, -1 if the workload has none."""
    return model.job_user[model.task_job[task]] if len(model.job_user) else -1


def unit_of(model: Any, state: Any, task: int) -> int:
    """Return the unit on which a task runs or ran last; below 0 for a task that is pending or was dropped."""
    return state.task_unit[task]


def is_running(model: Any, state: Any, task: int) -> bool:
    """Whether a task runs, other than behind the leader of consolidated tasks. The policy must declare ``preempts``."""
    unit = state.task_unit[task]
    return unit >= 0 and task in state.running[unit]


def next_running(model: Any, state: Any, task: int = -1) -> int:
    """Return the first running task with a number above ``task``, -1 if there is none; consolidated tasks count as
    their leader. The policy must declare ``preempts``."""
    found = [other for tasks in state.running for other in tasks if other > task]
    return min(found, default=-1)


def meets(model: Any, state: Any, task: int, unit: int, share: float = 1.0) -> bool:
    """Whether the unit's type provides ``share`` of everything that the task requests. Resources that its type does not
    have, such as the cores of a GPU, do not count."""
    return meets_on_type(model, state, task, model.unit_type[unit], share)


def meets_on_type(model: Any, state: Any, task: int, processor_type: int, share: float = 1.0) -> bool:
    """Whether units of a processor type provide ``share`` of everything that the task requests, as ``meets`` says of
    one unit."""
    for q in range(model.task_request.shape[1]):
        provided = model.type_resource[processor_type, q]
        if provided >= 0.0 and model.task_request[task, q] * share > provided:
            return False
    return True


def demand(model: Any, state: Any, task: int, unit: int) -> float:
    """Return how much of a unit's capacity a task takes."""
    if len(model.task_demand) == 0:
        return model.unit_capacity[unit]
    return amount_of(model.task_demand[task], model.unit_capacity[unit])


def throughput(model: Any, state: Any, task: int, unit: int, load: float) -> float:
    """Return how much the tasks of a task's type get done together on a unit, relative to one task alone, if nothing
    else runs there and their demands add up to ``load``.

    The throughput is the load, up to the unit's parallelism; or it follows the table of rates, linear between whole
    numbers and constant beyond its end. Each task has the speed throughput / load, also together with tasks of other
    types.
    """
    full, curve = model.unit_parallelism[unit], model.unit_type[unit]
    if load <= full:
        return load
    if has_speed_curves(model, unit):
        curve = model.type_curve[curve, task_type(model, state, task)]
    n = model.curve_length[curve] if len(model.curve_length) > 0 else 0
    if n <= 0:
        return full if n == 0 else load
    whole = int(load)
    if whole >= n:
        return model.curve_throughput[curve, n - 1]
    below = model.curve_throughput[curve, whole - 1]
    return below + (load - whole) * (model.curve_throughput[curve, whole] - below)


def has_speed_curves(model: Any, unit: int) -> bool:
    """Whether task types have their own speed curves on the unit."""
    return len(model.type_curve) > 0 and model.type_curve[model.unit_type[unit], 0] >= 0


def has_room(model: Any, state: Any, unit: int) -> bool:
    """Whether the unit has any room now, even if only for a small task."""
    return state.unit_load[unit] < state.unit_open[unit] * FULL


def room(model: Any, state: Any, unit: int) -> float:
    """Return how much of the unit's capacity is left; 0 while its node is down."""
    return max(0.0, state.unit_open[unit] - state.unit_load[unit])


def is_up(model: Any, state: Any, unit: int) -> bool:
    """Whether the unit's node is up, not in an outage."""
    return state.unit_open[unit] > 0.0


def first_interrupted(model: Any, state: Any) -> int:
    """Return the first task that the outages of an OUTAGE event interrupted; it is pending again. -1 if there is
    none."""
    return next_interrupted(model, state, -1)


def next_interrupted(model: Any, state: Any, task: int) -> int:
    """Return the next such task after ``task``."""
    after = [other for other in state.interrupted if other > task]
    return after[0] if after else -1


def first_withdrawn(model: Any, state: Any) -> int:
    """Return the first task that has left because its job is withdrawn at this instant: it was pending, or it ran. -1
    if there is none. A policy is called for withdrawals at a TIMER, or at an OUTAGE of the same instant."""
    return next_withdrawn(model, state, -1)


def next_withdrawn(model: Any, state: Any, task: int) -> int:
    """Return the next such task after ``task``."""
    for job in model.withdrawn_job:
        if model.job_withdraw_us[job] == state.now_us:
            for other in range(max(task + 1, int(model.job_first[job])), int(model.job_first[job + 1])):
                if has_left(model, state, other):
                    return other
    return -1


def has_left(model: Any, state: Any, task: int) -> bool:
    """Whether a task was dropped, or its job was withdrawn while it ran."""
    return bool(
        state.task_unit[task] == DROPPED or (state.task_unit[task] >= 0 and math.isnan(state.task_finish_us[task]))
    )


def next_with_room(model: Any, state: Any, processor_type: int, unit: int) -> int:
    """Return the first unit of a processor type, ``unit`` or after it in (rack, shelf) order, that has any room; -1 if
    there is none, as after the last unit."""
    _check_type(model, processor_type, 0)
    if not 0 <= unit <= len(model.unit_type):
        raise IndexError(f"no such unit: {unit}")
    for other in range(unit, len(model.unit_type)):
        if model.unit_type[other] == processor_type and has_room(model, state, other):
            return other
    return -1


def has_room_for(model: Any, state: Any, unit: int, amount: float) -> bool:
    """Whether the unit has room for that amount now, with a tolerance of a billionth of the capacity for rounding."""
    load, capacity = state.unit_load[unit], state.unit_open[unit]
    return load < capacity * FULL and load + amount <= capacity * OVERFULL


def fits(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether there is room now for everything that the task would hold if it ran on the unit, and for the rest of its
    gang if it is the pending task of one, and whether its quotas allow it."""
    return (
        fits_itself(model, state, task, unit)
        and (len(model.job_gang) == 0 or gang_fits(model, state, task, unit))
        and quotas_allow(model, state, task, unit)
    )


def is_in_partition(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the unit is on a node of the task's partition; true if it has none."""
    if len(model.job_partition) == 0:
        return True
    return model.partition_node[model.job_partition[model.task_job[task]], model.unit_node[unit]]


def counted_amount(model: Any, state: Any, task: int, unit: int, counted: int) -> float:
    """Return what the task would hold, on the unit, of processor types that quotas count together: a row of
    ``counted_type``. Several units of a lead count as if all were as large as the largest of the type at the node."""
    task_class, amount = task_type(model, state, task), 0.0
    if model.counted_type[counted, model.unit_type[unit]]:
        each = demand(model, state, task, unit)
        if model.class_units[task_class] > 1:
            place = model.unit_node[unit] * len(model.affinity) + model.unit_type[unit]
            for i in range(model.node_begin[place], model.node_begin[place + 1]):
                each = max(each, demand(model, state, task, model.node_unit[i]))
        amount += model.class_units[task_class] * each
    for c in range(len(model.companion_type)):
        if model.counted_type[counted, model.companion_type[c]]:
            amount += model.class_companion[task_class, model.companion_type[c]]
    return amount


def quotas_allow(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the quotas of the task leave room for what it would hold on the unit, with its gang where that fits."""
    return state.quotas.allow(task, unit)


def is_within_quotas(model: Any, state: Any, task: int) -> bool:
    """Whether the quotas of a pending task leave room for the least that it could hold, with its gang."""
    return state.quotas.leave_room(task)


def gang_fits(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the tasks that are attached to the task would have room now if it ran on the unit; true if there are
    none."""
    return state.place_of(task, unit) is not None


def fits_itself(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether there is room now for all that the task itself would hold if it ran on the unit, power for it under the
    caps of its rack and of the datacenter, and no reservation in its way."""
    return (
        has_room_for(model, state, unit, demand(model, state, task, unit))
        and is_in_partition(model, state, task, unit)
        and has_role(model, state, task, unit)
        and reservations_allow(model, state, task, unit)
        and (len(model.class_units) == 0 or rest_fits(model, state, task, unit))
        and caps_allow(model, state, task, unit)
    )


def has_role(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether a unit accepts a request at its stage. A serving engine that only prefills accepts no request that
    another engine prefilled; one that only decodes accepts no other. True if no engine has a role."""
    return state.engines.has_role(task, unit)


def reservations_allow(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the task is expected to end on the unit before any reservation that does not admit it begins there."""
    return state.reservations_allow(task, unit)


def caps_allow(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the power caps of the unit's rack and of the datacenter are kept if the task also runs on the unit, given
    that there is room for everything that it would hold."""
    return state.draws.allow(task, unit)


def rest_fits(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the node of the unit has room for the rest: the other units of the task's lead, and its companions."""
    task_class, node = task_type(model, state, task), model.unit_node[unit]
    missing = model.class_units[task_class] - 1
    if missing > 0:
        place = node * len(model.affinity) + model.unit_type[unit]
        for i in range(model.node_begin[place], model.node_begin[place + 1]):
            other = model.node_unit[i]
            if other != unit:
                missing -= 1 if has_room_for(model, state, other, demand(model, state, task, other)) else 0
        if missing > 0:
            return False
    for c in range(len(model.companion_type)):
        p = model.companion_type[c]
        amount = model.class_companion[task_class, p]
        if amount > 0.0 and companion_unit(model, state, node, p, amount) < 0:
            return False
    return True


def companion_unit(model: Any, state: Any, node: int, processor_type: int, amount: float) -> int:
    """Return the first unit of a processor type at a node that has room for that amount now."""
    place = node * len(model.affinity) + processor_type
    for i in range(model.node_begin[place], model.node_begin[place + 1]):
        if has_room_for(model, state, model.node_unit[i], amount):
            return model.node_unit[i]
    return -1


def can_start(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the unit can run the task's type and has room for it now."""
    return model.affinity[model.unit_type[unit], task_type(model, state, task)] > 0.0 and fits(model, state, task, unit)


def first_free_at(model: Any, state: Any, task: int, node: int) -> int:
    """Return the first unit of a node on which the task can start."""
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if can_start(model, state, task, unit):
            return unit
    return -1


def tightest_free_at(model: Any, state: Any, task: int, node: int) -> int:
    """Return the unit of a node with the least room of those on which the task can start; the first of several."""
    best, least = -1, math.inf
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        if room(model, state, unit) < least and can_start(model, state, task, unit):
            best, least = unit, room(model, state, unit)
    return best


def best_node(model: Any, state: Any, view: Any, task: int, score: Any) -> int:
    """Return the node with the highest ``score(model, state, task, node, view)`` of those on which the task can start;
    the first of several. Scores are whole numbers of 32 bits and may change only with the node; they depend on what the
    task demands and on its type, not on the task."""
    best, highest = -1, UNFIT
    for node in range(len(model.node_rack)):
        if first_free_at(model, state, task, node) >= 0:
            found = score(model, state, task, node, view)
            if not isinstance(found, Integral | np.bool_):
                raise PolicyError(f"policy {score.__qualname__}: must return a whole number, returned {found!r}")
            value = bounded(int(found))
            if value > highest:
                best, highest = node, value
    return best


def bounded(score: int) -> int:
    """Return the score in 32 bits. The compiler refuses a float."""
    return min(max(int(score | 0), UNFIT + 1), MOST_SCORE)


def random_node(model: Any, state: Any, view: Any, task: int) -> int:
    """Return one of the nodes on which the task can start, all equally likely, from the policy's random stream."""
    nodes = [node for node in range(len(model.node_rack)) if first_free_at(model, state, task, node) >= 0]
    return nodes[random_below(state, len(nodes))] if nodes else -1


def node_tasks_of(model: Any, state: Any, node: int, task_type: int) -> int:
    """Return how many tasks of a type run on the units of a node; consolidated tasks count as one. If tasks hold
    several units, tasks with the same demands are of one type."""
    units = range(model.node_first[node], model.node_first[node + 1])
    return sum(state.task_type_of(task) == task_type for unit in units for task in state.running[unit])


def tier(model: Any, state: Any, task: int, unit: int) -> int:
    """Return how far a unit is from a task's data, or from the engine that prefilled a request: LOCAL (same rack and
    shelf), INTRA_RACK or INTER_RACK."""
    data = state.data_node(task)
    node = model.unit_node[unit]
    if node == data:
        return LOCAL
    return INTRA_RACK if model.node_rack[node] == model.node_rack[data] else INTER_RACK


def transfer_us(model: Any, state: Any, task: int, unit: int) -> float:
    """Return the time to transfer the task's data to the unit, or the cache of a request that another engine prefilled;
    0 for a task without data."""
    size = state.data_bytes(task)
    if size == 0.0:
        return 0.0
    t = tier(model, state, task, unit)
    return model.tier_latency_us[t] + size / model.tier_bandwidth[t]


def execution_us(model: Any, state: Any, task: int, unit: int) -> float:
    """Return the time to compute the task on the unit at full speed, including the overhead; infinite if it cannot."""
    return time_on_type_us(model, state, task, model.unit_type[unit])


def time_on_type_us(model: Any, state: Any, task: int, processor_type: int) -> float:
    """Return the time to compute the task on any unit of a processor type, as ``execution_us`` does for a unit."""
    t = task_type(model, state, task)
    speed = model.affinity[processor_type, t]
    if speed <= 0.0:
        return math.inf
    if len(model.task_times_us):
        return model.overhead_us[processor_type, t] + model.task_times_us[task, processor_type]
    return model.overhead_us[processor_type, t] + model.task_operations[task] / speed


def consolidated_us(
    model: Any, state: Any, task: int, processor_type: int, n_tasks: int, total_us: float, share: float = 1.0
) -> float:
    """Return how long ``n_tasks`` consolidated tasks, which ``task`` leads, compute together, with one overhead.

    The time comes from the scenario's table of consolidated times, if ``share`` of their work is left; more tasks than
    the table knows run in rounds of its largest number. Without a table the times add up: the caller gives their sum,
    ``total_us``.
    """
    t = task_type(model, state, task)
    most = model.joined_most[processor_type, t] if len(model.joined_most) else 0
    if most == 0:
        return total_us
    rounds, rest = n_tasks // most, n_tasks % most
    computing_us = rounds * model.joined_us[processor_type, t, most - 1]
    if rest > 0:
        computing_us += model.joined_us[processor_type, t, rest - 1]
    return (model.overhead_us[processor_type, t] + computing_us) * share


def _check_type(model: Any, processor_type: int, lowest: int) -> None:
    """Raise IndexError for a number that is no processor type, or is below the lowest that means something."""
    if processor_type not in range(lowest, len(model.affinity)):
        raise IndexError(f"no such processor_type: {processor_type}")


def first_free(model: Any, state: Any, task: int, processor_type: int = -1, distance: int = -1) -> int:
    """Return the first unit, in (rack, shelf) order, on which the task can start; of one type or any (-1), at one tier
    from the task's data or any (-1)."""
    _check_type(model, processor_type, -1)
    for unit, p in enumerate(model.unit_type.tolist()):
        if (
            processor_type in (-1, p)
            and can_start(model, state, task, unit)
            and distance in (-1, tier(model, state, task, unit))
        ):
            return unit
    return -1


def fastest_free(model: Any, state: Any, task: int) -> int:
    """Return the unit with the highest affinity to the task on which it can start; the first of several."""
    best, best_speed = -1, 0.0
    speeds = model.affinity[:, task_type(model, state, task)].tolist()
    for unit, processor_type in enumerate(model.unit_type.tolist()):
        if speeds[processor_type] > best_speed and fits(model, state, task, unit):
            best, best_speed = unit, speeds[processor_type]
    return best


def fastest_free_without(model: Any, state: Any, task: int, others: Any, n: int) -> int:
    """Return the unit that ``fastest_free`` would return if the first n of ``others`` did not run: an array of tasks,
    each with its gang; tasks that do not run do not count. The policy must declare ``preempts``, as for
    ``victims_for``."""
    with state.trial() as trial:
        trial.release(others[:n])
        return fastest_free(model, state, task)


def victims_for(model: Any, state: Any, task: int, unit: int, others: Any, n: int, found: Any) -> int:
    """Put into ``found`` the tasks among the first n of ``others`` that cannot stay if the task starts on the unit;
    return how many there are. All leave and the task takes its place; then, from the last to the first, each task that
    has room where it was is put back."""
    with state.trial() as trial:
        trial.release(others[:n])
        if not trial.hold(task, unit):
            return 0
        gone = [other for other in others[:n][::-1].tolist() if is_running(model, state, other)]
        gone = [other for other in gone if not trial.put_back(other)]
        found[: len(gone)] = gone
        return len(gone)


def is_allowed(model: Any, state: Any, task: int, unit: int) -> bool:
    """Whether the unit is on a node that holds the data of the task's application. The policy's groups must name
    ``application``."""
    a = application(model, state, task)
    if not 0 <= a < len(model.application_max_consolidated):
        return True
    return bool(int(model.application_units[a, unit >> 6]) >> (unit & 63) & 1)


def unit_tasks(model: Any, state: Any, unit: int) -> int:
    """Return how many tasks run on a unit; consolidated tasks count as one."""
    return len(state.running[unit])


def unit_waiting(model: Any, state: Any, unit: int) -> int:
    """Return how many of the requests on a serving engine wait in its queue; 0 for other units."""
    return state.engines.n_waiting(unit)


def unit_tokens(model: Any, state: Any, unit: int) -> int:
    """Return how many tokens the memory of a serving engine held when its last step ended; 0 for other units."""
    return state.engines.n_tokens(unit)


def unit_tokens_waiting(model: Any, state: Any, unit: int) -> int:
    """Return how many prompt tokens a serving engine still had to compute when its last step ended, for the requests in
    its queue and in steps. A request that was put back computes its answer so far like a prompt. Tokens that another
    engine computed count until the request is in a step. 0 for other units."""
    return state.engines.n_to_prefill(unit)


def tokens_found(model: Any, state: Any, task: int, unit: int) -> int:
    """Return how many tokens of a request's prompt a serving engine with prefix caching has in its memory, left there
    by other requests with the same prefix; 0 for other units."""
    return state.engines.n_found(task, unit)


def node_tasks(model: Any, state: Any, node: int) -> int:
    """Return how many tasks run on the units of a node; consolidated tasks count as one."""
    n = 0
    for unit in range(model.node_first[node], model.node_first[node + 1]):
        n += unit_tasks(model, state, unit)
    return n


def least_busy(model: Any, state: Any, task: int, processor_type: int) -> int:
    """Return the unit of a type, allowed for the task and with room for it, whose node runs the fewest tasks; the first
    of several."""
    _check_type(model, processor_type, 0)
    best, fewest = -1, 0
    for unit in range(len(model.unit_type)):
        if (
            model.unit_type[unit] == processor_type
            and can_start(model, state, task, unit)
            and is_allowed(model, state, task, unit)
        ):
            n = node_tasks(model, state, model.unit_node[unit])
            if best < 0 or n < fewest:
                best, fewest = unit, n
    return best


def is_available(model: Any, state: Any, task: int, processor_type: int) -> bool:
    """Whether the task can start now on a unit of the type that is allowed for it."""
    return least_busy(model, state, task, processor_type) >= 0


def started_us(model: Any, state: Any, task: int) -> float:
    """Return when a running task, or one that ended, was given to its unit."""
    return state.task_init_us[task]


def operations_started(model: Any, state: Any, task: int) -> float:
    """Return the operations of a task and of those that were consolidated with it."""
    total = model.task_operations[task]
    for other in state.followers[task]:
        total += model.task_operations[other]
    return total


def following(model: Any, state: Any, task: int) -> int:
    """Return the next pending task of the same group, -1 if there is none."""
    for other in state.pending:
        if other > task and state.group_of(other) == state.group_of(task):
            return other
    return -1


def group(model: Any, state: Any, task: int) -> int:
    """Return a task's group."""
    return state.group_of(task)


def closest_free(model: Any, state: Any, task: int) -> int:
    """Return the unit at the smallest (rack distance, shelf distance) from the task's data on which it can start; the
    first of several."""
    data = state.data_node(task)
    best, best_distance = -1, (math.inf, math.inf)
    for unit in range(len(model.unit_type)):
        node = model.unit_node[unit]
        distance = (
            abs(model.node_rack[node] - model.node_rack[data]),
            abs(model.node_shelf[node] - model.node_shelf[data]),
        )
        if distance < best_distance and can_start(model, state, task, unit):
            best, best_distance = unit, distance
    return best


def random_free(model: Any, state: Any, task: int) -> int:
    """Return one of the units on which the task can start, all equally likely, from the policy's random stream."""
    units = [unit for unit in range(len(model.unit_type)) if can_start(model, state, task, unit)]
    return units[random_below(state, len(units))] if units else -1


def random_below(state: Any, n: int) -> int:
    """Return an integer from 0 to n - 1, from the policy's random stream (SplitMix64; one draw per call)."""
    return state.random_below(n)
