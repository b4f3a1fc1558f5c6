"""The placement of least energy within capacity, proven by OR-Tools' CP-SAT solver: for a few dozen tasks and servers.

Source: variable cost and size bin packing, the problem that the energy-aware scheduler thesis, section 3.4, names.
"""

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.instance import Instance

SCALE = 1_000_000  # CP-SAT takes whole numbers: demands and joules in millionths


def least_energy(
    tasks: BatchTasks, servers: BatchServers, period_us: float, limit_s: float = 60.0
) -> tuple[float, np.ndarray] | None:
    """The least energy of a period, J (accounting ``run_time``), and the server of each task [M].

    None if no placement loads every server within its capacity. Servers must be empty. Raises :class:`InputError`
    without OR-Tools, and when ``limit_s`` seconds are not enough to prove the optimum.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        problem = Problem("optimum", "OR-Tools", "it is not installed", "pip install vinesim[optimal]")
        raise InputError([problem]) from None
    instance = Instance.of(tasks, servers)
    time_s = np.minimum(instance.times_us(), period_us) / 1e6
    wake_j, run_j, asleep_j = _joules(instance, time_s, period_us / 1e6)
    model = cp_model.CpModel()
    n_tasks, n_servers = instance.n_tasks, len(instance.load)
    awake = [model.new_bool_var(f"awake{n}") for n in range(n_servers)]
    chosen = {}
    for m in range(n_tasks):
        for n in range(n_servers):
            if np.isfinite(instance.times_us()[m, instance.kind[n]]):
                chosen[m, n] = model.new_bool_var(f"x{m},{n}")
                model.add_implication(chosen[m, n], awake[n])
        model.add_exactly_one(chosen[m, n] for n in range(n_servers) if (m, n) in chosen)
    for n in range(n_servers):
        capacity = instance.capacity[instance.kind[n]]
        demand = [round(SCALE * (float(d) or capacity)) for d in tasks.demand]
        here = [(m, chosen[m, n]) for m in range(n_tasks) if (m, n) in chosen]
        model.add(sum(demand[m] * x for m, x in here) <= round(SCALE * capacity) * awake[n])
        same = [k for k in range(n) if instance.kind[k] == instance.kind[n]]
        if same:  # equal servers: the first ones are awake
            model.add_implication(awake[n], awake[same[-1]])
    cost = [round(SCALE * wake_j[instance.kind[n]]) * awake[n] for n in range(n_servers)]
    cost += [round(SCALE * run_j[m, instance.kind[n]]) * x for (m, n), x in chosen.items()]
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        found = f"{n_tasks} tasks on {n_servers} servers, not proven in {limit_s:g} s"
        raise InputError([Problem("optimum", "a smaller case or more time", found)])
    placed = np.array(
        [next(n for n in range(n_servers) if (m, n) in chosen and solver.value(chosen[m, n])) for m in range(n_tasks)]
    )
    energy = asleep_j + sum(run_j[m, instance.kind[n]] for m, n in enumerate(placed))
    return float(energy + wake_j[instance.kind[np.unique(placed)]].sum()), placed


def _joules(instance: Instance, time_s: np.ndarray, period_s: float) -> tuple[np.ndarray, np.ndarray, float]:
    """What waking a server costs [P], running a task on it [M, P], and what all draw asleep, J."""
    servers = instance.servers
    awake, per_demand, asleep = (
        w[instance.codes] for w in (servers.idle_power_w, servers.dynamic_power_w, servers.sleep_power_w)
    )
    demand = instance.tasks.demand[:, None]
    amount = np.where(demand > 0, demand, instance.capacity)
    return (awake - asleep) * period_s, per_demand * amount * time_s, float(asleep[instance.kind].sum() * period_s)
