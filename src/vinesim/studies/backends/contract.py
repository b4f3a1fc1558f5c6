"""The contract of a back-end."""

from dataclasses import dataclass
from typing import Protocol

from vinesim.model.errors import InputError, Problem
from vinesim.studies.work import Done, WorkItem


@dataclass(frozen=True)
class WorkerDied:
    """The worker that held the work item has died."""

    why: str


@dataclass(frozen=True)
class Finished:
    """A work item and its outcome."""

    item: WorkItem
    outcome: Done | WorkerDied


class Backend(Protocol):
    """Workers that process work items.

    Attributes:
        blames_exactly: whether a work item whose worker died was the only one that the worker held.
    """

    blames_exactly: bool

    @property
    def n_slots(self) -> int:
        """Number of work items they can hold at once."""

    def submit(self, item: WorkItem) -> None:
        """Submit a work item to the workers."""

    def finished(self) -> list[Finished]:
        """Wait until something is finished. Raises :class:`InputError` if the workers cannot process any work item."""

    def close(self) -> None:
        """Stop at once everything that was started for this sweep, even if it is busy."""


def unfit(backend: str, error: BaseException) -> InputError:
    """Return the error if the workers rather than the runs are at fault: a missing package, or another version."""
    words = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    remedy = "Install the same Python and VineSim on every worker."
    return InputError([Problem(f"--backend {backend}", "workers that can run the study", words, remedy)])
