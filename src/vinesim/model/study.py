"""A study: one scenario, the axes along which it changes, and how often each point is repeated."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

from vinesim.model.errors import InputError, Problem

MAX_RUNS = 10_000_000
MAX_SEED = 2**63 - 1
OWN_COLUMNS = ("run_id", "point", "replication", "seed")  # of a sweep's rows, besides those of the axes


@dataclass(frozen=True)
class Axis:
    """One direction of a study: each position sets keys of the scenario and has labels.

    ``columns`` [C] are the axis's columns in the rows, ``labels`` [n][C] their values, and ``settings`` [n] the
    scenario's keys with their new values, by position. Raises :class:`InputError`.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    settings: tuple[Mapping[str, Any], ...]

    def __post_init__(self) -> None:
        where = f"axis {', '.join(self.columns)}"
        problems = []
        if not self.columns:
            problems.append(Problem(("axis",), "at least one column", "none"))
        if not self.settings:
            problems.append(Problem(where, "at least one position", "none"))
        if len(self.labels) != len(self.settings):
            expected = f"a label for each of {len(self.settings)} positions"
            problems.append(Problem(where, expected, f"{len(self.labels)}"))
        for i, label in enumerate(self.labels):
            if len(label) != len(self.columns):
                expected = f"{len(self.columns)} labels at position {i}, one per column"
                problems.append(Problem(where, expected, f"{len(label)}"))
        if problems:
            raise InputError(problems)

    def __len__(self) -> int:
        return len(self.settings)


@dataclass(frozen=True)
class Until:
    """Repeat each point until half the confidence interval of a number is within ``ci_width`` of its mean."""

    ci_width: float  # half width of the interval / mean
    of: str  # the number, such as jobs.latency_us.mean
    confidence: float = 0.95
    at_most: int = 1000  # replications


@dataclass(frozen=True, eq=False)
class Study:
    """Many runs of one scenario: every combination of its axes, each with the same seeds.

    ``scenario`` is a scenario file, or its mapping with file names relative to ``folder``; so are those in the axes'
    settings. Replication r of every point has the seed ``seed + r`` (common random numbers). ``warm_up`` is None,
    ``"mser5"``, ``{"jobs": N}`` or ``{"share": x}``; ``record`` selects the numbers to keep by the start of their
    names, () keeps all. Raises :class:`InputError` with all problems.
    """

    scenario: Mapping[str, Any] | Path
    axes: tuple[Axis, ...] = ()
    replications: int = 1
    seed: int = 0
    until: Until | None = None
    warm_up: str | Mapping[str, float] | None = None
    record: tuple[str, ...] = ()
    description: str = ""
    folder: Path = field(default_factory=Path)  # for a scenario file: its own
    origin: Any = field(default=None, repr=False)  # the place of a mapping in its file, for messages
    warm_up_at: str = field(default="warm_up", repr=False, compare=False)  # the place of the warm-up, for messages

    def __post_init__(self) -> None:
        folder = self.folder
        if not isinstance(self.scenario, Mapping):
            file = Path(os.path.abspath(self.scenario))
            object.__setattr__(self, "scenario", file)
            folder = file.parent
        object.__setattr__(self, "folder", Path(os.path.abspath(folder)))
        object.__setattr__(self, "axes", tuple(self.axes))
        object.__setattr__(self, "record", tuple(self.record))
        problems = [*self._size_problems(), *self._column_problems()]
        if problems:
            raise InputError(problems)

    def __repr__(self) -> str:
        axes = ", ".join(self.columns) or "no axes"
        return f"Study({self.n_points:,} points of {shorten(axes, 80, placeholder=' ...')}, {self.n_runs:,} runs)"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all axes, in order."""
        return tuple(column for axis in self.axes for column in axis.columns)

    @property
    def n_points(self) -> int:
        """The number of combinations of the axes."""
        return math.prod(len(axis) for axis in self.axes)

    @property
    def n_runs(self) -> int:
        """The number of runs, before ``until`` adds more."""
        return self.n_points * self.replications

    def _size_problems(self) -> list[Problem]:
        most = max(self.replications, self.until.at_most if self.until else 0)
        problems = []
        if self.replications < 1:
            problems.append(Problem(("replications",), "at least 1", f"{self.replications}"))
        if self.until is not None and self.until.at_most < self.replications:
            expected = f"at_most of at least the replications, {self.replications}"
            problems.append(Problem(("until",), expected, f"{self.until.at_most}"))
        if not 0 <= self.seed <= MAX_SEED:
            problems.append(Problem(("seed",), "a whole number from 0 to 2^63 - 1", f"{self.seed}"))
        elif self.seed + most - 1 > MAX_SEED:
            found = f"{self.seed} + {most - 1}"
            problems.append(Problem(("seed",), "a last seed of at most 2^63 - 1", found, "Start with a smaller seed."))
        if self.n_points * most > MAX_RUNS:
            shape = " x ".join(str(len(axis)) for axis in self.axes)
            found = f"{self.n_points * most:,}: {shape} points of {most} replications"
            problems.append(Problem(("axes",), f"at most {MAX_RUNS:,} runs", found, "Split the study."))
        return problems

    def _column_problems(self) -> list[Problem]:
        problems, seen = [], {name.lower() for name in OWN_COLUMNS}
        for column in self.columns:
            if column.lower() in seen:
                own = column.lower() in OWN_COLUMNS
                found = f"{column}, which every sweep has" if own else f"{column} twice"
                problems.append(Problem(("axes",), "each column once, ignoring case", found, "Rename one."))
            seen.add(column.lower())
        return problems
