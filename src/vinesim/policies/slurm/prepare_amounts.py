"""What limits count of jobs while they wait: what they ask for, or, with nodes to themselves, what they have at least.

As real Slurm 22.05 was seen to do: all CPUs and GPUs of the nodes of such a job count before it starts too, and so does
the memory of all of these CPUs, if it asks for memory by CPU.
"""

import math
from collections.abc import Sequence

import numpy as np

from vinesim.formats.slurm.requests import Request
from vinesim.policies.slurm.prepare_named import nodes_of
from vinesim.policies.slurm.prepare_nodes import Places

Amounts = tuple[float, ...]


def wanted_by(one: Request) -> Amounts:
    """Return the CPUs, memory, nodes and GPUs that a request asks for."""
    n = max(1, one.least_nodes)
    memory = one.mem_cpu * one.n_cpus if one.mem_cpu else max(0.0, one.mem_node) * n
    return float(one.n_cpus), memory, float(n), float(one.gpus * n)


def amounts_of_parts(
    requests: Sequence[Request], request: np.ndarray, parts: Sequence[Sequence[int]], places: Places,
    billing: Sequence[float],
) -> list[Amounts]:  # fmt: skip
    """Return what counts of each job in each of its partitions; ``billing`` has what it would be billed there."""
    known = dict[tuple[int, int], Amounts]()
    found = list[Amounts]()
    for j, own in enumerate(parts):
        for part in own:
            key = int(request[j]), part
            if key not in known:
                one = requests[key[0]]
                known[key] = _least_held(one, places, part) if one.exclusive else wanted_by(one)
            found.append((*known[key], float(math.floor(billing[len(found)]))))
    return found


def _least_held(one: Request, places: Places, part: int) -> Amounts:
    """Return the least that a job has in a partition: as few nodes as suffice, of the smallest that would do."""
    would_do = nodes_of(one, places) & places.part_nodes[part]
    would_do &= places.cpus >= max(one.per_node, 1) * one.cpus
    would_do &= places.memory >= one.mem_node
    if one.gpus:
        of_types = [i for i, name in enumerate(places.kind_names) if one.gpu_type in ("", name)]
        would_do &= (places.kinds[:, of_types] >= one.gpus).any(axis=1)
    if not would_do.any():
        return wanted_by(one)
    cpus, memory = places.cpus[would_do], places.memory[would_do]
    n_nodes = max(1, one.least_nodes, math.ceil(one.n_cpus / cpus.max()))
    n_cpus = max(n_nodes * float(cpus.min()), float(one.n_cpus))
    each_mib = float(memory.min()) if one.mem_node < 0 else one.mem_node
    n_gpus = float(places.kinds[would_do].sum(axis=1).min()) if len(places.kind_names) else 0.0
    return n_cpus, n_cpus * one.mem_cpu + n_nodes * each_mib, float(n_nodes), n_nodes * n_gpus
