"""What a client gets: results, errors, and the grants of applications that ask for them."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vinesim.live.wire.contents import value_of
from vinesim.live.wire.memory import Memory
from vinesim.live.wire.messages import WrongMessage
from vinesim.model.errors import VineSimError


class LiveError(VineSimError):
    """A request or a call that the cluster did not serve. ``kind``: busy, wrong, failed, dropped, cancelled, lost."""

    def __init__(self, kind: str, why: str, keys: Sequence[str] = ()):
        super().__init__(f"{kind}: {why}" if kind not in ("wrong", "failed") else why)
        self.kind, self.why = kind, why
        self.keys = tuple(keys)  # of the requests that it ends, if their application asks for its grants


def result_of(one: dict[str, Any], memory: Memory | None) -> Any:
    """Return the result of a request, or of each member of its gang; an error if it failed or cannot be read. What lies
    in this client's memory is taken out of it."""
    if "error" in one:
        return LiveError(one["error"], one["why"]) if "why" in one else LiveError("failed", one["error"])
    try:
        if "results" in one:
            return [value_of(data) for data in [_taken(each, memory) for each in one["results"]]]
        return value_of(_taken(one["result"], memory))
    except (WrongMessage, OSError) as wrong:
        return LiveError("failed", f"its result cannot be read: {wrong}")


def _taken(data: bytes | list[int], memory: Memory | None) -> Any:
    """Return the bytes of a result."""
    if isinstance(data, bytes):
        return data
    if memory is None:
        raise WrongMessage("this client shares no memory")
    try:
        return memory.read(data)
    finally:
        memory.free(data)


@dataclass(frozen=True)
class Offer:
    """A grant of an application that asks for itself: which of its requests start now, and where."""

    id: int
    keys: tuple[str, ...]  # of the requests, the oldest first
    places: tuple[tuple[int, int, int, str], ...]  # unit, rack, shelf, processor type; one per gang member


class Offers:
    """The grants that have come and are not taken, and the errors of requests that get none, by application."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Offer | LiveError]] = {}
        self._changed = asyncio.Event()
        self._lost: LiveError | None = None  # no more will come

    def __contains__(self, grant: int) -> bool:
        return any(isinstance(one, Offer) and one.id == grant for queue in self._waiting.values() for one in queue)

    def add(self, application: str, one: Offer | LiveError) -> None:
        """Add a grant or an error."""
        self._waiting.setdefault(application, deque()).append(one)
        self._changed.set()

    def lose(self, why: LiveError) -> None:
        """Let everybody who waits have an error."""
        self._lost = why
        self._changed.set()

    def withdraw(self, grant: int, why: LiveError) -> None:
        """Replace a grant that is lost by an error."""
        for queue in self._waiting.values():
            for place, one in enumerate(queue):
                if isinstance(one, Offer) and one.id == grant:
                    queue[place] = why

    async def take(self, application: str) -> Offer:
        """Wait for the next grant of an application. Raises :class:`LiveError` for requests that get none."""
        while not (queue := self._waiting.get(application)):
            if self._lost is not None:
                raise self._lost
            self._changed.clear()
            await self._changed.wait()
        found = queue.popleft()
        if isinstance(found, LiveError):
            raise found
        return found
