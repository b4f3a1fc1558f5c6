"""OPTIMAL: a provably best schedule, found before the run."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Plan
from vinesim.policies.demands import against_shared_speed
from vinesim.state.demand import take_whole_units
from vinesim.state.layout import ARRIVAL, FINISH, PENDING
from vinesim.state.queries import can_start, nothing, start


@dataclass(frozen=True)
class Optimal(OnlinePolicy):
    """Knows the whole workload, including all true times, and follows the best schedule that a solver finds for it.

    No real scheduler knows the future: this one is a reference for the others. ``objective`` is the makespan, or the
    sum of the jobs' finish times (sum_finish), which minimises the mean latency. ``requests`` strict: a task runs only
    where its requests are met; relaxed: wherever its affinity is above 0. The search ends when the schedule is proven
    optimal or after ``time_limit_s``, with the best one found; 0 uses a greedy schedule. ``workers`` are the solver's
    threads: with 1 a proven schedule is the same each time; several are faster, but may find another schedule of the
    same value. The summary has the bound and the gap. Each task takes a whole unit: no partial demands, no shared
    speed, no outages. Needs the package ortools. Ties: as the solver finds them. Cost per decision: the tasks of a job
    at its arrival; before the run, up to the time limit.
    """

    name: ClassVar[str] = "optimal"
    source: ClassVar[str] = "RBSS paper, the ILP, as R | r_j | Cmax on classes of identical units"
    needs_estimates: ClassVar[bool] = True
    supports_multi_unit_tasks: ClassVar[bool] = False
    unsupported_because: ClassVar[str] = "its model has one unit for each task"
    plans: ClassVar[bool] = True
    sees_every_event: ClassVar[bool] = True
    scratch: ClassVar[dict[str, tuple[str, str]]] = {
        "unit_of": ("i4", "tasks"),
        "following": ("i8", "tasks"),
        "turn": ("i8", "units"),
        "n_arrived": ("i8", "one"),
    }

    objective: Literal["makespan", "sum_finish"] = "makespan"
    requests: Literal["strict", "relaxed"] = "strict"
    time_limit_s: float = 60.0
    workers: int = 8

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.time_limit_s < math.inf:
            expected = "a finite number of seconds, 0 or more"
            problems.append(Problem(("policy", "options", "time_limit_s"), expected, f"{self.time_limit_s}"))
        if self.workers < 1:
            problems.append(Problem(("policy", "options", "workers"), "at least 1", f"{self.workers}"))
        if problems:
            raise InputError(problems)

    def wrong_scenario(self, scenario: Scenario) -> list[Problem]:
        center, remedy = scenario.datacenter, "Leave out parallelism and rates."
        problems = against_shared_speed(center, range(len(center.processor_types)), "optimal", remedy)
        if not take_whole_units(scenario.workload.demand, (center.unit_capacity.min(), center.unit_capacity.max())):
            expected = "tasks that take a whole unit, for the policy optimal"
            problems.append(Problem(("workload", "demand"), expected, "a demand for part of a unit"))
        return problems

    def plan(self, model: Any, on_message: Callable[[str], None] | None) -> Plan:
        """Solve; the scratch arrays hold which unit each task gets and the order on each unit."""
        from vinesim.policies.optimal.instance import Instance
        from vinesim.policies.optimal.schedule import turns
        from vinesim.policies.optimal.search import Search
        from vinesim.policies.optimal.solver import cp_sat

        cp_sat()
        begun = time.perf_counter()
        found = Search(
            Instance.of(model, self.requests), self.objective, self.time_limit_s, self.workers, on_message
        ).run()
        first, following = turns(found.schedule, len(model.unit_type))
        proven = {
            "objective": self.objective,
            "bound_us": found.bound_us,
            "status": "OPTIMAL" if found.is_optimal else "FEASIBLE",
        }
        scratch = {"unit_of": found.schedule.unit, "following": following, "turn": first, "n_arrived": np.zeros(1)}
        return Plan(scratch, proven, time.perf_counter() - begun)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        arrived, turn = view.scratch.n_arrived, view.scratch.turn
        if view.event == FINISH:
            task = turn[view.unit]
            if 0 <= task < arrived[0] and can_start(model, state, task, view.unit):
                turn[view.unit] = view.scratch.following[task]
                return start(task, view.unit)
        if view.event == ARRIVAL:
            arrived[0] = model.job_first[view.job + 1]
            for task in range(model.job_first[view.job], arrived[0]):
                unit = view.scratch.unit_of[task]
                if turn[unit] == task and state.task_unit[task] == PENDING and can_start(model, state, task, unit):
                    turn[unit] = view.scratch.following[task]
                    return start(task, unit)
        return nothing()
