"""Reservations of nodes, which are known before they begin. The rule is in state/expected.py."""

from vinesim.core.called import called
from vinesim.core.features import RESERVED
from vinesim.state.expected import is_admitted


def has_reservations(model):
    return RESERVED and model.reserved_first.shape[0] > 0


def reservations_allow(model, state, task, unit):
    return is_admitted_called(model, state, task, unit) if RESERVED and has_reservations(model) else True


@called
def is_admitted_called(model, state, task, unit):
    return is_admitted(model, state, task, unit)


def hypothetical_begin_us(model, state):
    return max(state.run[0].now_us, state.run[0].begin_us)
