"""What jobs are billed for what they ask for, and the weights of each partition."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.requests import Request
from vinesim.formats.slurm.values import LICENCE, OF_TYPE, WEIGHED, licences
from vinesim.policies.slurm.prepare_nodes import Places

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

ONLY_CPUS = {"cpu": 1.0}  # the weights of a partition that has none


def billing_of(
    policy: "Slurm", places: Places, requests: Sequence[Request], request: np.ndarray, parts: Sequence[Sequence[int]],
    of_request: np.ndarray, texts: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the weights, and what each job would be billed in each of its partitions; ``of_request`` has what each
    request asks for of CPUs, memory, nodes and GPUs, ``texts`` the licences of each job."""
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
