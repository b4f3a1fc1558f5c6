"""Gangs before a run: which gangs are alike, in which order their tasks are placed, and whether an empty datacenter has
room for each."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_GANG, NODE, RACK, Workload
from vinesim.state.demand import amount_of, amounts, comparable, demands
from vinesim.state.demand_classes import DemandClasses
from vinesim.state.layout import FULL, OVERFULL
from vinesim.state.model import Model, classes_of_tasks, demands_of_tasks

WITHIN = {NODE: "one node", RACK: "one rack"}


def gangs_of(work: Workload) -> np.ndarray:
    """[J] int32: within what the tasks of each job start together; a job of one task is no gang."""
    assert work.gang_within is not None
    return np.where(np.diff(work.job_first) > 1, work.gang_within, NO_GANG).astype(np.int32)


def gang_codes(work: Workload, classes: DemandClasses | None, requests: np.ndarray | None = None) -> np.ndarray | None:
    """[N] int32: the codes that keep tasks of different gangs in different groups; None without gangs. ``requests`` [N]
    is equal for tasks that request the same, if that matters.

    The code is 0 for tasks alone. Each kind of gang has one code for its first tasks, and one for the others, which are
    pending only when a gang continues after its first tasks have finished.
    """
    if work.gang_within is None:
        return None
    codes: dict[Hashable, int] = {}
    code = np.zeros(work.n_tasks, np.int32)
    asked = [of_task for of_task in (None if classes is None else classes.of_task, requests) if of_task is not None]
    for job in np.flatnonzero(gangs_of(work) != NO_GANG).tolist():
        first, end = int(work.job_first[job]), int(work.job_first[job + 1])
        spread = work.gang_spread is not None and bool(work.gang_spread[job])
        per_node = 0 if work.tasks_per_node is None else int(work.tasks_per_node[job])
        of_members = [of_task[first:end].tolist() for of_task in asked]
        n_nodes = 0 if work.gang_nodes is None else int(work.gang_nodes[job])
        key = (int(work.gang_within[job]), spread, per_node, n_nodes, end - first, *map(tuple, of_members))
        number = codes.setdefault(key, 2 * len(codes) + 1)
        code[first], code[first + 1 : end] = number, number + 1
    return code


def check_gangs(model: Model) -> None:
    """Raise :class:`InputError` for gangs that are larger than the empty datacenter.

    The check is exact for gangs of tasks that demand the same and hold one unit each. For others, it looks only at the
    largest number of equal tasks of the gang, with one unit each.
    """
    problems, known = [], dict[Hashable, str]()
    for job, key, gang in _kinds_of_gangs(model):
        if key not in known:  # logs have many gangs alike
            known[key] = _too_many(model, gang)
        if known[key]:
            remedy = "Make the gang smaller or the datacenter larger."
            found = f"a gang of {len(gang.kinds)} tasks, job {job}"
            problems.append(Problem(("workload", "task", int(model.job_first[job])), known[key], found, remedy))
        if len(problems) == 5:
            break
    if problems:
        raise InputError(problems)


def gang_types(model: Model) -> np.ndarray:
    """[J, P] whether the empty datacenter has room for all tasks of a job together on units of each type, as far as
    :func:`check_gangs` sees; true for jobs that are no gangs."""
    found, known = np.ones((len(model.job_gang), len(model.affinity)), bool), dict[Hashable, np.ndarray]()
    for job, key, gang in _kinds_of_gangs(model):
        if key not in known:
            known[key] = np.all([of_kind.most >= of_kind.n_tasks for of_kind in _most_of_kinds(model, gang)], axis=0)
        found[job] = known[key]
    return found


class _Gang(NamedTuple):
    """What decides where a gang has room."""

    within: int
    per_node: int  # the most of its tasks at one node, 0 = any number
    n_nodes: int  # nodes with that many tasks on each, 0 = any number
    partition: int  # -1 = none
    kinds: np.ndarray  # [n] task types, or classes of demands
    demand: np.ndarray  # [n]


class _OfKind(NamedTuple):
    """The tasks of one kind in a gang."""

    n_tasks: int
    fewest: int  # of them at each node where there are any
    most: np.ndarray  # [P] how many the empty datacenter can hold together, on units of each type


def _kinds_of_gangs(model: Model) -> Iterator[tuple[int, Hashable, _Gang]]:
    """Yield each job that is a gang, and what gangs alike have in common."""
    classes, demands_of = classes_of_tasks(model), demands_of_tasks(model)
    for job in np.flatnonzero(model.job_gang != NO_GANG).tolist():
        first, end = int(model.job_first[job]), int(model.job_first[job + 1])
        kinds, demand = classes[first:end], demands_of[first:end]
        shape = int(model.job_gang[job]), int(model.job_per_node[job]), int(model.job_nodes[job])
        partition = int(model.job_partition[job]) if len(model.job_partition) else -1
        yield job, (shape, partition, kinds.tobytes(), demand.tobytes()), _Gang(*shape, partition, kinds, demand)


def _too_many(model: Model, gang: _Gang) -> str:
    """Return how many tasks of a gang have room together, in words; nothing if all do."""
    for n_tasks, fewest, of_type in _most_of_kinds(model, gang):
        most = int(of_type.max(initial=0))
        if most < n_tasks:
            place, per_node = WITHIN.get(gang.within, "the datacenter"), gang.per_node
            of_node = f", {per_node} on each node" if gang.n_nodes else f", at most {per_node} a node" * (per_node > 0)
            if most == 0:
                of_partition = "" if gang.partition < 0 else " of its partition"
                return f"a node{of_partition} with room for {f'{fewest} such tasks' if fewest > 1 else 'such a task'}"
            return f"at most {most} such tasks together: what {place} has room for{of_node}"
    return ""


def _most_of_kinds(model: Model, gang: _Gang) -> Iterator[_OfKind]:
    """Yield the tasks of each kind, with how many of them have room."""
    is_there = np.ones(len(model.node_rack), bool) if gang.partition < 0 else model.partition_node[gang.partition]
    for kind in sorted(set(gang.kinds.tolist())):
        mine = np.flatnonzero(gang.kinds == kind)
        share = float(comparable(gang.demand[mine]).min())
        fewest = gang.per_node if gang.n_nodes and len(mine) == len(gang.kinds) else 1
        limits = gang.per_node or len(gang.kinds), fewest
        most = _most(model, is_there, gang.within, limits, kind, share if share >= 0 else np.nan)
        yield _OfKind(len(mine), fewest, most)


def _most(
    model: Model, is_there: np.ndarray, within: int, limits: tuple[int, int], kind: int, share: float
) -> np.ndarray:
    """[P] how many tasks of one kind an empty node, rack or datacenter can hold on units of each type, on the nodes
    ``is_there`` [V]; ``limits`` are the most at one node, and the fewest where there are any."""
    per_node, fewest = limits
    sizes = np.unique(model.unit_capacity)
    fitting = np.array([_fitting(share, float(size)) for size in sizes])
    most, n_units = np.zeros(len(model.affinity), np.int64), 1
    if len(model.class_units):
        n_units = int(model.class_units[kind])
    n_nodes = len(model.node_rack)
    for p in np.flatnonzero(model.affinity[:, kind] > 0):
        mine = model.unit_type == p
        held = fitting[np.searchsorted(sizes, model.unit_capacity[mine])]
        of_node = np.bincount(model.unit_node[mine], held, n_nodes).astype(np.int64) // n_units
        of_node = np.where(is_there & (of_node >= fewest), np.minimum(of_node, per_node), 0)
        if within == NODE:
            most[p] = of_node.max(initial=0)
        elif within == RACK:
            most[p] = np.bincount(model.node_rack, of_node).max(initial=0)
        else:
            most[p] = of_node.sum()
    return most


def _fitting(share: float, capacity: float) -> int:
    """Return how many tasks that take a share fit one empty unit, as ``state.queries.has_room_for`` adds them."""
    amount, load, n = amount_of(share, capacity), 0.0, 0
    if amount <= 0:
        return 1 << 40
    if amount * 1e6 < capacity:
        return int(capacity * OVERFULL / amount)
    while load < capacity * FULL and load + amount <= capacity * OVERFULL:
        load, n = load + amount, n + 1
    return n


BY_NUMBER = np.empty(0, np.int32)


def placing_order(
    work: Workload, classes: DemandClasses | None, can_run: np.ndarray, unit_type: np.ndarray, capacity: np.ndarray
) -> np.ndarray:
    """[N] int32: the tasks of each job in the order in which they are placed if it is a gang; [0] if that is everywhere
    the order of their numbers.

    Larger tasks come first, and equal ones in the order of their numbers. If a gang has a number of nodes, the tasks of
    one node stay together, and the nodes that need most in all come first. ``can_run`` [T, P] says on which processor
    types the tasks of each type, or of each class, run; ``unit_type`` and ``capacity`` [U] are those of the units.
    """
    if classes is None and work.demand is None:
        return BY_NUMBER
    counts = np.diff(work.job_first)
    size = np.where(
        np.repeat(gangs_of(work) != NO_GANG, counts), _sizes(work, classes, can_run, unit_type, capacity), 0
    )
    if (size == np.repeat(size[work.job_first[:-1]], counts)).all():
        return BY_NUMBER
    job, task = np.repeat(np.arange(work.n_jobs), counts), np.arange(work.n_tasks)
    block, of_block = _blocks(work, size)
    return np.lexsort((task, -size, block, -of_block, job)).astype(np.int32)


def _sizes(
    work: Workload, classes: DemandClasses | None, can_run: np.ndarray, unit_type: np.ndarray, capacity: np.ndarray
) -> np.ndarray:
    """[N] the largest share that each task takes of all that the datacenter has of something: of the units that it can
    run on together, or of a processor type of which it holds a companion."""
    n_types = can_run.shape[1]
    total, largest = np.bincount(unit_type, capacity, n_types), np.zeros(n_types)
    np.maximum.at(largest, unit_type, capacity)
    of_leads, most = can_run @ total, np.where(can_run, largest, 0.0).max(axis=1)
    if classes is None:
        type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
        return np.asarray(amounts(demands(work), most[type_of_task]) / of_leads[type_of_task])
    size = classes.units * amounts(classes.share, most) / of_leads
    held = total > 0
    of_companions = (classes.companion[:, held] / total[held]).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(size, of_companions)[classes.of_task])


def _blocks(work: Workload, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each task which of its gang's nodes it is for, and the sizes of all tasks of that node together; 0
    where the gang has no number of nodes."""
    number, in_all = np.zeros(work.n_tasks, np.int64), np.zeros(work.n_tasks)
    if work.gang_nodes is None or work.tasks_per_node is None:
        return number, in_all
    counts, first = np.diff(work.job_first), np.repeat(work.job_first[:-1], np.diff(work.job_first))
    per_node = np.repeat(np.where(work.gang_nodes > 0, work.tasks_per_node, 0), counts)
    is_counted = per_node > 0
    number = np.where(is_counted, (np.arange(work.n_tasks) - first) // np.maximum(per_node, 1), 0)
    leader = first + number * per_node  # the first task of its node
    np.add.at(in_all, leader, size)
    return number, np.where(is_counted, in_all[leader], 0.0)
