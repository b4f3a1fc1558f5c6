"""The common part of the placement policies of the energy-aware scheduler thesis. Source: its sections 3 and 3.5."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, title_of
from vinesim.policies.demands import against_shared_speed


@dataclass(frozen=True)
class Placing(BatchPolicy):
    """Places every task, on a full server if necessary. ``realloc`` says whether running tasks are placed again too.

    ``order`` then says which come first: the oldest tasks (old_first), or the new ones, then those of the last period
    and so on (new_first).
    """

    may_overcommit: ClassVar[bool] = True
    replaces_running: ClassVar[bool] = True
    steady: ClassVar[bool] = True  # it compares costs that change linearly with the time left

    realloc: Literal["all", "new"] = "all"
    order: Literal["old_first", "new_first"] = "old_first"

    def __post_init__(self) -> None:
        object.__setattr__(self, "replaces_running", self.realloc == "all")
        object.__setattr__(self, "new_first", self.replaces_running and self.order == "new_first")

    def wrong_scenario(self, scenario: Scenario) -> list[Problem]:
        if not self.replaces_running:
            return []
        able = np.flatnonzero((scenario.affinity > 0).any(axis=1)).tolist()
        remedy = "Set its option realloc=new, or leave out parallelism and rates."
        return against_shared_speed(scenario.datacenter, able, f"{title_of(self)}, which moves them", remedy)
