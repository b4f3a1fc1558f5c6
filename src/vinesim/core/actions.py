"""Carry out what changes the state from outside the core: the actions of policies, and orders.

An action is checked first. Orders are carried out before the next event: the moves and starts of a batch policy, and
the starts of tasks that run from the beginning.
"""

import numpy as np

from vinesim.core import laws, pools, rooms, segments, tasks
from vinesim.core.features import (
    BATCHING,
    CAPS,
    CHANGES,
    CONSOLIDATES,
    DISAGGREGATED,
    GANGS,
    OVERCOMMITS,
    QUOTAS,
    REFUSES,
    RESERVED,
    SHARED,
    SLOTS,
    called,
)
from vinesim.core.laws import batching
from vinesim.core.ledger import reservations_allow
from vinesim.core.tasks import follower_of, group, is_in_partition, is_of_gang, joinable, task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.model.result import MOVED, PREEMPTED
from vinesim.state import queries
from vinesim.state.arrays import ARRIVES, MOVES
from vinesim.state.layout import (
    ATTACHED,
    CANNOT_RUN,
    DROP,
    IS_ATTACHED,
    IS_CONSOLIDATED,
    IS_DOWN,
    IS_GANG,
    IS_RESERVED,
    JUST_STARTED,
    MOVE,
    NO_ROOM,
    NO_ROOM_FOR_THE_REST,
    NOT_A_HEAD,
    NOT_PENDING,
    NOT_RUNNING,
    NOTHING,
    ON_ENGINE,
    OTHER_ROLE,
    OUTSIDE_PARTITION,
    OVER_CAP,
    OVER_QUOTA,
    OVERFULL,
    PENDING,
    PREEMPT,
    SHARES_SPEED,
    START,
    UNKNOWN_TASK,
    UNKNOWN_UNIT,
    Action,
)
from vinesim.state.power import is_held_back

# What a policy may answer. Of what names a task or a unit, ``| 0`` is a whole number, and the compiler refuses a float.


def nothing():
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), np.inf)


def wait_until(time_us):
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), float(time_us))


def start(task, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


def start_consolidated(task, count, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(count | 0), np.int64(unit | 0), np.inf)


def drop(task):
    return Action(np.int64(DROP), np.int64(task | 0), np.int64(0), np.int64(-1), np.inf)


def preempt(task):
    return Action(np.int64(PREEMPT), np.int64(task | 0), np.int64(1), np.int64(-1), np.inf)


def move(task, unit):
    return Action(np.int64(MOVE), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


# What an answer does


def act(model, state, action):
    """Carry out the start or drop of an action, or note which rule it breaks. Returns whether it was legal and the ends
    of what started can be represented."""
    rule = broken_rule(model, state, action)
    if rule != 0:
        note_broken(state, rule, action.task, action.unit)
        return False
    task = not_negative(action.task)
    if REFUSES and action.kind == DROP:
        tasks.drop_pending(model, state, task)
        return True
    if not segments.start(model, state, task, not_negative(action.unit), action.n_tasks):
        return False
    tasks.leave_pending(model, state, task)
    return True


def note_answer(state, kind, task):
    """Note what was done with a task, for the caller of a turn."""
    row = state.answered[state.run[0].n_answered]
    row.kind, row.task = kind, task
    state.run[0].n_answered += 1


def note_broken(state, rule, task, unit):
    run = state.run[0]
    run.error, run.error_task, run.error_unit = rule, task, unit


def broken_rule(model, state, action):
    """The first rule that starting or dropping a task breaks; 0 if none."""
    task, unit = action.task, action.unit
    if task < 0 or task >= state.run[0].n_arrived:
        return UNKNOWN_TASK
    if state.task_unit[task] != PENDING:
        return IS_ATTACHED if GANGS and state.task_unit[task] == ATTACHED else NOT_PENDING
    if action.kind == DROP:
        return 0
    if unit < 0 or unit >= state.unit.shape[0]:
        return UNKNOWN_UNIT
    unit = not_negative(unit)
    if model.affinity[not_negative(state.unit[unit].type), task_type(model, state, task)] <= 0.0:
        return CANNOT_RUN
    if CHANGES and not queries.is_up(model, state, unit):
        return IS_DOWN
    if QUOTAS and not is_in_partition(model, state, task, unit):
        return OUTSIDE_PARTITION
    if QUOTAS and not pools.is_within_quotas(model, state, task):
        return OVER_QUOTA
    if RESERVED and not reservations_allow(model, state, task, unit):
        return IS_RESERVED
    if DISAGGREGATED and not batching.has_role(model, state, task, unit):
        return OTHER_ROLE
    if not rooms.is_in_room(model, state, task, unit):
        if CAPS and is_held_back(model, state, task, unit):
            return OVER_CAP
        return NO_ROOM_FOR_THE_REST if OVERCOMMITS and state.run[0].overcommits != 0 else NO_ROOM
    return 0 if action.n_tasks == 1 else broken_rule_of_several(model, state, action)


@called
def broken_rule_of_several(model, state, action):
    """The rule that starting several tasks as one breaks, or one that are not several; 0 if none."""
    task, n_tasks = action.task, action.n_tasks
    if BATCHING and batching.is_engine(model, action.unit):
        return ON_ENGINE
    if n_tasks < 1 or not CONSOLIDATES or state.group_head[group(model, state, task)] != task:
        return NOT_A_HEAD
    return NOT_A_HEAD if joinable(model, state, task, n_tasks) < n_tasks else 0


@called
def stop(model, state, action):
    """End the segment of the task that a policy preempts or moves, and the segments of its gang. Returns whether this
    was legal and everything that continues there has a finite end."""
    task = action.task
    rule = broken_rule_of_stop(model, state, action)
    if rule != 0:
        note_broken(state, rule, task, action.unit)
        return False
    why = MOVED if action.kind == MOVE else PREEMPTED
    return segments.end_all(model, state, not_negative(task), why, model.preemption[0])


@called
def broken_rule_of_stop(model, state, action):
    task, run = action.task, state.run[0]
    if task < 0 or task >= run.n_arrived or state.task_slot[task] < 0:
        return NOT_RUNNING
    if state.slot[state.task_slot[task]].event == run.n_events:
        return JUST_STARTED
    if action.kind == MOVE and follower_of(state, task) >= 0:
        return IS_CONSOLIDATED
    if GANGS and action.kind == MOVE and is_of_gang(model, task):
        return IS_GANG
    return 0


@called
def carry_out(model, state):
    """Move running tasks, all before the first start, so that only the loads after that must be legal; then let jobs
    arrive and start pending tasks, in order. Returns whether all was legal."""
    n = state.orders.shape[0]
    for i in range(n):
        one = state.orders[i]
        if SLOTS and one.what == MOVES:
            rule = broken_rule_of_move(model, state, one.task, one.unit)
            if rule != 0:
                note_broken(state, rule, one.task, one.unit)
                return False
            segments.move(model, state, not_negative(one.task), not_negative(one.unit))
    for i in range(n):
        one = state.orders[i]
        if one.what != MOVES or (OVERCOMMITS and state.run[0].overcommits != 0):
            continue
        if state.unit[one.unit].load > model.unit_capacity[one.unit] * OVERFULL:
            note_broken(state, NO_ROOM, one.task, one.unit)
            return False
    for i in range(n):
        one = state.orders[i]
        if one.what == ARRIVES:
            tasks.arrive(model, state)
        elif one.what != MOVES and not act(model, state, queries.start(one.task, one.unit)):
            return False
    return True


@called
def broken_rule_of_move(model, state, task, unit):
    """The first rule that moving a running task breaks, 0 if none; room is checked after all moves."""
    if unit >= model.unit_type.shape[0]:
        return UNKNOWN_UNIT
    if model.affinity[model.unit_type[unit], task_type(model, state, task)] <= 0.0:
        return CANNOT_RUN
    if SHARED and (laws.is_shared(model, unit) or laws.is_shared(model, np.int64(state.task_unit[task]))):
        return SHARES_SPEED
    return 0
