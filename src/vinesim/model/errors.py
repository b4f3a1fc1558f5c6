"""Errors that users can act on: where, what was expected, what was found, what to do."""

from dataclasses import dataclass

MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Problem:
    """One problem with an input."""

    where: str  # "trace.txt:12:5" or "scenario.yaml:6:12: datacenter.racks[2].units[0]"
    expected: str
    found: str
    remedy: str = ""

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

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        hidden = self.n_problems - len(self.problems)
        if hidden > 0:
            lines.append(f"... and {hidden} more")
        return "\n".join(lines)


class PolicyError(VineSimError):
    """A policy broke its contract: says what it asked for, and the rule it broke."""


class InputWarning(UserWarning):
    """The input is legal but probably not what was intended."""
