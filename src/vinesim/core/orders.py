"""Orders: what is carried out before the next event, from outside the loop. A batch policy moves and starts tasks; some
tasks run from the beginning."""

import numpy as np

from vinesim.core import laws, pending, segments
from vinesim.core.actions import act, note_broken
from vinesim.core.called import called
from vinesim.core.features import OVERCOMMITS, SHARED, SLOTS
from vinesim.core.rules import CANNOT_RUN, NO_ROOM, SHARES_SPEED, UNKNOWN_UNIT
from vinesim.core.tasks import task_type
from vinesim.jit.intrinsics import not_negative
from vinesim.state import queries
from vinesim.state.arrays import ARRIVES, MOVES
from vinesim.state.layout import OVERFULL


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
            pending.arrive(model, state)
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
