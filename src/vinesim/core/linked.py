"""The segments on a unit as a list of their slots, in the order in which the unit was given them."""

import numpy as np


def append(state, slot, unit):
    """Enter a slot at the end of the list of a unit."""
    last = last_of(state, unit)
    state.slot[slot].next_on_unit = -1
    if last < 0:
        state.work_first[unit] = slot
    else:
        state.slot[last].next_on_unit = slot


def remove(state, slot, unit):
    """Take a slot out of the list of a unit."""
    last, other = np.int64(-1), np.int64(state.work_first[unit])
    while other != slot:
        last, other = other, np.int64(state.slot[other].next_on_unit)
    if last < 0:
        state.work_first[unit] = state.slot[slot].next_on_unit
    else:
        state.slot[last].next_on_unit = state.slot[slot].next_on_unit


def last_of(state, unit):
    """The last slot of a unit; -1 if there is none."""
    last, other = np.int64(-1), np.int64(state.work_first[unit])
    while other >= 0:
        last, other = other, np.int64(state.slot[other].next_on_unit)
    return last
