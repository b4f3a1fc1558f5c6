"""Random scenarios of real nodes: units of several types and capacities at a node, tasks that hold several of them.

What a task may demand is decided here in plain loops, without the package's classes of demands.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.demands import demands_of, taken
from tests.rates import at_full_speed, every_second_with_rates
from tests.strategies import Limits, SeededDice, build_scenario
from vinesim.model.workload import ANY_LEAD, NOT_PLACED

OVER = 1 + 1e-9
LIMITS = Limits(units=20, jobs=12)


def shares_speed(case: vs.Scenario, kind: int) -> bool:
    center, limit = case.datacenter, at_full_speed(case.datacenter.processor_types[kind])
    mine = center.unit_capacity[center.unit_type == kind]
    return limit is not None and any(capacity > limit for capacity in mine)


def nodes_of(case: vs.Scenario) -> list[list[int]]:
    """Return the units of each node, as rows of the deployment."""
    found: dict[tuple[int, int], list[int]] = {}
    for unit in range(case.datacenter.n_units):
        found.setdefault((int(case.datacenter.rack[unit]), int(case.datacenter.shelf[unit])), []).append(unit)
    return list(found.values())


def is_possible(case: vs.Scenario, task: int) -> bool:
    """Whether an empty node has everything that the task holds."""
    work, center = case.workload, case.datacenter
    names = [p.name for p in center.processor_types]
    type_of_task = int(np.repeat(work.job_task_type, np.diff(work.job_first))[task])
    n_units = 1 if work.units is None else int(work.units[task])
    demand = float(demands_of(work)[task])
    companions = {names.index(name): float(amount[task]) for name, amount in (work.companions or {}).items()}
    companions = {p: amount for p, amount in companions.items() if amount > 0}
    code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
    for node in nodes_of(case):
        here = [(int(center.unit_type[unit]), float(center.unit_capacity[unit])) for unit in node]
        for lead in range(len(names)):
            is_named = code == ANY_LEAD or names[lead] in work.lead_sets[code]
            if not is_named or lead in companions or case.affinity[lead, type_of_task] <= 0:
                continue
            enough = sum(p == lead and taken(demand, size) <= size * OVER for p, size in here) >= n_units
            on_one = all(any(p == q and amount <= size * OVER for q, size in here) for p, amount in companions.items())
            if enough and on_one and not (n_units > 1 and shares_speed(case, lead)):
                return True
    return False


def one_of_a_type_at_a_node(center: vs.Datacenter, seed: int) -> vs.Datacenter:
    """The datacenter with the units of each type but one at their own nodes, so that companions need not be looked
    for."""
    kind = center.unit_type
    number = np.array([np.count_nonzero(kind[:unit] == kind[unit]) for unit in range(center.n_units)])
    node = np.where(kind == seed % (int(kind.max()) + 1), 2 * center.rack + center.shelf, number)
    n_racks, n_shelves = max(center.n_racks, 2), max(center.n_shelves, int(node.max()) // 2 + 1)
    return replace(center, rack=node % 2, shelf=node // 2, n_racks=n_racks, n_shelves=n_shelves)


def real_scenario(
    seed: int,
    policy: Any = "high",
    has_outages: bool = False,
    early: bool = False,
    options: Any = None,
    has_rates: bool = False,
) -> vs.Scenario:
    """The scenario of a seed: few nodes with several units each; what no node could ever hold is taken back. With
    ``has_rates`` every second one has speed curves."""
    dice = SeededDice(seed)
    base = build_scenario(dice, replace(LIMITS, outages=has_outages, early=early), policy, options)
    base = every_second_with_rates(base, seed) if has_rates else base
    center, n, placed = base.datacenter, base.workload.n_tasks, base.workload.placed
    base = replace(base, workload=replace(base.workload, placed=None))
    if not has_outages:  # which name nodes
        center = replace(center, rack=center.rack % 2, shelf=center.shelf % 2)
        center = one_of_a_type_at_a_node(center, seed) if seed % 3 == 0 else center
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
    case = replace(base, workload=replace(base.workload, **columns, lead_sets=tuple(sets)))
    if placed is not None:
        case = replace(case, workload=replace(case.workload, placed=placeable(case, placed)))
    return case


def placeable(case: vs.Scenario, placed: np.ndarray) -> np.ndarray:
    """Those of the tasks that may run from the beginning for which there is room, one after another."""
    work, center = case.workload, case.datacenter
    names, kept = [p.name for p in center.processor_types], np.full(work.n_tasks, NOT_PLACED)
    load, kind = np.zeros(center.n_units), center.unit_type

    def has_room(unit: int, amount: float) -> bool:
        size = center.unit_capacity[unit]
        return load[unit] < size * (2 - OVER) and load[unit] + amount <= size * OVER

    for task in np.flatnonzero(placed != NOT_PLACED):
        own = int(placed[task])
        (node,) = (units for units in nodes_of(case) if own in units)
        needs = {unit: taken(float(demands_of(work)[task]), float(center.unit_capacity[unit])) for unit in node}
        others = [u for u in node if kind[u] == kind[own] and u != own and has_room(u, needs[u])]
        n_others = 0 if work.units is None else int(work.units[task]) - 1
        asked = [(names.index(name), float(amount[task])) for name, amount in (work.companions or {}).items()]
        companions = {p: amount for p, amount in asked if amount > 0}
        found = [[u for u in node if kind[u] == p and has_room(u, amount)] for p, amount in companions.items()]
        code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
        is_lead = kind[own] not in companions and (code == ANY_LEAD or names[kind[own]] in work.lead_sets[code])
        if is_lead and len(others) >= n_others and all(found) and has_room(own, needs[own]):
            kept[task] = own
            for unit in (own, *others[:n_others]):
                load[unit] += needs[unit]
            for units in found:
                load[units[0]] += companions[int(kind[units[0]])]
    return kept


def wrong(case: vs.Scenario, done: vs.Result) -> Iterator[str]:
    """Return the errors in who held what, from the tables and the scenario."""
    work, center = case.workload, case.datacenter
    order = np.lexsort((center.shelf, center.rack))
    names = [p.name for p in center.processor_types]
    kind, size = center.unit_type[order], center.unit_capacity[order]
    place = list(zip(center.rack[order].tolist(), center.shelf[order].tolist(), strict=True))
    rows = done.tasks if done.segments is None else done.segments
    begin = rows["init_us" if done.segments is None else "begin_us"]
    end = rows["finish_us" if done.segments is None else "end_us"]
    end = np.where(np.isnan(end), done.summary["makespan_us"], end)
    amount = rows["amount"] if "amount" in list(rows) else size[rows["unit"]]
    unit_of, demand = rows["unit"].tolist(), demands_of(work)
    segment_of = [0] * len(unit_of) if done.segments is None else rows["segment"].tolist()
    of: dict[tuple[int, int], list[int]] = defaultdict(list)
    on: dict[int, list[int]] = defaultdict(list)
    for i, task in enumerate(rows["task"].tolist()):
        on[unit_of[i]].append(i)
        if unit_of[i] >= 0:
            of[task, segment_of[i]].append(i)
    for (task, segment), mine in of.items():
        units = [unit_of[i] for i in mine]
        lead = int(kind[units[0]])
        if len({place[unit] for unit in units}) > 1 or len(set(units)) < len(units):
            yield f"task {task}, segment {segment}: units {units} are not different units of one node"
        if len({(begin[i], end[i]) for i in mine}) > 1:
            yield f"task {task}, segment {segment}: not all is held from the same time to the same time"
        code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
        if code != ANY_LEAD and names[lead] not in work.lead_sets[code]:
            yield f"task {task} runs on {names[lead]}, not on one of {work.lead_sets[code]}"
        expected = [(lead, taken(float(demand[task]), float(size[unit]))) for unit in units if kind[unit] == lead]
        if len(expected) != (1 if work.units is None else work.units[task]):
            yield f"task {task} holds {len(expected)} units of its lead"
        for name, values in (work.companions or {}).items():
            if values[task] > 0:
                expected.append((names.index(name), float(values[task])))
        found = [(int(kind[unit]), float(amount[i])) for unit, i in zip(units, mine, strict=True)]
        if sorted(found) != sorted(expected):
            yield f"task {task}, segment {segment} holds {found}, not {expected}"
    for unit in range(len(kind)):
        held = [(float(begin[i]), float(end[i]), float(amount[i])) for i in on[unit]]
        for time in {one for one, _, _ in held}:
            load = sum(part for one, other, part in held if one <= time < other)
            if load > size[unit] * (1 + 1e-8):
                yield f"unit {unit} is loaded with {load} of {size[unit]} at {time}"
    allocated = np.zeros(len(kind))
    np.add.at(allocated, rows["unit"][rows["unit"] >= 0], ((end - begin) * amount)[rows["unit"] >= 0])
    if not np.allclose(allocated / size, done.units["allocated_us"], rtol=1e-9, atol=1e-9):
        yield "allocated_us is not what the segments add up to"
