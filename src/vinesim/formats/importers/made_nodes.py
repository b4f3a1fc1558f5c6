"""A datacenter for a log that does not say what it ran on: nodes as large as the largest job."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.source.amounts import MEMORY
from vinesim.formats.source.quantities import format_bytes
from vinesim.model.workload import Workload

CPU, ANY_GPU = "CPU", "GPU"
LOAD = 0.7  # of the datacenter
ON_WHAT = (
    "the log does not say what it ran on: the scenario has nodes as large as the largest job, as many as make the load "
    f"about {LOAD:.0%}: correct its datacenter"
)


def made_nodes(work: Workload, names: list[str], time_us: np.ndarray) -> list[dict[str, Any]]:
    """Return nodes on which the load of a log is ``LOAD``: of one kind for each type that tasks run on.

    ``names`` are the processor types, CPUs first; ``time_us`` [N] is how long each task takes. Work beyond a
    job's limit or withdrawal does not count.
    """
    run_us = np.minimum(time_us, np.repeat(work.longest_us, np.diff(work.job_first)))
    return [_node(n_nodes, largest) for n_nodes, largest in _kinds(work, names, run_us)]


def _kinds(work: Workload, names: list[str], time_us: np.ndarray) -> list[tuple[int, dict[str, float]]]:
    """Return the kinds of nodes: how many, and what each has of each type."""
    n_tasks = work.n_tasks
    lead = np.array([names.index(some[0]) for some in work.lead_sets] + [0])  # any type: CPUs
    lead_of = np.zeros(n_tasks, np.int64) if work.lead_types is None else lead[work.lead_types]
    units = np.ones(n_tasks) if work.units is None else work.units
    amounts = {name: np.zeros(n_tasks) for name in names} | dict(work.companions or {})
    demand = np.ones(n_tasks) if work.demand is None else np.where(np.isfinite(work.demand), work.demand, 1.0)
    span_us = float(np.ptp(work.arrival_us))
    found = []
    for kind in np.unique(lead_of).tolist():
        mine = lead_of == kind
        own = np.where(mine, np.maximum(demand, 1.0) if names[kind] == CPU else units, 0.0)
        held = {name: np.where(mine, amount, 0.0) for name, amount in amounts.items()} | {names[kind]: own}
        largest = {name: float(amount.max()) for name, amount in held.items() if amount.any()}
        busiest = max(float((held[name] * time_us).sum()) / most for name, most in largest.items())
        by_load = math.ceil(busiest / (LOAD * span_us)) if span_us else 1
        found.append((max(by_load, _widest(work, mine)), largest))
    return found


def _widest(work: Workload, mine: np.ndarray) -> int:
    """Return how many nodes the tasks of one job need at once, among those that are ``mine``; at least 1."""
    if work.tasks_per_node is None:
        return 1
    of_job = np.add.reduceat(mine.astype(np.int64), work.job_first[:-1])
    return max(1, int(np.where(work.tasks_per_node > 0, -(-of_job // np.maximum(work.tasks_per_node, 1)), 1).max()))


def _node(n_nodes: int, largest: Mapping[str, float]) -> dict[str, Any]:
    units: dict[str, Any] = {CPU: {"cores": max(1, math.ceil(largest.get(CPU, 1)))}}
    units |= {name: math.ceil(most) for name, most in largest.items() if name not in (CPU, MEMORY)}
    node: dict[str, Any] = {"count": n_nodes, "units": units}
    if MEMORY in largest:
        node[MEMORY] = format_bytes(2 ** math.ceil(math.log2(largest[MEMORY])))
    return node
