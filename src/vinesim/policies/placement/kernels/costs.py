"""The cost of putting a task on a server, for each type and each state of a server.

Kernels on the CPU only compare costs and compute none, so that all of them see exactly the same numbers; that of a GPU
computes them with the same roundings, see :mod:`cuda_kernel`.
Source: energy-aware scheduler thesis, section 3.3, equation 9, whose cases overlap and whose units do not agree;
the variants are readings of it.
"""

import numpy as np

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
    """[M, P, 4]: the cost of each task on each type of server in each state; infinite if it cannot run.

    ``demand`` and ``time`` are [M, P], powers [P]; ``time`` and ``period`` have the same unit; infinite: cannot run.

    ``fitted`` (the reading that gives the thesis' energies): demand x time x beta if the task fits, plus
    (alpha - sleep) x period on an empty server, and times ``penalty`` if it does not fit. ``literal``: the cases of
    equation 9 in their order, with the wake-up term for servers that are empty and too small. ``fitfirst``: the penalty
    first, then the wake-up term for every empty server. ``marginal``: the additional energy of the period, times
    ``penalty`` if the task does not fit.
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
