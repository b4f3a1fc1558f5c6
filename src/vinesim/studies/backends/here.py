"""No workers: this process."""

from vinesim.studies.backends.contract import Finished
from vinesim.studies.work import Order, work


class Here:
    """Does one order at a time, when asked what is finished."""

    n_slots = 1
    blames_exactly = True

    def __init__(self) -> None:
        self._orders: list[Order] = []

    def submit(self, order: Order) -> None:
        """Keep the order."""
        self._orders.append(order)

    def finished(self) -> list[Finished]:
        """Do it."""
        order = self._orders.pop()
        return [Finished(order, work(order))]

    def close(self) -> None:
        """Nothing was started."""
