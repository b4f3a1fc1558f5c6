"""Power caps of racks and of the datacenter: pools whose members follow from a unit's place.

What the units of a rack draw changes with what is held of them, so the ledger keeps it, also for what is only supposed:
a gang that looks for a place, running tasks that a policy thinks away. The last pool is that of the datacenter. What a
unit draws is in state/power.py.
"""

import numpy as np

from vinesim.core.called import called
from vinesim.core.features import CAPS
from vinesim.core.tasks import task_type
from vinesim.state.power import draw_of, level_of


def has_caps(model):
    return CAPS and model.cap_mw.shape[0] > 0


def level(model, state, task, unit, amount):
    """What a task adds to the level of a unit of which it holds an amount."""
    if CAPS and has_caps(model):
        return level_of(model, task_type(model, state, task), unit, amount)
    return np.int64(0)


def change(model, state, unit, holders, level):
    """Let a unit be held by a number of tasks that add up to a level; the number of its holders is changed after
    this."""
    if has_caps(model):
        change_draw(model, state, unit, holders, level)


@called
def change_draw(model, state, unit, holders, level):
    one = state.unit[unit]
    more = draw_of(model, unit, holders > 0, level) - draw_of(model, unit, one.holders > 0, state.unit_level[unit])
    state.unit_level[unit] = level
    state.pool_mw[model.node_rack[one.node]] += more
    state.pool_mw[model.cap_mw.shape[0] - 1] += more


@called
def note_peak(model, state, node):
    """Note what the rack of a node draws as a task has started there, and the datacenter."""
    for pool in (np.int64(model.node_rack[node]), model.cap_mw.shape[0] - 1):
        state.peak_mw[pool] = max(state.peak_mw[pool], state.pool_mw[pool])


@called
def added_mw(model, state, task, unit, amount):
    """What a unit would draw more if a task took an amount of it."""
    before, more = np.int64(state.unit_level[unit]), level_of(model, task_type(model, state, task), unit, amount)
    return draw_of(model, unit, True, before + more) - draw_of(model, unit, state.unit[unit].holders > 0, before)


@called
def are_kept(model, state, node, more):
    """Whether the caps are kept if the units of a node draw ``more``."""
    rack, last = np.int64(model.node_rack[node]), model.cap_mw.shape[0] - 1
    return state.pool_mw[rack] + more <= model.cap_mw[rack] and state.pool_mw[last] + more <= model.cap_mw[last]
