"""RB-FIFO: first in first out, on the resources that it requests."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.resource_based.family import ResourceBased
from vinesim.policies.resource_based.flags import BY_ARRIVAL, STAYS, STRICT
from vinesim.policies.resource_based.schedule import schedule


@dataclass(frozen=True)
class RbFifo(ResourceBased):
    """Jobs start in order of arrival, each on the first node that provides what it requests.

    Nodes are visited in order. At each, a free CPU takes the first such job of cpu_jobs, and each free accelerator,
    more SMs first, the first of acc_jobs. Ties: the older job. Cost per decision: log(pending) + processor types x
    groups of tasks (type x requests). ``node_rule`` fit, or fastest (no free device of the kind is faster); ``kind``
    best, or acc (for accelerators if one can run it); ``sharing`` of devices by demand; ``polling_us`` between calls,
    0: at each instant of arrivals and completions; ``estimate`` given, or learned from jobs that have ended.
    """

    name: ClassVar[str] = "rb_fifo"
    source: ClassVar[str] = "RBSS paper, 3.2.2 (RB-FIFO), Algorithms 1 and 2"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return schedule(model, state, view, BY_ARRIVAL, STRICT, STAYS)
