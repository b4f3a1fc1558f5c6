"""Messages about compiling: that it begins, where a policy's machine code is not on the disk, and what went wrong."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from vinesim.engine.contract import BrokenContract
from vinesim.model.errors import PolicyError
from vinesim.policies.contract import Policy, title_of


@contextmanager
def announced(name: str, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled when Numba starts; it looks for the code on disk before that."""
    if on_message is None or "numba" not in sys.modules:  # nothing can be compiled
        yield
        return
    words = f"compiling the policy {name} for this machine: a few seconds, until its code or VineSim changes"
    to_say = [partial(on_message, words)]

    def say() -> None:
        while to_say:
            to_say.pop()()

    from vinesim.jit.events import listening

    with listening(say, lambda: None):
        yield


@contextmanager
def timing_compilation() -> Iterator[Callable[[], float]]:
    """Provide how long Numba has compiled on this thread since then, s: what is compiled when it is first used."""
    if "numba" not in sys.modules:
        yield lambda: 0.0
        return
    thread, begun, total = threading.get_ident(), [], 0.0

    def begin() -> None:
        if threading.get_ident() == thread:
            begun.append(time.perf_counter())

    def end() -> None:
        nonlocal total
        if threading.get_ident() == thread:
            since = begun.pop()
            total += 0.0 if begun else time.perf_counter() - since

    from vinesim.jit.events import listening

    with listening(begin, end):
        yield lambda: total


class NotCompiled(PolicyError):
    """A policy that the compiler refuses."""


@contextmanager
def announce_compilation(policy: Policy, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled, if it is; turn compiler errors into messages for the user."""
    name = title_of(policy)
    try:
        with announced(name, on_message):
            yield
    except BrokenContract:
        raise
    except Exception as wrong:
        if "numba" not in type(wrong).__module__:
            raise
        from vinesim.engine.compile_errors import words_of

        raise NotCompiled(
            f"policy {name} cannot be compiled: {words_of(wrong)}\n"
            "Use numbers, arrays and the queries only, and no new arrays; or set compiled = False and run it with "
            "--engine reference."
        ) from None
