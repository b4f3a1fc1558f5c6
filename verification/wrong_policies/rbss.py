"""RBSS: its five orders and its two ideas, each turned round."""

from typing import Any

from verification.wrong_policies.wrong import Wrong
from vinesim.policies.resource_based import queues
from vinesim.policies.resource_based.flags import (
    BY_ARRIVAL,
    FROM_TAIL,
    LONGEST,
    LONGEST_AGED,
    RELAXES,
    SHORTEST,
    STAYS,
    STRICT,
)
from vinesim.policies.resource_based.ljf import RbLjf
from vinesim.policies.resource_based.ljf_ba import RbLjfBa
from vinesim.policies.resource_based.ljf_ocl import RbLjfOcl
from vinesim.policies.resource_based.queues import place_in_order
from vinesim.policies.resource_based.schedule import schedule
from vinesim.policies.resource_based.sjf import RbSjf

REPLICATIONS = None  # all: verdicts rest on intervals


def newest_first(model: Any, state: Any, scratch: Any, task: int, order: int) -> float:
    """The key of FIFO's queue from its end; the others as they are."""
    if order == BY_ARRIVAL:
        return -float(task)
    return place_in_order(model, state, scratch, task, order)


def longest_first(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, LONGEST, STRICT, STAYS)


def shortest_first(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, SHORTEST, STRICT, STAYS)


def shortest_relaxing(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, SHORTEST, RELAXES, STAYS)


def never_aging(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, LONGEST, RELAXES, STAYS)


def never_relaxing(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, LONGEST_AGED, STRICT, STAYS)


def shortest_moving(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, SHORTEST, RELAXES, FROM_TAIL)


def never_moving(model: Any, state: Any, view: Any) -> Any:
    return schedule(model, state, view, LONGEST_AGED, RELAXES, STAYS)


def _decides(policy: type, decide: Any) -> tuple[tuple[Any, str, Any], ...]:
    return ((policy, "decide", staticmethod(decide)),)


FIGURES = ("rbss-fig6", "rbss-fig7", "rbss-fig8", "rbss-fig9", "rbss-text")
AT_WORK_ONLY = {"PHENOM_6C": 12500, "XEON_12C": 19000, "XEON_16C": 23000, "GTX460": 16000, "K20": 22500, "K40": 23500}

WRONG = (
    Wrong("rb_fifo", "newest first", "RTX.9", ((queues, "place_in_order", newest_first),), items=FIGURES),
    Wrong("rb_sjf", "longest first", "RF6.6 RTX.9", _decides(RbSjf, longest_first), items=FIGURES),
    Wrong("rb_ljf", "shortest first", "RF6.1 RF6.6 RTX.9", _decides(RbLjf, shortest_first), items=FIGURES),
    Wrong("rb_ljf_ba", "shortest first", "RTX.9", _decides(RbLjfBa, shortest_relaxing), items=FIGURES),
    Wrong("rb_ljf_ba", "never ages", "RTX.9 RTX.12", _decides(RbLjfBa, never_aging), items=("rbss-text",)),
    Wrong("rb_ljf_ba", "requests are never relaxed", "RF9.1 RF9.2", _decides(RbLjfBa, never_relaxing), items=FIGURES),
    Wrong(
        "rb_ljf_ocl",
        "never moves a job",
        "RF6.5 RF7.1 RF7.2 RF8.1 RF8.2",
        _decides(RbLjfOcl, never_moving),
        items=FIGURES,
    ),
    Wrong(
        "rb_ljf_ocl", "shortest first", "RF6.2 RF6.5 RF7.1 RTX.9", _decides(RbLjfOcl, shortest_moving), items=FIGURES
    ),
    Wrong(
        "power",
        "at work a hundred times as much, so that waiting costs nothing",
        "RF8.3",
        changes={"power": AT_WORK_ONLY},
        items=("rbss-fig8",),
    ),
    Wrong(
        "GPUs",
        "a tenth as fast",
        "RTX.10",
        changes={"workload.options.gpu_efficiency": dict.fromkeys(("BT", "CG", "EP", "LU", "SP"), 0.1)},
        items=("rbss-accelerators",),
    ),
    Wrong(
        "jobs",
        "six in place of 12 and more",
        "RTX.6",
        changes={"workload.options.n_jobs": 6},
        items=("rbss-exact",),
    ),
)
