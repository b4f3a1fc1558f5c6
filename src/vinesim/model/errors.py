"""Errors that users can act on: where, what was expected, what was found, what to do."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_PROBLEMS = 20

Steps = tuple[str | int, ...]  # to a value: ("datacenter", "units", 3)


def dotted(path: Sequence[str | int]) -> str:
    """Write ``("racks", 0, "units")`` as ``racks[0].units``."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in path).removeprefix(".")


@dataclass(frozen=True)
class Problem:
    """One problem with an input.

    A check of the model names the path of the value; a reader knows the line of the file.
    """

    at: Steps | str  # ("datacenter", "units", 3), or its name if it is one; else words: "trace.txt:12:5", "--out runs"
    expected: str
    found: str
    remedy: str = ""

    @property
    def path(self) -> Steps:
        """The path of the value; () where the place is in words, such as a line of a file."""
        if isinstance(self.at, tuple):
            return self.at
        return (self.at,) if self.at.isidentifier() else ()

    @property
    def where(self) -> str:
        """The place in words."""
        return dotted(self.at) if isinstance(self.at, tuple) else self.at

    def __str__(self) -> str:
        text = f"{self.where}: expected {self.expected}, found {self.found}"
        return f"{text}. {self.remedy}" if self.remedy else text


class VineSimError(Exception):
    """Base class of all errors that VineSim raises on purpose."""


class InputError(VineSimError):
    """The input is wrong. Lists every problem found, not only the first.

    Attributes:
        problems: the problems in the order of the input, at most ``MAX_PROBLEMS``.
        n_problems: the total number, as far as they were counted.
    """

    def __init__(self, problems: list[Problem], n_problems: int | None = None):
        self.problems = problems[:MAX_PROBLEMS]
        self.n_problems = max(len(problems), n_problems or 0)
        super().__init__(str(self))

    @property
    def lines(self) -> list[str]:
        """One line per problem, and one for problems that are not listed."""
        hidden = self.n_problems - len(self.problems)
        return [*map(str, self.problems), *([f"... and {hidden} more"] if hidden > 0 else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines)


class PolicyError(VineSimError):
    """A policy broke its contract. The message says what the policy requested and which rule it broke."""


class InputWarning(UserWarning):
    """The input is legal but probably not what was intended."""
