"""Slack and urgency: eq. 1 to 4 of the Symphony paper, section IV-A4.

Only the order of urgencies matters. They are given on a scale that preserves it and cannot overflow: instead of
U = -slack^p L the signed p-th root -slack L^(1/p), instead of U = 2^-slack L its logarithm.
"""

import math
from typing import Any


def slack_us(deadline_us: float, now_us: float, estimate_us: float) -> float:
    """Return eq. 1: the time left before the request must be issued; negative if it is overdue, infinite if it is never
    due, though it may take as long."""
    return deadline_us - (now_us + estimate_us) if deadline_us < math.inf else math.inf


def load_of(n_pending: float, average_load: float) -> float:
    """Return eq. 3: pending requests divided by those expected per second."""
    return n_pending / average_load


def urgency(slack: float, load: float, form: Any, power: float, weight: Any, unit_us: float) -> float:
    """Return eq. 2 and 4 for an available resource: grows as slack shrinks, odd-symmetric about 0, weighted by load.

    ``form`` and ``weight`` are Symphony's options ``urgency`` and ``load``. The weight ``literal`` multiplies whatever
    the sign: while slack is positive, load reduces urgency; ``fixed`` divides there instead. ``unit_us`` is the unit of
    slack in 2^-slack.
    """
    if form.exponential:
        return -slack / unit_us + (0.0 if weight.off else math.log2(load))
    if weight.off:
        return -slack
    factor = load if form.linear else load ** (1.0 / power)
    return -slack / factor if weight.fixed and slack > 0.0 else -slack * factor
