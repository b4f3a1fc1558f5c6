"""What a scheduler knows, as bytes, and back."""

import hashlib
import pickle
from typing import Any

import numpy as np

from vinesim.live.decider import Decider
from vinesim.live.grants import Grants
from vinesim.live.registration import Cluster
from vinesim.model.errors import InputError, Problem
from vinesim.model.version import VERSION
from vinesim.policies.contract import OnlinePolicy, title_of

GIVEN = ("policy", "cluster", "options", "_grants", "_of_tasks", "_of_jobs", "view")  # by the arguments, or rebuilt


def saved(decider: Decider, grants: Grants) -> bytes:
    """Return both as bytes."""
    known = {name: value for name, value in vars(decider).items() if name not in GIVEN}
    return packed(signature(decider.policy, decider.cluster), {"decider": known, "grants": vars(grants)})


def restored(data: bytes, decider: Decider, grants: Grants) -> None:
    """Make both what was saved. Raises :class:`InputError` for what another version, policy or cluster has saved."""
    content = unpacked(data, signature(decider.policy, decider.cluster))
    vars(decider).update(content["decider"])
    vars(grants).update(content["grants"])
    decider.see_again()


def signature(policy: OnlinePolicy, cluster: Cluster, kind: str = "") -> str:
    """Return what must be the same where it is restored. ``kind`` is what holds it, if that is not the plain code."""
    options, center = policy.values_of_options(), cluster.datacenter
    what = f"{kind}VineSim {VERSION}, policy {title_of(policy)}, options {options}, {center.n_units} units"
    tables = (center.unit_type, center.rack, center.shelf, cluster.affinity, cluster.overhead_us)
    parts = [repr((center.processor_types, cluster.task_types, cluster.seed)).encode()]
    parts += [b"none" if one is None else np.asarray(one, np.float64).tobytes() for one in tables]
    return f"{what} of the cluster {hashlib.sha256(b'|'.join(parts)).hexdigest()[:12]}"


def packed(of: str, content: dict[str, Any]) -> bytes:
    """Return content as bytes, with the signature of what it is part of."""
    return pickle.dumps({"of": of, **content})


def unpacked(data: bytes, of: str) -> dict[str, Any]:
    """Return the content. Raises :class:`InputError` if it is part of something else."""
    try:
        content: dict[str, Any] = pickle.loads(data)  # noqa: S301 - the caller's own, as restore says
        found = content["of"]
    except Exception as wrong:
        raise InputError([Problem(("restore",), "what save returned", f"{type(wrong).__name__}: {wrong}")]) from None
    if found != of:
        raise InputError([Problem(("restore",), f"saved by {of}", f"{found}")])
    return content
