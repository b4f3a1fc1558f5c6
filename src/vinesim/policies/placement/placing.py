"""The common part of the placement policies of the energy-aware scheduler thesis. Source: its sections 3 and 3.5."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from vinesim.model.arrays import distinct
from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, title_of
from vinesim.state.demand_classes import shares_speed


@dataclass(frozen=True)
class Placing(BatchPolicy):
    """Places every task, on a full server if necessary; ``realloc`` says whether running tasks are placed again too.

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
        center, problems = scenario.datacenter, super().wrong_scenario(scenario)
        for p in distinct(center.unit_type).tolist() if self.replaces_running else ():
            if shares_speed(center, p) and (scenario.affinity[p] > 0).any():
                where = ("processor_types", center.processor_types[p].name)
                expected = f"tasks that do not share a unit's speed, for the policy {title_of(self)}, which moves them"
                remedy = "Set its option realloc=new, or leave out parallelism and rates."
                problems.append(Problem(where, expected, "tasks that do", remedy))
        return problems
