"""Symphony: its urgency, its estimates, and its baselines the wrong way round."""

import math
from typing import Any

from verification.wrong_policies.wrong import Wrong
from vinesim.live.scheduler import Scheduler
from vinesim.policies.requests import edf, fcfs
from vinesim.policies.symphony import policy as symphony
from vinesim.policies.symphony.policy import estimate
from vinesim.policies.symphony.urgency import slack_us, urgency
from vinesim.state.queries import deadline_us, is_available, operations, task_type

REPLICATIONS = 2  # of each point


def flipped(slack: float, load: float, form: Any, power: float, weight: Any, unit_us: float) -> float:
    """Urgency that falls as the slack does: the most relaxed application goes first."""
    return -urgency(slack, load, form, power, weight, unit_us)


def falling_exponential(slack: float, load: float, form: Any, power: float, weight: Any, unit_us: float) -> float:
    """The same for the exponential urgency alone."""
    found = urgency(slack, load, form, power, weight, unit_us)
    return -found if form.exponential else found


def longer_is_better(model: Any, state: Any, view: Any, g: int, task: int, p: int, is_free: bool) -> float:
    """Slack with the estimate added to it, so that the slowest resource has most."""
    took = estimate(model, view, g, task_type(model, state, task), p, operations(model, state, task))
    return slack_us(deadline_us(model, state, task), view.now_us, -took)


def slowest_available(model: Any, state: Any, task: int) -> int:
    """The processor type of lowest affinity on which the request can start now; -1 if there is none."""
    own_type = task_type(model, state, task)
    for i in range(model.ranking.shape[1] - 1, -1, -1):
        p = model.ranking[own_type, i]
        if p >= 0 and is_available(model, state, task, p):
            return p
    return -1


def farthest(model: Any, state: Any, task: int, by_laxity: bool) -> float:
    """The number by which requests are ordered, the farthest deadline first."""
    due = deadline_us(model, state, task)
    return -due if due < math.inf else due


def forgotten(self: Scheduler, grant: int, now_us: float, unit: int | None = None) -> bool:
    """A completion that does not reach the scheduler."""
    return True


OF_TABLE_4 = ("symphony-table4", "symphony-ablation", "symphony-fig3")

WRONG = (
    Wrong(
        of="symphony",
        version="the sign of the urgency flipped: the most relaxed application first",
        patches=((symphony, "urgency", flipped),),
        items=("symphony-metric", "symphony-table4", "symphony-ablation"),
        about="SM.2 SM.3 SM.7",
    ),
    Wrong(
        of="symphony",
        version="the sign of the exponential urgency flipped",
        patches=((symphony, "urgency", falling_exponential),),
        items=("symphony-table3",),
        about="ST3.2",
    ),
    Wrong(
        of="symphony",
        version="estimates added to the slack, so the slowest resource",
        patches=((symphony, "slack_of", longer_is_better),),
        items=(*OF_TABLE_4, "symphony-fig4", "symphony-nodes", "symphony-table4-day"),
        about="ST4.1 ST4.2 ST4.3 ST4.4 ST4.5 SF3.1 SF4.4 SN.1",
    ),
    Wrong(
        of="fcfs",
        version="the slowest type with room for the fastest",
        patches=((fcfs, "fastest_available", slowest_available),),
        items=(*OF_TABLE_4, "symphony-fig4"),
        about="ST4.2 ST4.4 ST4.6 SA.1",
    ),
    Wrong(
        of="edf",
        version="the farthest deadline first",
        patches=((edf, "urgency", farthest),),
        items=("symphony-metric", "symphony-table4"),
        about="ST4.1",
    ),
    Wrong(
        of="the scheduler's calls",
        version="completions that do not reach the scheduler",
        patches=((Scheduler, "complete", forgotten),),
        items=("symphony-table1",),
        about="ST1.2",
    ),
)
