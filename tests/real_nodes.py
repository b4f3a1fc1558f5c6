"""Random scenarios of real nodes: units of several types and capacities at a node, tasks that hold several of them.

What a task may demand is decided here in plain loops, without the package's classes of demands.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.demands import demands_of, taken
from tests.strategies import Limits, SeededDice, build_scenario
from vinesim.model.workload import ANY_LEAD

OVER = 1 + 1e-9
LIMITS = Limits(units=20, jobs=12, outages=False)


def shares_speed(case: vs.Scenario, kind: int) -> bool:
    center, limit = case.datacenter, case.datacenter.processor_types[kind].parallelism
    mine = center.unit_capacity[center.unit_type == kind]
    return limit is not None and any(capacity > limit for capacity in mine)


def nodes_of(case: vs.Scenario) -> list[list[int]]:
    """The units of each node, as rows of the deployment."""
    found: dict[tuple[int, int], list[int]] = {}
    for unit in range(case.datacenter.n_units):
        found.setdefault((int(case.datacenter.rack[unit]), int(case.datacenter.shelf[unit])), []).append(unit)
    return list(found.values())


def is_possible(case: vs.Scenario, task: int) -> bool:
    """Whether a node without tasks has all that the task holds."""
    work, center = case.workload, case.datacenter
    names = [p.name for p in center.processor_types]
    kind = int(np.repeat(work.job_task_type, np.diff(work.job_first))[task])
    n_units = 1 if work.units is None else int(work.units[task])
    demand = float(demands_of(work)[task])
    beside = {names.index(name): float(amount[task]) for name, amount in (work.companions or {}).items()}
    beside = {p: amount for p, amount in beside.items() if amount > 0}
    code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
    for node in nodes_of(case):
        here = [(int(center.unit_type[unit]), float(center.unit_capacity[unit])) for unit in node]
        for lead in range(len(names)):
            is_named = code == ANY_LEAD or names[lead] in work.lead_sets[code]
            if not is_named or lead in beside or case.affinity[lead, kind] <= 0:
                continue
            enough = sum(p == lead and taken(demand, size) <= size * OVER for p, size in here) >= n_units
            on_one = all(any(p == q and amount <= size * OVER for q, size in here) for p, amount in beside.items())
            if enough and on_one and not (n_units > 1 and shares_speed(case, lead)):
                return True
    return False


def real_scenario(seed: int, policy: Any = "high", has_outages: bool = False) -> vs.Scenario:
    """The scenario of a seed: few nodes with several units each; what no node could ever hold is taken back."""
    dice = SeededDice(seed)
    base = build_scenario(dice, replace(LIMITS, outages=has_outages), policy)
    center, n = base.datacenter, base.workload.n_tasks
    if not has_outages:  # which name nodes
        center = replace(center, rack=center.rack % 2, shelf=center.shelf % 2)
    if dice.integer(0, 1):
        factor = np.array([dice.pick((1.0, 1.0, 2.0, 1.5)) for _ in range(center.n_units)])
        center = replace(center, capacity=center.unit_capacity * factor)
    names = [p.name for p in center.processor_types]
    sets = [(name,) for name in names] + [tuple(names)]
    base = replace(base, datacenter=center)
    columns: dict[str, Any] = {
        "units": np.array([dice.pick((1, 1, 2, 3)) for _ in range(n)]),
        "lead_types": np.array([dice.integer(-1, len(sets) - 1) for _ in range(n)]),
        "companions": {
            name: np.array([dice.pick((0.0, 0.0, 0.5, 0.3, 1.0, 2.0)) for _ in range(n)])
            for p, name in enumerate(names)
            if not shares_speed(base, p) and dice.integer(0, 2)
        },
    }
    case = replace(base, workload=replace(base.workload, **columns, lead_sets=tuple(sets)))
    for task in range(n):
        if not is_possible(case, task):
            columns["units"][task], columns["lead_types"][task] = 1, ANY_LEAD
            for amount in columns["companions"].values():
                amount[task] = 0.0
    return replace(base, workload=replace(base.workload, **columns, lead_sets=tuple(sets)))
