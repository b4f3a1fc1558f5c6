"""What a back-end does."""

from dataclasses import dataclass
from typing import Protocol

from vinesim.model.errors import InputError, Problem
from vinesim.studies.work import Done, Order


@dataclass(frozen=True)
class WorkerDied:
    """The worker that had the order in hand is gone."""

    why: str


@dataclass(frozen=True)
class Finished:
    """An order and what came of it."""

    order: Order
    outcome: Done | WorkerDied


class Backend(Protocol):
    """Workers that do orders.

    Attributes:
        blames_exactly: whether an order whose worker died was the only one that the worker had in hand.
    """

    blames_exactly: bool

    @property
    def n_slots(self) -> int:
        """How many orders they can have in hand at once."""

    def submit(self, order: Order) -> None:
        """Give an order to the workers."""

    def finished(self) -> list[Finished]:
        """Wait until something is finished. Raises :class:`InputError` when the workers cannot do any order."""

    def close(self) -> None:
        """End at once what was started for this sweep, whatever is in hand."""


def unfit(backend: str, error: BaseException) -> InputError:
    """What to tell of an error that is the workers', not the runs': a package that is not there, or another version."""
    words = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    remedy = "Install the same Python and VineSim on every worker."
    return InputError([Problem(f"--backend {backend}", "workers that can do the runs", words, remedy)])
