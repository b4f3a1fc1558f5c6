"""Conservative backfilling: every job that must wait has a reservation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies.backfill.plan import PLAN_SCRATCH, give_up, hear_changes, next_begin, settle
from vinesim.policies.backfill.profile import withdraw
from vinesim.policies.backfill.waiting import begin
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import more_at_once, nothing


@dataclass(frozen=True)
class ConservativeBackfill(OnlinePolicy):
    """Each task reserves the earliest time at which some unit has room for it, and delays no reservation before it.

    Each task takes its demand of one unit that can run it and meets its requests, from its begin to its expected end.
    It reserves as it arrives and starts when the time has come. When a unit has room earlier than was thought, tasks
    move to earlier times, in order of arrival, until none can. What runs beyond its estimate counts as ending now; who
    has to wait for it starts on another unit if that delays nobody, and when it ends late the reservations of its unit
    are made anew, in order of arrival. Expected times: the workload's estimates, or else the true ones.

    Ties: the earliest expected end, then (rack, shelf) order. Cost of a decision: of an arrival units + all
    reservations; when a task ends early, pending tasks x reservations of the units that have more room by that,
    and as much again for every task that moves: minutes for 10,000 tasks that wait with wrong estimates.
    """

    name: ClassVar[str] = "conservative_backfill"
    source: ClassVar[str] = "Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2"
    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = PLAN_SCRATCH

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        hear_changes(model, state, view)
        scratch = view.scratch
        if scratch.first[0] == 0 or more_at_once(model, state):
            return nothing()
        settle(model, state, view)
        task, unit = next_begin(model, state, scratch, view.now_us)
        if task < 0:
            return nothing()
        if unit == scratch.on_unit[task] - 1:
            withdraw(scratch, task)
        else:
            give_up(scratch, task)
        return begin(model, state, view, task, unit)
