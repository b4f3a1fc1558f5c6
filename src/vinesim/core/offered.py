"""Places ahead: how many tasks each unit of a type is open for, where units take tasks while they compute others.

A unit takes no task ahead while another one of its type has fewer: all are open for one task each, once each of them
that is up has one for a second, and so on. So what ``unit_open`` says of them rises and falls together.
"""

import numpy as np

from vinesim.core import ledger
from vinesim.core.called import called
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import DOWN


def takes_ahead(model, p):
    return model.type_ahead.shape[0] > 0 and model.type_ahead[p] > 0


def note_taken(model, state, unit):
    """Note that a unit has one task more."""
    p = not_negative(np.int64(state.unit[unit].type))
    if takes_ahead(model, p) and state.lowest[p] == state.unit.shape[0] and state.type_level[p] < model.type_ahead[p]:
        renew(model, state, p)


def note_left(model, state, unit):
    """Note that a unit has one task less."""
    p = not_negative(np.int64(state.unit[unit].type))
    if takes_ahead(model, p) and state.unit[unit].holders < state.type_level[p]:
        renew(model, state, p)


def note_opened(model, state, unit):
    """Note that a unit has gone down or come up."""
    p = not_negative(np.int64(state.unit[unit].type))
    if takes_ahead(model, p):
        renew(model, state, p)


@called
def renew(model, state, p):
    """Open the units of a type for as many tasks as the one with the fewest has, and one more."""
    fewest = np.int64(model.type_ahead[p])
    for unit in range(state.unit.shape[0]):
        one = state.unit[unit]
        if one.type == p and one.open > DOWN:
            fewest = min(fewest, np.int64(one.holders))
    state.type_level[p] = fewest
    for unit in range(state.unit.shape[0]):
        if state.unit[unit].type == p and state.unit[unit].open > DOWN:
            ledger.set_open(model, state, not_negative(unit), model.unit_capacity[unit] * (1.0 + fewest))
