"""What jobs count towards limits while they wait, and what they are billed.

A waiting job counts with what it requests. A job that gets whole nodes counts with the least that it could hold: all
CPUs and GPUs of its nodes, and the memory of all of these CPUs if it requests memory by CPU, as Slurm 22.05 was seen to
do.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.requests import Request
from vinesim.formats.slurm.values import LICENCE, OF_TYPE, WEIGHED, licences
from vinesim.policies.slurm.prepare_named import nodes_of
from vinesim.policies.slurm.prepare_nodes import Places

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm


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
    """Return what each job counts in each of its partitions; ``billing`` is what it would be billed there."""
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
    """Return the least that a job can hold in a partition: the fewest nodes that suffice, of the smallest size."""
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


ONLY_CPUS = {"cpu": 1.0}  # the weights of a partition that has none


def billing_of(
    policy: "Slurm", places: Places, requests: Sequence[Request], request: np.ndarray, parts: Sequence[Sequence[int]],
    of_request: np.ndarray, texts: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the billing weights of each partition, and what each job would be billed in each of its partitions.

    ``of_request`` [R, 4] are the CPUs, memory, nodes and GPUs of each request, ``texts`` the licences of each job.
    """
    names = [*WEIGHED, *(OF_TYPE + kind.lower() for kind in places.kind_names or [""])]
    given = [_lower(one.get("tres_billing_weights") or ONLY_CPUS) for one in places.options]
    weights = np.array([[float(one.get(name, 0.0)) for name in names] for one in given])
    of_licences = np.array([[float(one.get(LICENCE + name, 0.0)) for name in policy.licenses] for one in given])
    of_type = [[one.gpus * max(1, one.least_nodes) * (one.gpu_type == kind) for kind in places.kind_names or [""]]
               for one in requests]  # fmt: skip
    each = np.hstack([of_request, of_type])[:, None, :] * weights  # [R, P, weights]
    found = each.max(axis=2) if policy.max_tres else each.sum(axis=2)
    asked = [_of_licences(text, policy.licenses) for text in texts] if of_licences.any() else []
    billing = list[float]()
    for j, own in enumerate(parts):
        for part in own:
            extra = float(of_licences[part] @ asked[j]) if asked else 0.0
            billing.append(float(found[request[j], part]) + extra)
    return {"billing_weight": weights, "licence_weight": of_licences, "part_billing": billing}


def _lower(weights: Mapping[str, float]) -> dict[str, float]:
    return {name.lower() if name.startswith(OF_TYPE) else name: weight for name, weight in weights.items()}


def _of_licences(text: str, known: Mapping[str, float]) -> np.ndarray:
    amounts = licences(text)
    return np.array([amounts.get(name, 0.0) for name in known])
