"""Find the best schedule and prove how good it is.

For the makespan a bound comes first: the smallest end for which the assignments to classes alone are feasible, by
bisection (a destructive bound); each assignment found on the way gives a schedule. Then the whole model is solved
alternately for a schedule that reaches the bound and for any better one.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vinesim.policies.optimal.cuts import add_cuts, may_run
from vinesim.policies.optimal.instance import Instance, Objective, WholeTimes
from vinesim.policies.optimal.schedule import Schedule, greedy, in_order, orders
from vinesim.policies.optimal.schedule_model import ScheduleModel
from vinesim.policies.optimal.solver import cp_sat, new_solver, set_by_ctrl_c, solve

BOUND = 0.3  # share of the time limit: for the destructive bound
PROBE = 0.05  # share of the time limit: for one step of it
FIRST_TRY = 0.05  # share of the time limit: for schedules that reach the bound; doubled at each further try
SURE = 1e-9  # relative tolerance: rounding errors of float64

OnMessage = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Found:
    """The best schedule, and the lower bound on all schedules."""

    schedule: Schedule
    value_us: float
    bound_us: float
    is_optimal: bool  # the bound is reached, up to the error from rounding to a grid


class Search:
    """One search: the best schedule so far, and the time that is left."""

    def __init__(
        self, instance: Instance, objective: Objective, limit_s: float, workers: int, on_message: OnMessage | None
    ):
        self.instance, self.objective, self.on_message = instance, objective, on_message
        self.limit_s, self.workers = limit_s, workers
        self.begun = self.last_message_s = time.monotonic()
        self.is_to_end = threading.Event()
        self.best = greedy(instance, objective)
        self.value_us = self.best.value_us(instance, objective)
        self.whole = WholeTimes.of(instance, float(self.best.finish_us.max()))
        earliest = _earliest_ends(instance, self.whole.release, self.whole.times)
        self.bound = int(earliest.max() if objective == "makespan" else earliest.sum())
        earliest = _earliest_ends(instance, instance.release_us, instance.times_us)
        self.least_us = float(earliest.max() if objective == "makespan" else earliest.sum())  # not rounded

    def run(self) -> Found:
        """Search until the schedule is proven optimal, the time is over, or Ctrl-C."""
        with set_by_ctrl_c(self.is_to_end):
            return self._run()

    def _run(self) -> Found:
        if self.objective == "makespan" and self._is_open():
            self._raise_bound(BOUND * self.limit_s)
            self._tell()
        slice_s = self.limit_s * (FIRST_TRY if self.objective == "makespan" else 1.0)
        while self._is_open():
            for end in (self.bound, self._end()) if self.objective == "makespan" else (self._end(),):
                if self._is_open():
                    self._improve(end, min(self._left_s(), slice_s))
            slice_s *= 2
        bound_us = min(self._bound_us(), self.value_us)
        return Found(self.best, self.value_us, bound_us, self._is_reached())

    def _bound_us(self) -> float:
        return max(self.bound * self.whole.step_us, self.least_us)

    def _is_reached(self) -> bool:
        """Whether the bound is reached; each task's times may have been rounded, which adds up in a finish time."""
        n = self.instance.n_tasks * (1 if self.objective == "makespan" else len(np.unique(self.instance.job)))
        rounding_us = n * self.whole.step_us if self.whole.is_rounded else 0.0
        return self.value_us - self._bound_us() <= SURE * self.value_us + rounding_us

    def _is_open(self) -> bool:
        return not self.is_to_end.is_set() and self._left_s() > 0 and not self._is_reached()

    def _left_s(self) -> float:
        return self.limit_s - (time.monotonic() - self.begun)

    def _tell(self) -> None:
        """Print a line about the search, at most every two seconds."""
        now = time.monotonic()
        if self.on_message is None or now - self.last_message_s < 2.0:
            return
        self.last_message_s = now
        bound_us = self._bound_us()
        gap = 100.0 * (self.value_us - bound_us) / self.value_us if self.value_us else 0.0
        what = "makespan" if self.objective == "makespan" else "sum of finish times"
        self.on_message(
            f"optimal: {what} {self.value_us / 1e6:,.6g} s, at least {bound_us / 1e6:,.6g} s (gap {gap:.2f} %) "
            f"after {now - self.begun:.0f} of {self.limit_s:g} s"
        )

    def _take(self, starts: np.ndarray, chosen: np.ndarray) -> None:
        """Take a schedule from the solver, in real times."""
        ends = starts + self.whole.times[np.arange(len(starts)), chosen]
        order = np.lexsort((np.arange(len(starts)), ends, starts))
        self._keep(in_order(self.instance, order.tolist(), chosen))

    def _keep(self, schedule: Schedule) -> None:
        value = schedule.value_us(self.instance, self.objective)
        if value < self.value_us:
            self.best, self.value_us = schedule, value

    def _end(self) -> int:
        """Return the step by which every schedule better than the best one must end."""
        reached = int(self.best.finish_us.max() // self.whole.step_us) + 1
        if self.objective == "makespan":
            return reached
        # A job's end can exceed its earliest end only by what the best sum exceeds the sum of the earliest ends.
        earliest = _earliest_ends(self.instance, self.whole.release, self.whole.times)
        slack = int(np.ceil(self.value_us / self.whole.step_us)) - int(earliest.sum())
        return max(reached, int(earliest.max()) + slack)

    def _improve(self, end: int, limit_s: float) -> None:
        """Ask the solver for a better schedule that ends by ``end``, and for a better bound."""
        cp = cp_sat()
        model = ScheduleModel(self.instance, self.whole, self.objective, self.best, self.bound, end)
        solver = new_solver(limit_s, self.workers)
        answer = solve(solver, model.cp, self.is_to_end, _watcher(self, model))
        if answer in (cp.OPTIMAL, cp.FEASIBLE):
            self._take(*model.schedule(solver.value))
            self.bound = max(self.bound, int(np.ceil(solver.best_objective_bound - 1e-6)))
        if answer == cp.INFEASIBLE:
            self.bound = max(self.bound, end + 1)
        if answer == cp.OPTIMAL:
            self.is_to_end.set()
        self._tell()

    def _raise_bound(self, limit_s: float) -> None:
        """Bisect for the smallest end for which the assignments alone are feasible."""
        cp, until = cp_sat(), min(self._left_s(), limit_s) + time.monotonic()
        low, high = self.bound, int(np.ceil(self.value_us / self.whole.step_us))
        while low < high and not self.is_to_end.is_set() and (left := until - time.monotonic()) > 0:
            middle = (low + high) // 2
            if self._assign(middle, min(left, PROBE * self.limit_s)) == cp.INFEASIBLE:
                low = self.bound = middle + 1
            else:
                high = middle
            self._tell()

    def _assign(self, end: int, limit_s: float) -> int:
        """Whether the tasks can be assigned to classes so that the cuts hold; if so, a schedule is made from that."""
        cp = cp_sat().CpModel()
        able = may_run(self.whole, end)
        if not able.any(axis=1).all():
            return int(cp_sat().INFEASIBLE)
        assigned = {(int(task), int(c)): cp.new_bool_var("") for task, c in np.argwhere(able)}
        for task in range(len(able)):
            cp.add_exactly_one(assigned[task, c] for c in np.flatnonzero(able[task]).tolist())
        add_cuts(cp, self.whole, self.instance.count, assigned, end)
        solver = new_solver(limit_s, self.workers)
        answer = solve(solver, cp, self.is_to_end)
        if answer in (cp_sat().OPTIMAL, cp_sat().FEASIBLE):
            chosen = np.array([c for (_, c), variable in assigned.items() if solver.value(variable)])
            for order in orders(self.instance.release_us, self.instance.times_us[np.arange(len(chosen)), chosen]):
                self._keep(in_order(self.instance, order.tolist(), chosen))
        return answer


def _watcher(search: Search, model: ScheduleModel) -> object:
    """Return the solver's callback, which takes each better schedule and sometimes prints a line."""
    cp = cp_sat()

    class Watcher(cp.CpSolverSolutionCallback):  # type: ignore[name-defined]
        def on_solution_callback(self) -> None:
            search._take(*model.schedule(self.value))
            search._tell()

    return Watcher()


def _earliest_ends(instance: Instance, release: np.ndarray, times: np.ndarray) -> np.ndarray:
    """[J] when each job ends if its tasks begin at its arrival on their fastest classes; in us or in steps."""
    ends = release + np.where(np.isfinite(instance.times_us), times, times.max()).min(axis=1)
    return np.maximum.reduceat(ends, np.flatnonzero(np.diff(instance.job, prepend=-1)))
