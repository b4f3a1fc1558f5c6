"""Make a datacenter for a log that does not describe its machine: nodes as large as the largest job."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.source.quantities import MEMORY
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_GANG, NODE, Workload

CPU, ANY_GPU = "CPU", "GPU"
LOAD = 0.7  # the load of the datacenter
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
ON_WHAT = (
    "the log does not name its nodes: the scenario has nodes as large as the largest job, enough of them for a load "
    f"of about {LOAD:.0%}; correct its datacenter"
)


def made_nodes(work: Workload, names: list[str], time_us: np.ndarray) -> list[dict[str, Any]]:
    """Return nodes on which the load of a log is ``LOAD``, with one kind of node for each type that tasks run on.

    ``names`` are the processor types, CPUs first; ``time_us`` [N] is how long each task takes. Work beyond a job's
    limit or withdrawal does not count. Raises :class:`InputError` for more nodes than a scenario may have.
    """
    run_us = np.minimum(time_us, np.repeat(work.longest_us, np.diff(work.job_first)))
    kinds = _kinds(work, names, run_us)
    n_units = sum(n_nodes * sum(_units(largest).values()) for n_nodes, largest in kinds)
    if n_units > MAX_UNITS:
        expected = f"work for nodes of at most {MAX_UNITS:,} units in all, at a load of {LOAD:.0%}"
        remedy = "Are the durations in the unit that they are taken for? Else describe the nodes."
        raise InputError([Problem("the nodes made for the log", expected, f"work for {n_units:,}", remedy)])
    return [_node(n_nodes, largest) for n_nodes, largest in kinds]


def _kinds(work: Workload, names: list[str], time_us: np.ndarray) -> list[tuple[int, dict[str, float]]]:
    """Return the kinds of nodes: the number of nodes, and what each has of each type."""
    n_tasks = work.n_tasks
    lead = np.array([names.index(some[0]) for some in work.lead_sets] + [0])  # any type: CPUs
    lead_of = np.zeros(n_tasks, np.int64) if work.lead_types is None else lead[work.lead_types]
    units = np.ones(n_tasks) if work.units is None else work.units
    amounts = {name: np.zeros(n_tasks) for name in names} | dict(work.companions or {})
    demand = np.ones(n_tasks) if work.demand is None else np.where(np.isfinite(work.demand), work.demand, 1.0)
    span_us, at_node = float(np.ptp(work.arrival_us)), _at_node(work)
    time_us = np.where(np.repeat(work.stays, np.diff(work.job_first)), time_us, 0.0)
    found = []
    for kind in np.unique(lead_of).tolist():
        mine = lead_of == kind
        own = np.maximum(demand, 1.0) if names[kind] == CPU else units * np.minimum(demand, 1.0)
        held = {name: np.where(mine, amount, 0.0) for name, amount in (amounts | {names[kind]: own}).items()}
        largest = {name: float((amount * at_node).max()) for name, amount in held.items() if amount.any()}
        if names[kind] != CPU:
            largest[names[kind]] = float((units * at_node)[mine].max())
        busiest = max(float((held[name] * time_us).sum()) / most for name, most in largest.items())
        by_load = math.ceil(busiest / (LOAD * span_us)) if span_us else 1
        found.append((max(by_load, _widest(work, mine), _of_gangs(work, held, largest)), largest))
    return found


def _at_node(work: Workload) -> np.ndarray:
    """Return [N] how many tasks of its job may have to share one node with each task."""
    counts = np.diff(work.job_first)
    found = np.ones(work.n_jobs, np.int64)
    if work.tasks_per_node is not None:
        found = np.clip(work.tasks_per_node, 1, counts)
    if work.gang_within is not None:
        found = np.where(work.gang_within == NODE, counts, found)
    return np.repeat(found, counts)


def _widest(work: Workload, mine: np.ndarray) -> int:
    """Return the most nodes that one job's tasks need at once, among the tasks ``mine``; at least 1."""
    if work.tasks_per_node is None:
        return 1
    of_job = np.add.reduceat(mine.astype(np.int64), work.job_first[:-1])
    return max(1, int(np.where(work.tasks_per_node > 0, -(-of_job // np.maximum(work.tasks_per_node, 1)), 1).max()))


def _of_gangs(work: Workload, held: Mapping[str, np.ndarray], largest: Mapping[str, float]) -> int:
    """Return the number of nodes that the largest gang needs, if tasks share nodes only with equal tasks."""
    if work.gang_within is None:
        return 1
    at_once = np.full(work.n_tasks, np.inf)  # how many tasks equal to each fit on a node
    for name, most in largest.items():
        amount = held[name]
        fit = np.divide(most * (1.0 + 1e-9), amount, out=np.full(work.n_tasks, np.inf), where=amount > 0)
        at_once = np.minimum(at_once, np.floor(fit))
    nodes = np.add.reduceat(1.0 / at_once, work.job_first[:-1])
    return max(1, math.ceil(np.where(work.gang_within != NO_GANG, nodes, 1.0).max() - 1e-9))


def _units(largest: Mapping[str, float]) -> dict[str, int]:
    """Return the number of units of a node by type: CPU and memory are one unit each, whatever their size."""
    return {CPU: 1} | {name: 1 if name in (CPU, MEMORY) else math.ceil(most) for name, most in largest.items()}


def _node(n_nodes: int, largest: Mapping[str, float]) -> dict[str, Any]:
    units: dict[str, Any] = {name: n for name, n in _units(largest).items() if name != MEMORY}
    units[CPU] = {"cores": max(1, math.ceil(largest.get(CPU, 1)))}
    node: dict[str, Any] = {"count": n_nodes, "units": units}
    if MEMORY in largest:
        node[MEMORY] = _power_of_2(largest[MEMORY])
    return node


def _power_of_2(size: float) -> str:
    """Return the smallest power of 2 that is at least a size in bytes, as exact text."""
    power = (math.ceil(size) - 1).bit_length()
    unit = min(power // 10, len(UNITS) - 1)
    return f"{2 ** (power - 10 * unit)} {UNITS[unit]}"
