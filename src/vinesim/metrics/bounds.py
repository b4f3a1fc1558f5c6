"""Lower bounds on the energy of a period, for any placement of its tasks.

Each task is charged to the server type where it is cheapest, together with the share of a server's wake-up energy that
it fills. Source: the relaxation of variable cost and size bin packing (the energy-aware scheduler thesis names the
problem in section 3.4; it gives no bound).
"""

import numpy as np

from vinesim.model.accounting import EnergyReading

OVERFULL = 1.0 + 1e-9  # tolerance on a capacity: demands such as 0.1 do not add up exactly


def energy_bound(
    demand: np.ndarray,
    time_s: np.ndarray,
    capacity: np.ndarray,
    awake_w: np.ndarray,
    per_demand_w: np.ndarray,
    asleep_w: np.ndarray,
    n_servers: np.ndarray,
    period_s: float,
    reading: EnergyReading = "run_time",
    overcommit: bool = False,
) -> float:
    """Return a lower bound on the energy, J; infinite if the tasks cannot be placed.

    ``demand`` and ``time_s`` [C, P] are what each task needs on each server type (an infinite time: it cannot run
    there). Capacity, powers and number of servers are [P]. The bound holds for placements that load no server beyond
    its capacity, or, with ``overcommit``, for all placements.
    """
    able = np.isfinite(time_s)
    if not overcommit:
        able &= demand <= capacity * OVERFULL
    time = np.where(able, time_s, 0.0)
    if reading == "eq2":  # at least this many servers have no task and draw their sleep power
        base = float(asleep_w.min()) * max(0, int(n_servers.sum()) - len(demand)) * period_s
        task = awake_w * demand + per_demand_w * demand * time
        return base + float(np.where(able, task, np.inf).min(axis=1, initial=np.inf).sum())
    runs = np.minimum(time, period_s) if reading == "run_time" else period_s
    task = per_demand_w * demand * runs
    wake = np.maximum(0.0, awake_w - asleep_w) * period_s
    base = float((np.minimum(awake_w, asleep_w) * n_servers).sum() * period_s)
    if not overcommit:
        task = task + wake * demand / (capacity * OVERFULL)
    cheapest = np.where(able, task, np.inf).min(axis=1, initial=np.inf)
    if overcommit and len(demand):
        base += float(wake[n_servers > 0].min())
    return base + float(cheapest.sum())
