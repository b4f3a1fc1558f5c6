"""The cost of putting a task on a server, for each kind of server and each state that a server can be in.

Kernels compare costs and compute none, so that every one of them, on any device, sees the same numbers bit by bit.
Source: energy-aware scheduler thesis, section 3.3, equation 9, whose branches overlap and whose units do not agree;
the variants are its readings.
"""

from typing import Literal

import numpy as np

Variant = Literal["fitted", "literal", "fitfirst", "marginal"]

ACTIVE_FITS, EMPTY_FITS, ACTIVE_FULL, EMPTY_FULL = range(4)  # FULL: the task does not fit


def cost_table(
    variant: str,
    demand: np.ndarray,
    time: np.ndarray,
    awake_w: np.ndarray,
    per_demand_w: np.ndarray,
    asleep_w: np.ndarray,
    period: float,
    penalty: float,
) -> np.ndarray:
    """[M, P, 4]: the cost of each task on each type of server in each state; infinite where it cannot run.

    ``demand`` and ``time`` [M, P], powers [P]; ``time`` and ``period`` in one unit, infinite times mean: cannot run.

    ``fitted`` (the reading that gives the thesis' energies): demand x time x beta where the task fits, more by
    (alpha - sleep) x period on an empty server, and times ``penalty`` where it does not fit. ``literal``: the branches
    of equation 9 in their order, the wake-up term for servers that are empty and too small. ``fitfirst``: the penalty
    first, then the wake-up term for whatever is empty. ``marginal``: the energy that the period really takes more,
    times ``penalty`` where the task does not fit.
    """
    able = np.isfinite(time)
    can_all_run = bool(able.all())
    if not can_all_run:
        time = np.where(able, time, 0.0)
    wake_w = awake_w - asleep_w
    counted = np.minimum(time, period) if variant == "marginal" else time
    run = demand * counted * per_demand_w
    table = np.empty((*run.shape, 4))
    table[..., ACTIVE_FITS] = run
    table[..., ACTIVE_FULL] = table[..., EMPTY_FULL] = penalty * run
    if variant == "fitted":
        table[..., EMPTY_FITS] = wake_w * period + run
    elif variant == "literal":
        table[..., EMPTY_FITS] = run
        table[..., EMPTY_FULL] = wake_w * time
    elif variant == "fitfirst":
        table[..., EMPTY_FITS] = wake_w * time
    else:
        table[..., EMPTY_FITS] = wake_w * period + run
        table[..., EMPTY_FULL] = penalty * table[..., EMPTY_FITS]
    if not can_all_run:
        table[~able] = np.inf
    return table
