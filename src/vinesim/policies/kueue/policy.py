"""Admission by quotas as in Kueue."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.kueue.queues import QUEUES, first_head, note_change, park
from vinesim.policies.kueue.victims import VICTIMS, find_victims
from vinesim.state.layout import PENDING
from vinesim.state.queries import fastest_free, is_within_quotas, more_at_once, nothing, preempt, start


@dataclass(frozen=True)
class Kueue(OnlinePolicy):
    """Each partition is a queue. Its tasks start while its quotas, and what its cohort lends, leave room.

    The tasks of a queue are tried by priority, older tasks first among equals. A task that cannot start is passed over;
    with ``queueing_strategy`` strict_fifo it holds up the tasks behind it. Among the first tasks of all queues, tasks
    that need not borrow come first, then the more urgent, then the older. With ``fair_sharing``, the queue with the
    lowest share comes first. The share counts the task: it is the largest, over the names of the queue's quota, of what
    the queue borrows relative to what the cohort can lend, divided by the queue's weight.

    A task that cannot start may preempt running tasks: those of its own queue according to ``within_cluster_queue``,
    and those of queues in its cohort that borrow what it lacks, according to ``reclaim_within_cohort``. Victims are
    tried in this order: tasks of other queues first, then lower priorities, then later starts. Tasks leave until it can
    start; of these, tasks that turn out not to be needed stay, beginning with the last. It takes from other queues only
    if it then need not borrow. With ``borrow_within_cohort`` lower_priority it may also borrow, from less urgent tasks
    with a priority up to ``max_priority_threshold``; a task that requests more than its queue's quota preempts nobody
    otherwise.

    With ``fair_sharing``, which replaces these rules, tasks leave the queue with the highest share first, and only as
    ``preemption_strategies`` allows. final_share: the share of the preempting queue, with the task, is no larger than
    the other's without the task that leaves. initial_share: it is smaller than the other's share before. With both, one
    is tried after the other. A task never leaves at the instant at which it started.

    A gang is one task. Ties: fastest type first, then (rack, shelf). Cost per decision: O(groups); if a task finds no
    room and may preempt any, also the running tasks, and for each task that leaves about log n trials among n
    candidates.
    """

    name: ClassVar[str] = "kueue"
    source: ClassVar[str] = "Kueue, concepts ClusterQueue and preemption; KEP-1224, KEP-1714"
    preempts: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False  # what it keeps of them, it checks against the state
    groups: ClassVar[tuple[str, ...]] = ("priority", "demand")
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = {**QUEUES, **VICTIMS}

    queueing_strategy: Literal["best_effort_fifo", "strict_fifo"] = "best_effort_fifo"
    within_cluster_queue: Literal["never", "lower_priority", "lower_or_newer_equal_priority"] = "never"
    reclaim_within_cohort: Literal["never", "lower_priority", "any"] = "never"
    borrow_within_cohort: Literal["never", "lower_priority"] = "never"
    max_priority_threshold: float = math.inf
    fair_sharing: bool = False
    preemption_strategies: Literal["both", "final_share", "initial_share"] = "both"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        scratch = view.scratch
        if scratch.n_victims[0] > 0:
            scratch.n_victims[0] -= 1
            return preempt(int(scratch.victims[scratch.n_victims[0]]))
        note_change(view)
        if more_at_once(model, state):
            return nothing()
        task = int(scratch.preemptor[0]) - 1
        scratch.preemptor[0] = 0
        if task < 0 or state.task_unit[task] != PENDING:
            task = first_head(model, state, view)
        while task >= 0:
            unit = fastest_free(model, state, task) if is_within_quotas(model, state, task) else -1
            if unit >= 0:
                scratch.has_started[0] = 1
                return start(task, unit)
            if find_victims(model, state, view, task):
                scratch.preemptor[0] = task + 1
                scratch.n_changes[0] += 1
                scratch.n_victims[0] -= 1
                return preempt(int(scratch.victims[scratch.n_victims[0]]))
            park(model, state, view, task)
            task = first_head(model, state, view)
        return nothing()
