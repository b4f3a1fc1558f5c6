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
        blames_exactly: Whether each worker holds only one work item, so that its death is that item's fault.
    """

    blames_exactly: bool

    @property
    def n_slots(self) -> int:
        """The number of work items that the workers can hold at once."""

    def submit(self, item: WorkItem) -> None:
        """Submit a work item to the workers."""

    def finished(self) -> list[Finished]:
        """Wait until some work items are finished. Raises :class:`InputError` if the workers cannot process any."""

    def close(self) -> None:
        """Stop everything that was started for this sweep, immediately, even if it is busy."""


def unfit(backend: str, error: BaseException) -> InputError:
    """Return an error if the workers are at fault rather than the runs: a missing package, or another version."""
    words = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    remedy = "Install the same Python and VineSim on every worker."
    return InputError([Problem(f"--backend {backend}", "workers that can run the study", words, remedy)])
