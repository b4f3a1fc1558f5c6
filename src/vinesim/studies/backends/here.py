"""No workers: everything runs in this process."""

from vinesim.studies.backends.contract import Finished
from vinesim.studies.work import WorkItem, work


class Here:
    """Processes one work item at a time, when asked for what is finished."""

    n_slots = 1
    blames_exactly = True

    def __init__(self) -> None:
        self._items: list[WorkItem] = []

    def submit(self, item: WorkItem) -> None:
        """Store the work item."""
        self._items.append(item)

    def finished(self) -> list[Finished]:
        """Do it."""
        item = self._items.pop()
        return [Finished(item, work(item))]

    def close(self) -> None:
        """Do nothing: nothing was started."""
