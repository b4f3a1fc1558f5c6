"""Measure what each mechanism of a model contributes to a back-test: switch it off and compare the errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.engine.engine_choice import Engine
from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.studies.backtest import Backtest, backtest, finite
from vinesim.studies.mechanisms import without_all, without_each

NEARER = 0.7  # if a job's error falls to this share of it without a mechanism, the job is nearer without it


@dataclass(frozen=True)
class Step:
    """The outcome of a back-test without one mechanism."""

    name: str
    error_s: float  # the mean absolute error of the mean of the runs
    mean_s: float  # the mean predicted wait
    error_of_s: dict[int, float]  # the error of each job, by its index


@dataclass(frozen=True)
class Waterfall:
    """The error with all mechanisms, without each, and without any."""

    found: Backtest
    steps: list[Step]  # by decreasing contribution
    none: Step

    @property
    def unexplained_s(self) -> float:
        """The error beyond that of a perfect model, s."""
        floor_s = self.found.floor_s
        return max(0.0, self.found.error_s - (0.0 if np.isnan(floor_s) else floor_s))

    @property
    def unexplained(self) -> float:
        """The unexplained error, relative to the error without any mechanism."""
        return self.unexplained_s / self.none.error_s if self.none.error_s else 0.0

    def nearer_without(self, job: int, error_s: float) -> str:
        """Return the mechanism without which a job is clearly nearer to the truth; "" if there is none."""
        best = min(self.steps, key=lambda step: step.error_of_s.get(job, np.inf), default=None)
        if best is None or best.error_of_s.get(job, np.inf) > NEARER * error_s:
            return ""
        return best.name

    def words(self) -> str:
        """Return a sentence about the unexplained error."""
        floor_s = self.found.floor_s
        perfect = "" if np.isnan(floor_s) else f", in a perfect model by about {floor_s:.0f} s"
        return (
            f"Without any mechanism a job is off by {self.none.error_s:.0f} s, with all by {self.found.error_s:.0f} s"
            f"{perfect}: {self.unexplained_s:.0f} s, {self.unexplained * 100:.0f} %, are not explained."
        )

    def as_document(self) -> dict[str, Any]:
        """Return it for programs."""
        error_s = self.found.error_s
        return {
            "error_s": error_s,
            "error_without_any_s": finite(self.none.error_s),
            "floor_s": finite(self.found.floor_s),
            "unexplained_s": self.unexplained_s,
            "unexplained": self.unexplained,
            "without": [
                {"mechanism": one.name, "error_s": finite(one.error_s), "contributes_s": finite(one.error_s - error_s),
                 "mean_s": finite(one.mean_s)} for one in self.steps
            ],
            "words": self.words(),
        }  # fmt: skip


def waterfall(
    scenario: Scenario,
    found: Backtest,
    n: int,
    *,
    engine: Engine = "auto",
    on_step: Callable[[str], None] | None = None,
) -> Waterfall:
    """Back-test a scenario without each of its mechanisms, and without any, ``n`` runs each."""
    steps = []
    for name, changed in [*without_each(scenario), ("any", without_all(scenario))]:
        if on_step is not None:
            on_step(name)
        steps.append(_step(name, changed, n, engine))
    *each, none = steps
    each.sort(key=lambda step: -step.error_s)
    return Waterfall(found, each, none)


def _step(name: str, scenario: Scenario, n: int, engine: Engine) -> Step:
    try:
        found = backtest(scenario, n, engine=engine)
    except InputError:  # no job starts in all runs
        return Step(name, np.inf, np.inf, {})
    errors = np.abs(found.mean_s - found.actual_s)
    by_job = dict(zip(found.job.tolist(), errors.tolist(), strict=True))
    return Step(name, found.error_s, float(found.mean_s.mean()), by_job)
