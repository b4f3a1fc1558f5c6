"""No workers: everything runs in this process."""

from vinesim.studies.backends.contract import Finished
from vinesim.studies.work import WorkItem, work


class Here:
    """Processes one work item at a time, whenever :meth:`finished` is called."""

    n_slots = 1
    blames_exactly = True

    def __init__(self) -> None:
        self._items: list[WorkItem] = []

    def submit(self, item: WorkItem) -> None:
        """Keep the work item until :meth:`finished` processes it."""
        self._items.append(item)

    def finished(self) -> list[Finished]:
        """Process the work item."""
        item = self._items.pop()
        return [Finished(item, work(item))]

    def close(self) -> None:
        """Do nothing: nothing was started."""
