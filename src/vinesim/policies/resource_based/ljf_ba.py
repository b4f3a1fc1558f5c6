"""RB-LJF-BA: longest job first with bottleneck avoidance."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.resource_based.family import ResourceBased
from vinesim.policies.resource_based.flags import LONGEST_AGED, RELAXES, SKIPS_EMPTY, STAYS, TWO_PHASE
from vinesim.policies.resource_based.schedule import schedule


@dataclass(frozen=True)
class RbLjfBa(ResourceBased):
    """As rb_ljf, but ordered by waiting time + estimate; a node that gets nothing halves the requests at each call.

    A node with a free device counts the calls that gave it nothing, and takes the shortest job that would fit with
    0.5^calls of its requests. ``count_empty``: calls also count while no job waits; without it a call counts if a job
    was waiting when it began, at every node that gets nothing. ``two_phase``: all nodes are tried strictly before any
    relaxes. Ties: the older job. Cost per decision: as rb_ljf. ``node_rule`` fit, or fastest (no free device of the
    kind is faster); ``kind`` best, or acc (for accelerators if one can run it); ``sharing`` of devices by demand;
    ``polling_us`` between calls, 0: at each instant of arrivals and completions; ``estimate`` given, or learned from
    jobs that have ended.
    """

    name: ClassVar[str] = "rb_ljf_ba"
    source: ClassVar[str] = "RBSS paper, 3.2.3 (RB-LJF-BA)"

    count_empty: bool = True
    two_phase: bool = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        options = view.options
        relaxing = RELAXES + TWO_PHASE * options.two_phase + SKIPS_EMPTY * (1 - options.count_empty)
        return schedule(model, state, view, LONGEST_AGED, relaxing, STAYS)
