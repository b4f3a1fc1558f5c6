"""What a back-end does."""

from dataclasses import dataclass
from typing import Protocol

from vinesim.model.errors import InputError, Problem
from vinesim.studies.work import Done, WorkItem


@dataclass(frozen=True)
class WorkerDied:
    """The worker that had the work item in hand is gone."""

    why: str


@dataclass(frozen=True)
class Finished:
    """A work item and what came of it."""

    item: WorkItem
    outcome: Done | WorkerDied


class Backend(Protocol):
    """Workers that do work items.

    Attributes:
        blames_exactly: whether a work item whose worker died was the only one that the worker had in hand.
    """

    blames_exactly: bool

    @property
    def n_slots(self) -> int:
        """How many work items they can have in hand at once."""

    def submit(self, item: WorkItem) -> None:
        """Give a work item to the workers."""

    def finished(self) -> list[Finished]:
        """Wait until something is finished. Raises :class:`InputError` when the workers cannot do any work item."""

    def close(self) -> None:
        """End at once what was started for this sweep, whatever is in hand."""


def unfit(backend: str, error: BaseException) -> InputError:
    """What to tell of an error that is the workers', not the runs': a package that is not there, or another version."""
    words = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    remedy = "Install the same Python and VineSim on every worker."
    return InputError([Problem(f"--backend {backend}", "workers that can do the runs", words, remedy)])
