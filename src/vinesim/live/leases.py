"""Leases: how long each grant may keep its units."""

import heapq
import math


class Leases:
    """The ends of the leases in use, earliest first."""

    def __init__(self) -> None:
        self._until: dict[int, float] = {}
        self._order: list[tuple[float, int]] = []  # may hold entries that were renewed or ended since

    def __len__(self) -> int:
        return len(self._until)

    def set(self, grant: int, until_us: float) -> None:
        """Start a lease, or renew it."""
        self._until[grant] = until_us
        heapq.heappush(self._order, (until_us, grant))
        if len(self._order) > 2 * len(self._until) + 64:
            self._order = sorted((until, grant) for grant, until in self._until.items())

    def end(self, grant: int) -> None:
        """Remove the lease of a completed grant."""
        del self._until[grant]

    def next_us(self) -> float:
        """Return when the first lease ends; infinite if there is none."""
        while self._order and self._until.get(self._order[0][1]) != self._order[0][0]:
            heapq.heappop(self._order)
        return self._order[0][0] if self._order else math.inf

    def pop(self) -> int:
        """Remove the lease that ends first. Returns its grant."""
        self.next_us()
        grant = heapq.heappop(self._order)[1]
        del self._until[grant]
        return grant
