"""Tell the user when the compiler starts, which happens only if a policy's machine code is not on disk."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


@contextmanager
def told_when_compiling(name: str, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled when Numba starts; it looks for the code on disk before that."""
    if on_message is None or "numba" not in sys.modules:  # nothing can be compiled
        yield
        return
    from numba.core import event

    words = f"compiling the policy {name} for this machine: a few seconds, until its code or VineSim changes"
    to_say = [partial(on_message, words)]

    class Teller(event.Listener):
        def on_start(self, event: Any) -> None:
            while to_say:
                to_say.pop()()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Teller()):
        yield
