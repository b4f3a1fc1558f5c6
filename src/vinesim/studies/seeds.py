"""Find which runs of a study depend on their seed: through their jobs, their failures or their policy."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.model.study import Study
from vinesim.model.workload import Workload
from vinesim.policies.registry import depends_on_seed
from vinesim.studies.run import Run
from vinesim.studies.scenarios import scenario_of

APART = ("options", "period", "horizon", "sampling", "accounting")  # sections that never affect the jobs


class Seeds:
    """Finds whether the seed matters to a run. Each variant of the workload is generated with two seeds to compare."""

    def __init__(self, study: Study):
        self._study = study
        self._known: dict[str, bool] = {}
        self._has_random_jobs: dict[str, bool] = {}  # once some differ, no others are tried

    def matter(self, run: Run) -> bool:
        """Return whether another seed may give another result at the run's point."""
        key = _without(run.settings, APART)
        if key not in self._known:
            self._known[key] = any(self._has_random_jobs.values()) or self._found(run)
        return self._known[key]

    def _found(self, run: Run) -> bool:
        try:
            scenario: Scenario = scenario_of(self._study, run)
            return depends_on_seed(scenario) or self._differ(run, scenario.workload)
        except InputError:  # the run will report it
            return True

    def _differ(self, run: Run, jobs: Workload) -> bool:
        """Whether a run's jobs differ with the seed, under any policy."""
        key = _without(run.settings, ("policy", *APART))
        if key not in self._has_random_jobs:
            others = scenario_of(self._study, replace(run, seed=run.seed + 1)).workload
            self._has_random_jobs[key] = not are_equal(jobs, others)
        return self._has_random_jobs[key]


def _without(settings: Mapping[str, Any], sections: tuple[str, ...]) -> str:
    """Return the settings, without those of these sections, as a text."""
    return repr({name: value for name, value in settings.items() if name.split(".")[0] not in sections})


def are_equal(one: Workload, other: Workload) -> bool:
    """Whether two workloads have equal columns."""
    return all(_is_same(getattr(one, field.name), getattr(other, field.name)) for field in fields(Workload))


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_is_same(a[name], b[name]) for name in a)
    if a is None or b is None:
        return a is b
    return bool(a == b)
