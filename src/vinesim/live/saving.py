"""What a scheduler knows, as bytes, and back."""

import pickle
from typing import Any

from vinesim.live.decider import Decider
from vinesim.live.grants import Grants
from vinesim.model.errors import InputError, Problem
from vinesim.model.version import VERSION
from vinesim.policies.contract import title_of

GIVEN = ("policy", "cluster", "options", "_grants", "_of_tasks", "_of_jobs", "view")  # by the arguments, or made anew


def saved(decider: Decider, grants: Grants) -> bytes:
    """Return both as bytes."""
    content = {
        "of": _signature(decider),
        "decider": {name: value for name, value in vars(decider).items() if name not in GIVEN},
        "grants": vars(grants),
    }
    return pickle.dumps(content)


def restored(data: bytes, decider: Decider, grants: Grants) -> None:
    """Make both what was saved. Raises :class:`InputError` for what another version, policy or cluster has saved."""
    try:
        content: dict[str, Any] = pickle.loads(data)  # noqa: S301 - the caller's own, as restore says
        found = content["of"]
    except Exception as wrong:
        raise InputError([Problem("restore", "what save returned", f"{type(wrong).__name__}: {wrong}")]) from None
    if found != _signature(decider):
        raise InputError([Problem("restore", f"saved by {_signature(decider)}", f"{found}")])
    vars(decider).update(content["decider"])
    vars(grants).update(content["grants"])
    decider.see_again()


def _signature(decider: Decider) -> str:
    units = decider.cluster.datacenter.n_units
    return f"VineSim {VERSION}, policy {title_of(decider.policy)}, options {decider.options}, {units} units"
