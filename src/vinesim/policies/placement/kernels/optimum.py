"""The placement with the least energy within capacity, proven by OR-Tools' CP-SAT, for some dozen tasks and servers.

Source: variable cost and size bin packing, the problem named in the energy-aware scheduler thesis, section 3.4.
"""

from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.optimal.solver import cp_sat, new_solver, prove
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.state.demand import amounts

SCALE = 1_000_000  # CP-SAT needs whole numbers: demands and joules in millionths
MAX_PAIRS = 50_000  # pairs of a task and a server


def least_energy(tasks: BatchTasks, servers: BatchServers, limit_s: float = 60.0) -> tuple[float, np.ndarray] | None:
    """Return the least energy of a period, J (accounting ``run_time``), and the server of each task [M].

    None if no placement loads every server within its capacity. Servers must be empty. Raises :class:`InputError`
    without OR-Tools, and if ``limit_s`` seconds are not enough to prove the optimum.
    """
    instance = Instance.of(tasks, servers)
    return least_energy_of(
        amounts(tasks.demand[:, None], instance.capacity),
        instance.times_us() / 1e6,
        instance.kind,
        instance.capacity,
        servers.idle_power_w[instance.codes],
        servers.dynamic_power_w[instance.codes],
        servers.sleep_power_w[instance.codes],
        servers.period_us / 1e6,
        limit_s,
    )


def least_energy_of(
    amount: np.ndarray,
    time_s: np.ndarray,
    kind: np.ndarray,
    capacity: np.ndarray,
    awake_w: np.ndarray,
    per_demand_w: np.ndarray,
    asleep_w: np.ndarray,
    period_s: float,
    limit_s: float = 60.0,
) -> tuple[float, np.ndarray] | None:
    """Do the same from arrays: demand and time (infinite: cannot run) of each task on each server type [M, P], the type
    of each server [U], capacity and powers of the types [P]."""
    cp_model = _solver(len(amount) * len(kind), f"{len(amount)} tasks on {len(kind)} servers")
    able = np.isfinite(time_s)
    run_j = per_demand_w * amount * np.where(able, np.minimum(time_s, period_s), 0.0)
    wake_j = (awake_w - asleep_w) * period_s
    n_tasks, n_servers = len(amount), len(kind)
    model = cp_model.CpModel()
    awake = [model.new_bool_var(f"awake{n}") for n in range(n_servers)]
    chosen = {}
    for m in range(n_tasks):
        for n in np.flatnonzero(able[m, kind]).tolist():
            chosen[m, n] = model.new_bool_var(f"x{m},{n}")
            model.add_implication(chosen[m, n], awake[n])
        model.add_exactly_one(chosen[m, n] for n in range(n_servers) if (m, n) in chosen)
    for n, p in enumerate(kind):
        here = [round(SCALE * amount[m, p]) * chosen[m, n] for m in range(n_tasks) if (m, n) in chosen]
        model.add(sum(here) <= round(SCALE * capacity[p]) * awake[n])
        same = np.flatnonzero(kind[:n] == p)
        if len(same):  # of equal servers, the first ones are awake
            model.add_implication(awake[n], awake[int(same[-1])])
    cost = [round(SCALE * wake_j[p]) * awake[n] for n, p in enumerate(kind)]
    cost += [round(SCALE * run_j[m, kind[n]]) * x for (m, n), x in chosen.items()]
    model.minimize(sum(cost))
    solver = new_solver(limit_s, 0)
    status = prove(solver, model)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        found = f"{n_tasks} tasks on {n_servers} servers, not proven in {limit_s:g} s"
        raise InputError([Problem(("optimum",), "a smaller case or more time", found)])
    placed = np.zeros(n_tasks, np.int64)
    for (m, n), x in chosen.items():
        if solver.value(x):
            placed[m] = n
    energy = (asleep_w[kind] * period_s).sum() + run_j[np.arange(n_tasks), kind[placed]].sum()
    return float(energy + wake_j[kind[np.unique(placed)]].sum()), placed


def _solver(n_pairs: int, found: str) -> Any:
    """Return OR-Tools' CP-SAT. Raises :class:`InputError` if it is missing, or the case is too large for it."""
    if n_pairs > MAX_PAIRS:
        expected = f"at most {MAX_PAIRS:,} pairs of a task and a server"
        raise InputError([Problem(("optimum",), expected, found, "Prove it for a smaller case.")])
    return cp_sat("optimum")
