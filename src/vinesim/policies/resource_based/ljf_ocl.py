"""RB-LJF-OCL: bottleneck avoidance, and accelerator jobs that may run on a CPU."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.resource_based.family import ResourceBased
from vinesim.policies.resource_based.flags import FROM_HEAD, FROM_TAIL, LONGEST_AGED, RELAXES, SKIPS_EMPTY, TWO_PHASE
from vinesim.policies.resource_based.schedule import schedule


@dataclass(frozen=True)
class RbLjfOcl(ResourceBased):
    """As rb_ljf_ba, but a CPU without a job of its own runs an accelerator job that is fast enough there.

    A job is fast enough if its time on this CPU is at most the time of the first accelerator job that fits the node, on
    the node's fastest accelerator that it fits. The node must be optimal for the job: with ``node_rule`` fastest, no
    other free CPU is faster for it. ``scan``: the end of the queue at which the search begins. ``count_empty`` and
    ``two_phase`` as in rb_ljf_ba. Ties: the older job. Cost per decision: as rb_ljf, and the jobs passed over.
    ``node_rule`` fit, or fastest (no free device of the kind is faster); ``kind`` best, or acc (for accelerators if one
    can run it); ``sharing`` of devices by demand; ``polling_us`` between calls, 0: at each instant of arrivals and
    completions; ``estimate`` given, or learned from jobs that have ended.
    """

    name: ClassVar[str] = "rb_ljf_ocl"
    source: ClassVar[str] = "RBSS paper, 3.2.3 (RB-LJF-OCL), Fig. 5"

    count_empty: bool = True
    two_phase: bool = False
    scan: Literal["tail", "head"] = "tail"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        options = view.options
        relaxing = RELAXES + TWO_PHASE * options.two_phase + SKIPS_EMPTY * (1 - options.count_empty)
        moving = FROM_TAIL if options.scan.tail else FROM_HEAD
        return schedule(model, state, view, LONGEST_AGED, relaxing, moving)
