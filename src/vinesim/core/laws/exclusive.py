"""Exclusive: a task runs at full speed, whatever else runs on its unit."""

import numpy as np

from vinesim.core import calendar
from vinesim.core.features import EARLY


def join(state, slot, end_us):
    if end_us < np.inf:
        calendar.push(state, slot, end_us)
    else:
        state.slot[slot].end_us = end_us
    return True


def leave(state, slot, is_due):
    if EARLY and not is_due and state.slot[slot].end_us < np.inf:
        calendar.cancel(state, slot)
    return True


def served_us(state, slot):
    return state.run[0].now_us - state.task_init_us[state.slot[slot].task]
