"""Tokens of the prompts and answers of generated requests: from distributions, or drawn from the requests of a log."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.workloads.distributions import Distribution

TokenCounts = tuple[np.ndarray, np.ndarray]  # tokens of the prompts, and of the answers, of a log's requests
MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Tokens:
    """The token counts of each application's requests.

    Those of a log are drawn as pairs, so that each prompt keeps its answer.
    """

    input_tokens: Mapping[str, Distribution]
    output_tokens: Mapping[str, Distribution]
    of_log: Mapping[str, TokenCounts]

    def check(self, applications: list[str]) -> None:
        """Raise :class:`InputError` unless each application has one source of counts, and every source is used."""
        problems = []
        for name in applications:
            by_log = name in self.of_log
            given = [kind for kind in ("input_tokens", "output_tokens") if name in getattr(self, kind)]
            if by_log and given:
                problems.append(Problem("tokens", f"one source for {name}", f"tokens and {' and '.join(given)}"))
            elif not by_log and len(given) < 2:
                expected = f"tokens of {name}: a log, or input_tokens and output_tokens"
                problems.append(Problem("tokens", expected, " and ".join(given) or "none"))
        for option in ("input_tokens", "output_tokens", "of_log"):
            key = "tokens" if option == "of_log" else option
            for name in [name for name in getattr(self, option) if name not in applications]:
                problems.append(Problem(key, "applications with requests: " + ", ".join(applications), repr(name)))
        if problems:
            raise InputError(problems)

    def draw(self, name: str, n: int, seed: int, own: str) -> TokenCounts:
        """Return the counts of ``n`` requests of an application; ``own`` names its random streams."""
        if name in self.of_log:
            first, second = self.of_log[name]
            row = stream(seed, f"tokens.{own}").integers(0, len(first), n)
            return first[row], second[row]
        return (
            whole_tokens(self.input_tokens[name].draw(n, stream(seed, f"input_tokens.{own}"))),
            whole_tokens(self.output_tokens[name].draw(n, stream(seed, f"output_tokens.{own}"))),
        )


def tokens_of(
    input_tokens: Mapping[str, Distribution] | None,
    output_tokens: Mapping[str, Distribution] | None,
    tokens: Mapping[str, TokenCounts] | None,
    applications: list[str],
) -> Tokens | None:
    """Return the token counts that options describe; None if they describe none. Raises :class:`InputError`."""
    if not (input_tokens or output_tokens or tokens):
        return None
    found = Tokens(input_tokens or {}, output_tokens or {}, tokens or {})
    found.check(applications)
    return found


def whole_tokens(counts: np.ndarray) -> np.ndarray:
    """Round counts of tokens to whole numbers, 1 or more."""
    return np.clip(np.rint(counts), 1, MOST_TOKENS).astype(np.int64)
