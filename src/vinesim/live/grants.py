"""The grants of a scheduler: those that run, their leases, and those that were lost."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vinesim.live.grant import Grant, Place
from vinesim.live.leases import Leases

RECENT = 65_536  # how many lost grants and dropped requests are remembered


@dataclass
class Running:
    """A grant that is not complete: the unit of each gang member, and the task that leads it there."""

    grant: Grant
    leads: dict[int, int]  # unit of the datacenter -> task


class Grants:
    """Who has which units until when. A lease is ``factor`` times the expected time, ``floor_us`` at least."""

    def __init__(self, factor: float, floor_us: float):
        self._factor, self._floor_us = factor, floor_us
        self._leases = Leases()
        self.running: dict[int, Running] = {}
        self.ready: deque[Grant] = deque()  # that a policy issued before can_issue was called
        self.lost: deque[Grant] = deque(maxlen=RECENT)  # not yet reported
        self.lost_ids: dict[int, None] = {}
        self.n_given = 0
        self.n_lost = 0

    @property
    def next_us(self) -> float:
        """Return when the next lease ends; infinite if none runs."""
        return self._leases.next_us()

    def give(
        self,
        application: int,
        requests: tuple[int, ...],
        places: Mapping[int, Place],
        now_us: float,
        expected_us: float,
    ) -> Grant:
        """Note a grant and begin its lease; ``places`` are those of the leading tasks."""
        until_us = now_us + max(self._floor_us, self._factor * expected_us)
        grant = Grant(self.n_given, application, requests, tuple(places.values()), now_us, until_us)
        self.n_given += 1
        self.running[grant.id] = Running(grant, {place.unit: task for task, place in places.items()})
        self._leases.set(grant.id, until_us)
        return grant

    def take_ready(self, application: int | None) -> Grant | None:
        """Return the first grant that is not yet reported, of an application if one is given."""
        for grant in self.ready:
            if application in (None, grant.application):
                self.ready.remove(grant)
                return grant
        return None

    def renew(self, grant: int, now_us: float) -> bool:
        """Renew its lease; return False if it is not running."""
        running = self.running.get(grant)
        if running is not None:
            self._leases.set(grant, now_us + (running.grant.lease_until_us - running.grant.issued_us))
        return running is not None

    def end(self, grant: int) -> None:
        """End a grant that is complete."""
        del self.running[grant]
        self._leases.end(grant)

    def withdraw(self, grant: int) -> Running | None:
        """Take back a grant before its lease ends; None if it is not running."""
        running = self.running.pop(grant, None)
        if running is not None:
            self._leases.end(grant)
            if running.grant in self.ready:
                self.ready.remove(running.grant)
        return running

    def lose(self) -> Running:
        """Take back the grant whose lease ends next."""
        running = self.running.pop(self._leases.pop())
        self.n_lost += 1
        self.lost.append(running.grant)
        self.lost_ids[running.grant.id] = None
        if len(self.lost_ids) > RECENT:
            del self.lost_ids[next(iter(self.lost_ids))]
        if running.grant in self.ready:
            self.ready.remove(running.grant)
        return running

    def wrong(self, grant: Any) -> str:
        """Say what is wrong with the id of a grant that does not run."""
        is_old = isinstance(grant, int) and 0 <= grant < self.n_given
        return f"{grant!r}, which was completed before" if is_old else f"{grant!r}, which was never issued"
