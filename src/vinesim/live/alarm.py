"""An alarm of the event loop whose time is moved often, mostly to a later one."""

import asyncio
import math
from collections.abc import Callable


class Alarm:
    """Calls a function when its time has come, by the loop's clock. A timer of the loop that rings before that is left
    to ring: to start one each time that the alarm is set would cost more."""

    def __init__(self, ring: Callable[[], None]):
        self._call, self._due_s = ring, math.inf
        self._timer: asyncio.TimerHandle | None = None

    @property
    def due_s(self) -> float:
        """When it rings; infinite: never."""
        return self._due_s

    def set(self, due_s: float) -> None:
        """Ring at this time instead of the one before; never if it is infinite."""
        self._due_s = due_s
        if self._timer is not None and self._timer.when() > due_s:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and due_s < math.inf:
            self._timer = asyncio.get_running_loop().call_at(due_s, self._ring)

    def cancel(self) -> None:
        """Do not ring, and leave no timer behind."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due_s = None, math.inf

    def _ring(self) -> None:
        self._timer = None
        if self._due_s > asyncio.get_running_loop().time():
            self.set(self._due_s)
        else:
            self._due_s = math.inf
            self._call()
