"""Demand classes: tasks of one type and partition that demand the same of a node are of one class.

A class has a lead (a number of units of one type at one node, a share of each) and companions (amounts of other types
at the same node, each from one unit). First the distinct values are numbered. The columns of the model about the
classes come after the classes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vinesim.formats.source.quantities import amount_words
from vinesim.model.arrays import distinct
from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import Problem
from vinesim.model.partition import Partition
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ANY_LEAD, NO_PARTITION, ONE_SLOT, Workload
from vinesim.state import bit_levels
from vinesim.state.demand import amounts, comparable, demands
from vinesim.state.layout import OVERFULL

MOST_CODES = 1 << 62  # of several columns, before they are renumbered
MOST_LEVELS = 1 << 20  # of a column of whole numbers; others are numbered
MOST_IN_TABLE = 1 << 22  # codes, and
MOST_A_ROW = 8  # of them for each row; more are sorted


def coded(columns: Sequence[np.ndarray]) -> np.ndarray:
    """[N] int32: equal for rows that are equal in all columns, from 0, in their order; the first column counts most."""
    code, n_codes = np.zeros(len(columns[0]), np.int64), 1
    for values in columns:
        level, n = _levels(values)
        if n_codes * n > MOST_CODES:
            code = np.unique(code, return_inverse=True)[1]
            n_codes = int(code.max()) + 1
        if n > 1:
            code *= n  # in place: these columns are most of what a model needs while it is made
            code += level
            n_codes *= n
    if n_codes == 1:
        return np.zeros(len(code), np.int32)
    if n_codes > min(MOST_IN_TABLE, MOST_A_ROW * len(code)):
        return np.unique(code, return_inverse=True)[1].astype(np.int32)
    is_present = np.zeros(n_codes, bool)
    is_present[code] = True
    return (np.cumsum(is_present, dtype=np.int32) - np.int32(1))[code]


def first_rows(code: np.ndarray) -> np.ndarray:
    """[codes] int64: the first row of each of the codes that ``coded`` returns."""
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    if len(first) > 1:
        first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first


def _levels(values: np.ndarray) -> tuple[np.ndarray | int, int]:
    """Return whole numbers, 0 or more, in the order of the values, and a number that is above all of them."""
    least, most = (values.min(), values.max()) if len(values) else (0, 0)
    if least == most:
        return 0, 1
    if values.dtype.kind in "iub" and int(most) - int(least) < MOST_LEVELS:
        return np.subtract(values, int(least), dtype=np.int64), int(most) - int(least) + 1
    found, level = np.unique(values, return_inverse=True)
    return level, len(found)


MOST_AT_ONCE = 10_000_000  # numbers in the tables that compare classes with nodes


class DemandClasses(NamedTuple):
    """T classes, in the order of their first columns: task type, lead set, units, share, companions, partition."""

    of_task: np.ndarray  # [N] int32
    first_task: np.ndarray  # [T] int64: the first task of each class
    task_type: np.ndarray  # [T] int32
    units: np.ndarray  # [T] int32: units of the lead
    share: np.ndarray  # [T] float64: of each of them; infinite: the whole unit; NaN: one slot
    companion: np.ndarray  # [T, P] float64: amount of each processor type; 0: none
    partition: np.ndarray  # [T] int32: of the scenario's, or NO_PARTITION
    named: np.ndarray  # [T, P] bool: a lead may be of the type
    can_lead: np.ndarray  # [T, P] bool: a lead may be of the type, and a node without tasks has all that is demanded


def classes_of(scenario: Scenario) -> DemandClasses:
    """Return the classes of a scenario's workload on its datacenter."""
    of_jobs = scenario.job_partition
    return classes_on(scenario.workload, scenario.datacenter, scenario.affinity, of_jobs, scenario.partitions)


def classes_on(
    work: Workload,
    center: Datacenter,
    affinity: np.ndarray,
    job_partition: np.ndarray,
    partitions: Sequence[Partition] = (),
) -> DemandClasses:
    """Return the classes of a workload on a datacenter that may be unable to run all of it.

    Args:
        affinity: [P, task types].
        job_partition: [J] the number of the partition of each job, or NO_PARTITION.
    """
    found = classes_anywhere(work, center.processor_types, affinity, job_partition)
    fits = np.zeros(found.named.shape, bool)
    for number in distinct(found.partition).tolist():
        mine = found.partition == number
        fits[mine] = _on_empty_nodes(found, units_of_partition(center, partitions, number), center)[mine]
    return found._replace(can_lead=found.named & fits)


def classes_anywhere(
    work: Workload, processor_types: Sequence[ProcessorType], affinity: np.ndarray, job_partition: np.ndarray
) -> DemandClasses:
    """Return the classes of a workload, whatever nodes there are: as if each type that is named could lead."""
    names = [p.name for p in processor_types]
    n_tasks, n_types = work.n_tasks, len(names)
    task_type = np.repeat(work.job_task_type, np.diff(work.job_first))
    lead = np.full(n_tasks, ANY_LEAD) if work.lead_types is None else work.lead_types
    units = np.ones(n_tasks, np.int32) if work.units is None else work.units
    share = demands(work)
    companion = {names.index(name): amount for name, amount in (work.companions or {}).items()}
    partition = np.repeat(job_partition, np.diff(work.job_first))
    of_task = coded([task_type, lead, units, comparable(share), *companion.values(), partition])
    first = first_rows(of_task)
    companions = np.zeros((len(first), n_types))
    for p, amount in companion.items():
        companions[:, p] = amount[first]
    in_set = np.array([[name in some for name in names] for some in work.lead_sets] + [[True] * n_types])
    named = in_set[lead[first]] & (affinity.T > 0)[task_type[first]] & (companions == 0)
    task_class = task_type[first].astype(np.int32)
    return DemandClasses(
        of_task, first, task_class, units[first], share[first], companions, partition[first], named, named
    )


def units_of_partition(center: Datacenter, partitions: Sequence[Partition], number: int) -> np.ndarray:
    """[U] bool: the units of one of the partitions."""
    one = Partition("") if number == NO_PARTITION else partitions[number]
    return one.has(center.rack, center.shelf)


def _on_empty_nodes(classes: DemandClasses, is_there: np.ndarray, center: Datacenter) -> np.ndarray:
    """[T, P] whether a node without tasks has the lead, of each type, and the companions of each class; the nodes are
    those of the units ``is_there`` [U].

    Several units whose tasks share their speed cannot be one lead: they would advance at different speeds.
    """
    unit_type, capacity, node = _nodes_of_each_kind(center, is_there)
    n_nodes, n_types = int(node.max()) + 1, len(center.processor_types)
    largest = np.zeros((n_nodes, n_types))
    np.maximum.at(largest, (node, unit_type), capacity)
    slows_down = np.array([shares_speed(center, p) for p in range(n_types)])
    kind, lead = np.nonzero(classes.can_lead & ~((classes.units > 1)[:, np.newaxis] & slows_down))
    share = classes.share[kind]
    offer = coded([lead, comparable(share)])
    first = first_rows(offer)
    n_offered, n_at_once = np.zeros((len(first), n_nodes), np.int32), max(1, MOST_AT_ONCE // len(unit_type))
    for begin in range(0, len(first), n_at_once):
        some = first[begin : begin + n_at_once, np.newaxis]
        i, unit = np.nonzero((lead[some] == unit_type) & (amounts(share[some], capacity) <= capacity * OVERFULL))
        np.add.at(n_offered, (begin + i, node[unit]), 1)
    found, limit = np.zeros(classes.can_lead.shape, bool), largest * OVERFULL
    n_at_once = max(1, MOST_AT_ONCE // limit.size)
    for begin in range(0, len(found), n_at_once):
        asked = classes.companion[begin : begin + n_at_once, np.newaxis, :]
        has_companions = np.all(asked <= limit, axis=2)
        mine = np.flatnonzero((kind >= begin) & (kind < begin + n_at_once))
        has_lead = n_offered[offer[mine]] >= classes.units[kind[mine], np.newaxis]
        found[kind[mine], lead[mine]] = np.any(has_lead & has_companions[kind[mine] - begin], axis=1)
    return found


def _nodes_of_each_kind(center: Datacenter, is_there: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return type, capacity and node of the units of one node of each kind: large datacenters have few kinds."""
    unit_type, capacity = center.unit_type[is_there], center.unit_capacity[is_there]
    at = center.rack[is_there] * np.int64(center.n_shelves) + center.shelf[is_there]
    place = np.unique(at, return_inverse=True)[1]
    kind = coded([unit_type, capacity])
    counts = np.zeros((int(place.max()) + 1, int(kind.max()) + 1), np.int32)
    if counts.size > 50_000_000:
        return unit_type, capacity, place
    np.add.at(counts, (place, kind), 1)
    chosen = first_rows(coded(list(counts.T)))
    number = np.full(len(counts), -1)
    number[chosen] = np.arange(len(chosen))
    mine = number[place] >= 0
    return unit_type[mine], capacity[mine], number[place[mine]]


def shares_speed(center: Datacenter, processor_type: int) -> bool:
    """Whether tasks may share the speed of a unit of the type."""
    parallelism = center.processor_types[processor_type].full_speed
    mine = center.unit_type == processor_type
    return parallelism is not None and bool((center.unit_capacity[mine] > parallelism).any())


def unmet(classes: DemandClasses, scenario: Scenario) -> list[Problem]:
    """Find the classes that no node can ever hold, each by its first task, and companions that cannot be shared."""
    work, center = scenario.workload, scenario.datacenter
    names, ask_for_less = [p.name for p in center.processor_types], "Ask for less, or add a node that has it."
    problems = []
    for p in np.flatnonzero(classes.companion.any(axis=0)):
        if shares_speed(center, int(p)):
            expected, found = "a type whose tasks run at full speed", "tasks that share the speed of its units"
            remedy = "Leave out parallelism and rates."
            problems.append(Problem(("workload", "companions", names[p]), expected, found, remedy))
    for t in np.flatnonzero(~classes.can_lead.any(axis=1))[:10]:
        task, number = int(classes.first_task[t]), int(classes.partition[t])
        of = "" if number == NO_PARTITION else f" of the partition {scenario.partitions[number].name}"
        is_there = units_of_partition(scenario.datacenter, scenario.partitions, number)
        kind, size = center.unit_type[is_there], center.unit_capacity[is_there]
        largest = {p: size[kind == p].max() for p in distinct(kind).tolist()}
        missing = [(p, a) for p, a in enumerate(classes.companion[t]) if a > largest.get(p, 0.0) * OVERFULL]
        if missing:
            lacking, amount = missing[0]
            name, most = names[lacking], largest.get(lacking)
            has = f"no unit of {name}" if most is None else f"{amount_words(name, most)} on the largest"
            where, found = ("workload", "companions", name, task), f"{amount_words(name, amount)}, {has}"
            problems.append(Problem(where, f"no more than a unit{of} has", found, ask_for_less))
        else:
            expected = f"a node{of} that has all it holds"
            found, remedy = _words(classes, t, work, names), _to_hold_several(classes, t, center) or ask_for_less
            problems.append(Problem(("workload", "task", int(task)), expected, found, remedy))
    return problems


def _to_hold_several(classes: DemandClasses, t: int, center: Datacenter) -> str:
    """Say why a class cannot hold several units of types whose tasks share their speed, if it asks for that."""
    shared = [p for p in np.flatnonzero(classes.named[t]).tolist() if shares_speed(center, p)]
    if classes.units[t] < 2 or not shared:
        return ""
    names = " and ".join(center.processor_types[p].name for p in shared)
    return (
        f"Tasks on {names} share the speed of a unit (parallelism, rates), and then can hold only one: the units of a "
        "task would advance at different speeds. Give jobs that hold several a type without them."
    )


def _words(classes: DemandClasses, t: int, work: Workload, names: list[str]) -> str:
    """Describe the demand of a class."""
    task, share = int(classes.first_task[t]), float(classes.share[t])
    code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
    lead = "any type" if code == ANY_LEAD else "|".join(work.lead_sets[code])
    each = "" if np.isnan(share) else ", all of each" if np.isinf(share) else f", {share:g} of each"
    held = zip(names, classes.companion[t], strict=True)
    companions = [f"{amount_words(name, amount)} of {name}" for name, amount in held if amount > 0]
    on_one = f" with {' and '.join(companions)}" if companions else ""
    return f"none with {classes.units[t]} of {lead} at one node{each}{on_one}"


def class_columns(
    classes: DemandClasses, unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, capacity: np.ndarray
) -> dict[str, Any]:
    """Return the columns, by name; ``unit_node``, ``unit_type`` and ``capacity`` are those of the units."""
    n_types = classes.can_lead.shape[1]
    class_lead = np.full(classes.can_lead.shape, -1, np.int32)
    kind, lead_of = np.nonzero(classes.can_lead)
    share = comparable(classes.share)
    shape = coded([share, classes.units])
    share = share[kind]
    number = coded([lead_of, share, classes.units[kind]])
    class_lead[kind, lead_of] = number
    first = first_rows(number)
    lead_type, shares, lead_units = lead_of[first], share[first], classes.units[kind[first]]
    begins = np.flatnonzero(np.r_[True, (lead_type[1:] != lead_type[:-1]) | (shares[1:] != shares[:-1]), True])
    n_companions = (classes.companion > 0).sum(axis=1)
    used = (classes.companion > 0)[classes.of_task].sum(axis=0)
    by_use = np.argsort(-used, kind="stable")
    n_held = (classes.units - 1 + n_companions)[classes.of_task]
    companion_type = by_use[used[by_use] > 0].astype(np.int32)
    class_share = np.where(np.isnan(classes.share) & (capacity.min() >= 1.0), 1.0, classes.share)  # one slot
    largest = np.zeros(n_types)
    np.maximum.at(largest, unit_type, capacity)
    return {
        "class_units": classes.units.astype(np.int32),
        "class_share": class_share,
        "class_fills": 2.0 * amounts(class_share[:, np.newaxis], largest) > largest * OVERFULL,
        "class_companion": classes.companion,
        "class_named": classes.named,
        "class_lead": class_lead,
        "task_held": np.concatenate([[0], np.cumsum(n_held)]).astype(np.int64),
        "lead_type": lead_type.astype(np.int32),
        "lead_units": lead_units.astype(np.int32),
        "lead_share": np.where(shares < 0, ONE_SLOT, shares),
        "lead_end": np.repeat(begins[1:], np.diff(begins)).astype(np.int32),
        "lead_shape": shape[kind[first]],
        "type_lead": np.searchsorted(lead_type, np.arange(n_types + 1)).astype(np.int32),
        "class_shape": shape,
        "class_types": bit_levels.of_rows(classes.can_lead),
        "companion_type": companion_type,
        "node_sole": _sole_units(unit_node, unit_type, n_nodes, companion_type),
        **_ranked(classes.companion, companion_type),
    }


def _sole_units(unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, companion_type: np.ndarray) -> np.ndarray:
    """[V C] int32: each node's unit of the type of each companion, -1 where it has none or several."""
    sole = np.full((n_nodes, len(companion_type)), -1, np.int32)
    for c, p in enumerate(companion_type):
        units = np.flatnonzero(unit_type == p)
        is_alone = np.bincount(unit_node[units], minlength=n_nodes)[unit_node[units]] == 1
        sole[unit_node[units[is_alone]], c] = units[is_alone]
    return sole.ravel()


def _ranked(companion: np.ndarray, companion_type: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of the model about the companions [T, P] that classes ask for: their amounts, and the ranks of these.

    A rank is the number of the amount among those asked of its type; beyond 32,767 amounts neighbours share a rank.
    """
    most = np.iinfo(np.int16).max
    class_rank = np.zeros((len(companion), max(1, len(companion_type))), np.int16)
    class_n_amounts = np.zeros((len(companion), len(companion_type)), np.int32)
    asked, ranks = [], []
    for c, p in enumerate(companion_type):
        amount = np.unique(companion[:, p][companion[:, p] > 0])
        rank = np.arange(1, len(amount) + 1)
        if len(amount) > most:
            rank = 1 + (rank - 1) * most // len(amount)
        class_n_amounts[:, c] = np.searchsorted(amount, companion[:, p], side="right")
        class_rank[:, c] = np.concatenate([[0], rank])[class_n_amounts[:, c]]
        asked.append(amount)
        ranks.append(rank)
    return {
        "class_rank": class_rank,
        "class_n_amounts": class_n_amounts.ravel(),
        "amounts": np.concatenate([*asked, np.empty(0)]),
        "amount_rank": np.concatenate([*ranks, np.empty(0)]).astype(np.int16),
        "first_amount": np.cumsum([0, *map(len, asked)]).astype(np.int32),
    }
