"""Conservative backfilling: every waiting job has a reservation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.model.scenario import Scenario
from vinesim.policies.backfill.ahead import has_several
from vinesim.policies.backfill.conservative_by_count import ConservativeBackfillByCount, can_count
from vinesim.policies.backfill.conservative_of_nodes import ConservativeBackfillOfNodes
from vinesim.policies.backfill.plan import PLAN_SCRATCH, cancel_and_free, next_begin, settle, update_plan
from vinesim.policies.backfill.profile import TASKS, cancel, index_again, start_now
from vinesim.policies.backfill.queue import Backfill, is_between_passes
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import nothing
from vinesim.state.scratch import TASK_ID_PLUS_1


@dataclass(frozen=True)
class ConservativeBackfill(Backfill):
    """Each task reserves the earliest time at which some unit has room for it, without delaying earlier reservations.

    Each task takes its demand of one unit that can run it and meets its requests, from its begin to its expected end.
    It reserves when it arrives and starts when its time has come. If a unit has room earlier than expected, tasks move
    to earlier times, in order of arrival, until none can. A task that runs longer than its estimate counts as ending
    now. A task that has to wait for it starts on another unit if that delays nobody; if it ends late, the reservations
    of its unit are made again, in order of arrival. Expected times: the workload's estimates, or else the true
    ones, and at most the jobs' limits.

    ``passes_at``: when the queue is looked at, once an ``instant``, after all its ends and arrivals, or after each
    ``event``, as in the sources.

    Ties: the earliest expected end, then (rack, shelf) order. Cost per decision: on arrival, processor types x
    log(units) + the reservations of one unit, and of each unit with an earlier gap that is too small for the task; if
    a task ends early, pending tasks x reservations of the units that gained room, and the same again for every task
    that moves: minutes for 10,000 waiting tasks with wrong estimates. On large datacenters, reading memory adds to
    this: docs/explanation/performance/policies.md.

    Gangs reserve a number of slots where any slot will do for any task. Cost per reservation then: the times at which
    something begins or ends before it. Other gangs, and tasks that hold several units, reserve all units that they
    would hold. Cost per reservation then: the units of the types that may run it. When a task ends early, only
    reservations that find a longer gap on a unit that it frees are made again; where tasks hold companions, or more
    than units of one type, all are: docs/explanation/semantics/backfilling.md.
    """

    name: ClassVar[str] = "conservative_backfill"
    source: ClassVar[str] = "Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2"
    reserves: ClassVar[str] = "all"
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = PLAN_SCRATCH
    task_numbers: ClassVar[Mapping[str, str]] = {**TASKS, "unplaced": TASK_ID_PLUS_1}

    def suited_to(self, scenario: Scenario) -> OnlinePolicy:
        if not has_several(scenario):
            return self
        return (
            ConservativeBackfillByCount(self.passes_at)
            if can_count(scenario)
            else ConservativeBackfillOfNodes(self.passes_at)
        )

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        update_plan(model, state, view)
        scratch = view.scratch
        if scratch.first[0] == 0 or is_between_passes(model, state, view):
            return nothing()
        settle(model, state, view)
        task, unit = next_begin(model, state, scratch, view.now_us)
        if task < 0:
            return nothing()
        if unit == scratch.on_unit[task] - 1:
            cancel(scratch, task)
        else:
            cancel_and_free(scratch, task)
        return start_now(model, state, view, task, unit)

    @staticmethod
    def renumbered(model: Any, state: Any, view: Any) -> None:
        index_again(model, view.scratch)
