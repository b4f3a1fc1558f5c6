"""A plan: what may be chosen in a scenario, what is minimised or maximised, and the limits that must hold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from vinesim.model.expression import Expression
from vinesim.model.study import Study

LOOKS = (3, 5, 8, 12, 20, 40, 80, 160)  # replications after which a limit is judged
FRESH = 1000  # replication from which on the seeds are those that a search never uses
MAX_POINTS = 1_000_000


@dataclass(frozen=True)
class Choice:
    """One thing to choose: each position sets keys of the scenario and has a label.

    ``is_ordered``: the labels are numbers, so that positions next to each other are alike. ``when`` maps names of other
    choices to labels: the choice is made only if each of those has one of the labels. ``title`` is what answers call
    the choice, if the plan says so.
    """

    name: str
    labels: tuple[Any, ...]
    settings: tuple[Mapping[str, Any], ...]
    is_ordered: bool = False
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    title: str = ""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Limit:
    """A number that must stay on one side of a value.

    With ``share``, at least that share of all runs must be on that side; without, the mean over runs must. Either is to
    hold with ``confidence``.
    """

    number: str
    side: Literal["below", "above"]
    value: float
    confidence: float = 0.95
    share: float | None = None

    def __str__(self) -> str:
        return f"{self.number} {self.side} {self.value:.6g}"

    def margin(self, value: Any) -> Any:
        """Return how far values are on the right side: 0 or more is within the limit."""
        return self.value - value if self.side == "below" else value - self.value


@dataclass(frozen=True)
class Objective:
    """What is minimised or maximised; its value is the mean over runs."""

    expression: Expression
    is_maximized: bool = False

    @property
    def sign(self) -> float:
        """The factor that makes less better."""
        return -1.0 if self.is_maximized else 1.0

    @property
    def number(self) -> str:
        """The number of a run that it is, which may have a unit; empty for arithmetic, which has none."""
        return self.expression.text if self.expression.names == (self.expression.text,) else ""

    def __str__(self) -> str:
        return self.expression.text


@dataclass(frozen=True)
class Costs:
    """How ``cost.*`` numbers are made: what is paid over ``years``.

    ``rent_per_hour`` is the price of an hour of a unit by type; such units are rented and not bought.
    """

    years: float = 1.0
    carbon_per_tonne: float = 0.0  # price of a tonne of CO2
    rent_per_hour: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """When a search ends: after a number of runs, after a time, or when no point can be better by more than ``gap``."""

    runs: int = 2000
    time_s: float = math.inf
    gap: float = 0.0  # share of the recommendation's objective


@dataclass(frozen=True)
class Confirm:
    """How a recommendation is run again: with other seeds, and with a longer workload.

    ``longer`` are keys of the scenario with the values that make the workload ``horizon`` times as long.
    """

    replications: int = 200
    horizon: float = 4.0
    longer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Plan:
    """A question that a search answers: which choices are best within the limits?

    ``space`` is the study of all combinations, and numbers the points; ``choices`` are as written in the file.
    ``files`` are the files that the plan was read from, the plan file first.
    """

    space: Study
    choices: tuple[Choice, ...]
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...] = ()
    costs: Costs | None = None
    budget: Budget = field(default_factory=Budget)
    confirm: Confirm = field(default_factory=Confirm)
    looks: tuple[int, ...] = LOOKS
    screen: bool = True
    more_is_better: tuple[str, ...] = ()  # choices of which a higher value never breaks a limit
    loads: tuple[float, ...] = ()  # times the workload's load at which the recommendation is run too
    description: str = ""
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        goals = ", ".join(f"{'maximize' if goal.is_maximized else 'minimize'} {goal}" for goal in self.objectives)
        asked = "; ".join([goals, *map(str, self.limits)])
        return f"Plan({self.space.n_points:,} points; {shorten(asked, 100, placeholder=' ...')})"

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers that the objectives and limits need."""
        found = [name for objective in self.objectives for name in objective.expression.names]
        return tuple(dict.fromkeys([*found, *(limit.number for limit in self.limits)]))
