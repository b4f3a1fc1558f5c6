"""Notifications of the beginning and end of each compilation by Numba."""

from collections.abc import Callable
from typing import Any

from numba.core import event


class _Listener(event.Listener):
    def __init__(self, begin: Callable[[], None], end: Callable[[], None]):
        self._begin, self._end = begin, end

    def on_start(self, event: Any) -> None:
        self._begin()

    def on_end(self, event: Any) -> None:
        self._end()


def listening(begin: Callable[[], None], end: Callable[[], None]) -> Any:
    """Return a context in which ``begin`` and ``end`` are called around each compilation."""
    return event.install_listener("numba:compile", _Listener(begin, end))
