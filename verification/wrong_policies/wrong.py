"""A wrong version of a policy, or of what the experiments are made with."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from vinesim.core.code import forget_own


@dataclass(frozen=True)
class Wrong:
    """What is replaced, and the claims that are about it: at least these must turn.

    A policy is changed in this process, in the reference engine and the compiled one: ``patches`` name an object, an
    attribute of it, and what takes its place. Anything else is changed in the scenarios, as with ``--set``.
    """

    of: str  # the policy's name, or in words what of the scenario
    version: str  # in words
    about: str  # the ids of the claims, "F4.3 F4.5"
    patches: tuple[tuple[Any, str, Any], ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    items: tuple[str, ...] = ()  # to look at; (): all of the paper

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While this is open, the wrong version runs."""
        with ExitStack() as stack:
            stack.callback(forget_own)
            for owner, attribute, instead in self.patches:
                stack.enter_context(patch.object(owner, attribute, instead))
            forget_own()
            yield
