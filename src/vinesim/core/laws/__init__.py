"""Device laws: when a segment ends on its unit, and how far it has come.

A law is three functions: ``join`` and ``leave`` as a segment begins and before its end, each with the load of the unit
after it, and ``served_us``, the service that a segment has had. Which law a unit follows is a fact about the unit:
``exclusive``, a task runs at full speed, or one task after another does; ``shared``, tasks get equal parts of a speed,
or each task type by its own speed curve. A serving engine (``batching``) is not called when a request ends: it says so.
"""

from vinesim.core.features import AHEAD, BATCHING, CURVES, SHARED
from vinesim.core.laws import batching, exclusive, shared


def is_shared(model, unit):
    """Whether tasks may share the speed of a unit."""
    return model.unit_parallelism[unit] < model.unit_capacity[unit]


def has_speed_curves(model, unit):
    """Whether task types have their own speed curves on a unit."""
    return model.type_curve.shape[0] > 0 and model.type_curve[model.unit_type[unit], 0] >= 0


def join(model, state, slot, unit, load, service_us, end_us):
    """Let a segment begin that takes ``service_us`` alone, until ``end_us``. Returns whether the next end on the unit
    is a finite number, or never comes."""
    if SHARED and is_shared(model, unit):
        if CURVES and has_speed_curves(model, unit):
            return shared.join_by_curves(model, state, slot, unit, load, service_us)
        return shared.join(model, state, slot, unit, load, service_us)
    if AHEAD and exclusive.takes_ahead(model, unit):
        return exclusive.join_in_turn(state, slot, unit, end_us)
    return exclusive.join(state, slot, end_us)


def leave(model, state, slot, unit, load, is_due):
    """Let a segment leave, whose end is taken out of the calendar already if it ``is_due``. Returns the same."""
    if BATCHING and batching.is_engine(model, unit):
        return True
    if SHARED and is_shared(model, unit):
        if CURVES and has_speed_curves(model, unit):
            return shared.leave_by_curves(model, state, slot, unit, load, is_due)
        return shared.leave(model, state, slot, unit, load, is_due)
    if AHEAD and exclusive.takes_ahead(model, unit):
        return exclusive.leave_in_turn(model, state, slot, unit, is_due)
    return exclusive.leave(state, slot, is_due)


def served_us(model, state, slot, unit):
    """The service that a segment has had so far, us at full speed, its transfer included."""
    if SHARED and is_shared(model, unit):
        return shared.served_us(model, state, slot, unit)
    return exclusive.served_us(state, slot)
