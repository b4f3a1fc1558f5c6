"""Symphony with the readings that perform best; see docs/explanation/symphony.md."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from vinesim.policies.symphony.policy import Symphony


@dataclass(frozen=True)
class SymphonyRecommended(Symphony):
    """``symphony`` with other defaults: bounded deferral, consolidation trimmed to the deadline, estimates of all
    consolidated requests that consider how many share a unit, and no blind trial of a type without history.

    The options are those of ``symphony``: ``urgency``, ``power``, ``slack_unit_us``, ``resource``, ``order``,
    ``load``, ``load_tau_us``, ``window``, and the ones that differ: ``estimate``, ``trim``, ``defer``, ``backlog``,
    ``contention``, ``prior``.

    Ties: as symphony. Cost per decision: as symphony, and the requests that each candidate consolidates.
    """

    name: ClassVar[str] = "symphony_recommended"
    source: ClassVar[str] = "Symphony paper, section IV, with VineSim's readings"

    estimate: Literal["head", "consolidated"] = "consolidated"
    trim: bool = True
    defer: Literal["no", "yes", "bounded"] = "bounded"
    backlog: int = 2
    contention: bool = True
    prior: Literal["zero", "other"] = "other"
