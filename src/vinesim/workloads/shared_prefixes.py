"""Prefixes of prompts that generated requests share, such as system prompts or documents."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.tokens import NO_PREFIX
from vinesim.workloads.distributions import Distribution
from vinesim.workloads.request_tokens import whole_tokens

MOST_PREFIXES = 1_000_000


@dataclass(frozen=True)
class Prefixes:
    """The number and lengths of each application's prefixes, and how unequally they are used.

    The i-th prefix has a weight of 1 / i^zipf.
    """

    counts: Mapping[str, float]
    tokens: Mapping[str, Distribution]
    zipf: float

    def added(
        self, drawn: tuple[np.ndarray, ...], name: str, i: int, seed: int, own: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the tokens of prompts (prefixes included) and answers of the i-th application, and each request's
        prefix and its tokens. ``own`` names the application's random streams."""
        prompt, answer = drawn
        n, count = len(prompt), int(self.counts.get(name, 0))
        if not count:
            return prompt, answer, np.full(n, NO_PREFIX), np.zeros(n, np.int64)
        length = whole_tokens(self.tokens[name].draw(count, stream(seed, f"prefix_tokens.{own}")))
        share = np.arange(1.0, count + 1) ** -self.zipf
        which = stream(seed, f"prefix.{own}").choice(count, n, p=share / share.sum())
        return prompt + length[which], answer, which + i * MOST_PREFIXES, length[which]


def prefixes_of(
    counts: Mapping[str, float] | None,
    tokens: Mapping[str, Distribution] | None,
    zipf: float,
    applications: list[str],
) -> Prefixes | None:
    """Return the prefixes that options describe, for applications whose requests have tokens; None if there are none.

    Raises :class:`InputError`.
    """
    if not counts and not tokens:
        return None
    found = Prefixes(counts or {}, tokens or {}, zipf)
    problems = []
    for option, given in (("prefixes", found.counts), ("prefix_tokens", found.tokens)):
        expected = "applications whose requests have tokens: " + (", ".join(applications) or "none has any")
        problems += [Problem((option,), expected, repr(name)) for name in given if name not in applications]
    for name, count in found.counts.items():
        if not (1 <= count <= MOST_PREFIXES and count == int(count)):
            problems.append(Problem(("prefixes",), f"a whole number, 1 to {MOST_PREFIXES:,}", f"{name}: {count:g}"))
        if name not in found.tokens:
            problems.append(Problem(("prefix_tokens",), f"tokens of the prefixes of {name}", "none"))
    problems += [
        Problem(("prefixes",), f"how many prefixes {name} has", "none")
        for name in found.tokens
        if name not in found.counts
    ]
    if not 0 <= zipf < math.inf:
        problems.append(Problem(("prefix_zipf",), "a number, 0 or more", f"{zipf:g}"))
    if problems:
        raise InputError(problems)
    return found
