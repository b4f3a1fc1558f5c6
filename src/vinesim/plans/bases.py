"""The parts of a scenario that depend on neither its datacenter nor its policy, built once for all points."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.names import names_of
from vinesim.formats.source.document import checked
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.plan import Plan
from vinesim.model.scenario import Scenario
from vinesim.plans.hardware import SECTION
from vinesim.plans.space import Space
from vinesim.plans.work import Work, work_of
from vinesim.policies.documents import scenario_from
from vinesim.policies.registry import depends_on_seed
from vinesim.studies import seeds

APART = (SECTION, "policy", *seeds.APART)  # they do not change the work
N_SEEDS, FEW_TASKS = 8, 100_000


@dataclass(frozen=True, eq=False)
class Base:
    """A scenario with units of all types that a plan may choose; only its work, types and electricity count."""

    scenario: Scenario
    work: Work  # the mean over several seeds
    is_random: bool  # whether the workload depends on the seed


class Bases:
    """Builds the bases of points, each once."""

    def __init__(self, plan: Plan, space: Space):
        self._plan = plan
        self._source, self._folder = scenario_source(plan.space), plan.space.folder
        self._known: dict[str, Base | str] = {}
        self._seeded: dict[str, bool] = {}
        self._most = {  # the datacenter with the most of everything that is counted
            key: value
            for choice in space.choices
            if choice.is_ordered
            for key, value in choice.settings[int(np.argmax(np.array(choice.labels)))].items()
            if key.startswith(SECTION)
        }

    def of(self, settings: Mapping[str, Any]) -> Base | str:
        """Return the base of a point; a text says what is wrong with it."""
        own = {key: value for key, value in settings.items() if not key.startswith(APART)}
        key = repr(own)
        if key not in self._known:
            try:
                self._known[key] = self._built(settings)
            except InputError as error:
                self._known[key] = "; ".join(str(problem) for problem in error.problems)
        return self._known[key]

    def is_random(self, settings: Mapping[str, Any], base: Base) -> bool:
        """Whether runs of the point depend on the seed, because of the workload, the failures or the policy."""
        if base.is_random:
            return True
        data = self._source.changed(settings).data
        key = repr([data.get(name) for name in ("policy", "options", "failures")])
        if key not in self._seeded:
            try:
                scenario = scenario_from(self._source.changed({**settings, **self._most}), self._folder)
                self._seeded[key] = depends_on_seed(scenario)
            except InputError:
                self._seeded[key] = False  # its runs will fail, one as well as many
        return self._seeded[key]

    def _built(self, settings: Mapping[str, Any]) -> Base:
        settings = {key: value for key, value in settings.items() if key.split(".")[0] not in ("policy", "options")}
        try:
            first = self._scenario({**settings, **self._most}, 0)
        except InputError as error:
            settings = {key: value for key, value in settings.items() if not key.startswith(SECTION)}
            document, bad = checked(self._source.changed(settings), ScenarioDocument)
            names = () if bad else names_of(self._source.changed(settings), document, self._folder).processor_names
            if not names:
                raise
            settings[SECTION] = {"racks": [{"units": dict.fromkeys(names, 1)}]}
            try:
                first = self._scenario(settings, 0)
            except InputError:
                raise error from None
            more = [self._scenario(settings, r) for r in range(1, self._n_seeds(first))]
        else:
            more = [self._scenario({**settings, **self._most}, r) for r in range(1, self._n_seeds(first))]
        is_random = not seeds.are_equal(first.workload, more[0].workload)
        return Base(first, work_of([first, *more] if is_random else [first]), is_random)

    def _n_seeds(self, first: Scenario) -> int:
        return N_SEEDS if first.workload.n_tasks <= FEW_TASKS else 2

    def _scenario(self, settings: Mapping[str, Any], replication: int) -> Scenario:
        changed = {**settings, "policy": "high", "options": {}, "seed": self._plan.space.seed + replication}
        return scenario_from(self._source.changed(changed), self._folder)
