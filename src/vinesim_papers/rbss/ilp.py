"""The integer linear programme of the paper's section 4, exactly as written: a variable for each pair of jobs.

The policy `optimal` solves the same problem with another model. This one serves the paper's statements about its own.
"""

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.policies.optimal.solver import cp_sat, new_solver, prove

US_PER_STEP = 1000.0  # the solver counts in whole ms


@dataclass(frozen=True)
class Solved:
    """The best total time found, infinite if none was, and the proven lower bound."""

    total_us: float
    bound_us: float
    is_optimal: bool

    @property
    def gap_pct(self) -> float:
        """The gap between the two, in percent of the total time; 100 if nothing was found."""
        return 100.0 if np.isinf(self.total_us) else 100 * (1 - self.bound_us / self.total_us)


def solve(given: Scenario, limit_s: float, workers: int) -> Solved:
    """Solve it for the jobs of a scenario on its devices, (1) to (8). Raises :class:`InputError` without OR-Tools.

    Read by its meaning: colocated concerns two jobs j < k on any resource, start and finish are times, and ``busy``
    is the finish time of the last job.
    """
    cp = cp_sat()
    work = given.workload
    assert work.times_us is not None
    submit = np.rint(work.arrival_us / US_PER_STEP).astype(np.int64)
    exec_time = np.rint(work.times_us[:, given.datacenter.unit_type] / US_PER_STEP).astype(np.int64)  # [J, N]
    jobs, resources = range(exec_time.shape[0]), range(exec_time.shape[1])
    horizon = int(submit.max() + exec_time.max(axis=1).sum())  # M: no schedule needs longer

    model = cp.CpModel()
    assign = [[model.new_bool_var("") for _ in jobs] for _ in resources]
    colocated = {pair: model.new_bool_var("") for pair in combinations(jobs, 2)}
    precedes = {pair: model.new_bool_var("") for pair in permutations(jobs, 2)}
    start = [model.new_int_var(int(submit[j]), horizon, "") for j in jobs]  # (5)
    busy = model.new_int_var(0, horizon, "")
    took = [sum(int(exec_time[j, i]) * assign[i][j] for i in resources) for j in jobs]
    for j in jobs:
        model.add_exactly_one(assign[i][j] for i in resources)  # (1)
        model.add(busy >= start[j] + took[j])  # (6), (7)
    for (j, k), together in colocated.items():
        for i in resources:
            model.add(together >= assign[i][j] + assign[i][k] - 1)  # (2)
        model.add(precedes[j, k] + precedes[k, j] == together)  # (3)
    for (k, j), before in precedes.items():
        model.add(start[j] - start[k] >= took[k] - horizon * (1 - before))  # (4)
    model.minimize(busy)  # (8)

    solver = new_solver(limit_s, workers)
    answer = prove(solver, model)
    found = answer in (cp.OPTIMAL, cp.FEASIBLE)
    total = solver.objective_value if found else np.inf
    return Solved(total * US_PER_STEP, solver.best_objective_bound * US_PER_STEP, answer == cp.OPTIMAL)
