"""What all forms of backfilling promise: each keeps tasks in its own queue; and when they look at it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import more_at_once


@dataclass(frozen=True)
class Backfill(OnlinePolicy):
    """Jobs start in order of arrival, later ones in the gaps before the reservations of earlier ones."""

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    takes_gangs: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True

    passes_at: Literal["instant", "event"] = "instant"


def is_between_passes(model: Any, state: Any, view: Any) -> bool:
    """Whether the policy does not look at its queue yet: more events come at this instant, and it waits for them."""
    return bool(view.options.passes_at.instant and more_at_once(model, state))
