"""The fluid model of a datacenter: its load, if tasks could be split at will among the types that run them.

The load is the smallest share u such that all work of a type is done in u times the capacity of its units: a linear
program over task types and processor types, solved by HiGHS through SciPy. The dual prices of one datacenter bound the
load of any other one with the same workload from below, so few programs are solved for many points. A load of 1 or more
means that the tasks wait ever longer.
"""

from dataclasses import dataclass

import numpy as np

from vinesim.model.scenario import Scenario

SAME = 1e-7
ENOUGH = 15  # programs in a row without new prices, after which those known explain all points


@dataclass(frozen=True, eq=False)
class Work:
    """The work of a workload.

    ``units`` [T, P] are the units of each processor type that are busy if they run all tasks of a task type (infinite:
    they cannot), ``watts`` [T, P] the power that this takes beyond idling. ``fits``: whether the model fits at all.
    """

    units: np.ndarray
    watts: np.ndarray
    fits: bool


def work_of(scenarios: list[Scenario]) -> Work:
    """Return the work in a scenario, averaged over these replications of it."""
    found = [_work(scenario) for scenario in scenarios]
    return Work(
        np.mean([work.units for work in found], axis=0),
        np.mean([work.watts for work in found], axis=0),
        all(work.fits for work in found),
    )


def _work(scenario: Scenario) -> Work:
    work, types = scenario.workload, scenario.datacenter.processor_types
    n_types, n_kinds = len(work.task_types), len(types)
    kind = np.repeat(work.job_task_type, np.diff(work.job_first))
    units, watts = np.zeros((n_types, n_kinds)), np.zeros((n_types, n_kinds))
    span = float(work.arrival_us[-1] - work.arrival_us[0]) * work.n_jobs / max(1, work.n_jobs - 1)
    consolidates = any(application.max_consolidated > 1 for application in scenario.applications)
    fits = span > 0 and not consolidates and work.requests is None and not scenario.outages
    factor = 1.0 if work.time_factor is None else work.time_factor
    times_us = scenario.single_times_us
    for p, processor in enumerate(types):
        speed = scenario.affinity[p][kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            time = work.operations / speed if times_us is None else times_us[:, p]
        if scenario.overhead_us is not None:
            time = time + scenario.overhead_us[p][kind]
        time = np.where(speed > 0, time * factor, np.inf)
        most = (processor.most_together(t.name) for t in work.task_types)
        together = np.array([processor.capacity if n is None else n for n in most])
        share = np.minimum(
            1.0,
            _demand(work.demand, processor.capacity) / together[kind],
        )
        busy = np.bincount(kind, time * share, n_types)
        units[:, p] = busy / span if span > 0 else np.inf
        if scenario.power_w is not None and not processor.has_own_power:
            extra = np.maximum(0.0, scenario.power_w[p] - processor.idle_power_w)
            able = np.isfinite(units[:, p])
            watts[:, p] = np.where(able, np.where(able, units[:, p], 0.0) * extra, np.inf)
    return Work(units, watts, fits)


def _demand(demand: np.ndarray | None, capacity: float) -> np.ndarray:
    """Return what each task takes of a unit: one slot by default."""
    given = np.array([np.nan]) if demand is None else demand
    return np.minimum(np.where(np.isnan(given), min(1.0, capacity), given), capacity)


class Loads:
    """Loads of datacenters with the same work."""

    def __init__(self, work: Work):
        self._used = [t for t in range(len(work.units)) if (work.units[t] > 0).any()]
        self._units = work.units[self._used]
        self._prices: list[np.ndarray] = []  # [P] of each program solved, scaled so that load = 1 / (count @ price)

    def of(self, counts: np.ndarray, most: int = 400) -> np.ndarray:
        """Return the loads [n] of datacenters with these counts [n, P]; infinite where a task type cannot run.

        At most so many programs are solved; the loads of other points are bounds from below, nearly always exact.
        """
        if not len(self._used):
            return np.zeros(len(counts))
        able = np.isfinite(self._units)
        can = ((counts[:, None, :] > 0) & able[None]).any(axis=2).all(axis=1)
        load = np.where(can, 0.0, np.inf)
        for price in self._prices:
            load = np.maximum(load, _bound(counts, price))
        idle = 0
        for i in np.random.default_rng(0).permutation(np.flatnonzero(can))[:most]:
            value, price = self._solve(counts[i])
            self._prices.append(price)
            new = np.where(can, np.maximum(load, _bound(counts, price)), load)
            idle = 0 if (new > load * (1 + SAME))[can].any() else idle + 1
            load = new
            load[i] = value
            if idle == ENOUGH:
                break
        return load

    def _solve(self, count: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the load of one datacenter, and its prices."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        t, p = np.nonzero(np.isfinite(self._units) & (count > 0)[None])
        n, n_types, n_kinds = len(t), *self._units.shape
        columns = np.arange(n)
        whole = coo_array((np.ones(n), (t, columns)), (n_types, n + 1))
        rows = np.concatenate([p, np.arange(n_kinds)])
        values = np.concatenate([self._units[t, p], -count.astype(float)])
        within = coo_array((values, (rows, np.concatenate([columns, np.full(n_kinds, n)]))), (n_kinds, n + 1))
        found = linprog(np.append(np.zeros(n), 1.0), within, np.zeros(n_kinds), whole, np.ones(n_types), method="highs")
        price = np.maximum(0.0, -found.ineqlin.marginals)  # of a unit of each type; count @ price is 1
        units = np.where(np.isfinite(self._units) & (count > 0), self._units, np.inf)
        cost = np.where(np.isfinite(units), np.where(np.isfinite(units), units, 0.0) * price, np.inf).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(self._units > 0, cost[:, None] / self._units, 0.0).max(axis=0)
        price = np.where(count > 0, price, worth)  # a type that is not there is worth what it would save
        return float(found.fun), price / max(float(cost.sum()), 1e-300)


def _bound(counts: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Return a load that the datacenters have at least, by the duality of linear programs."""
    worth = counts @ price
    return np.divide(1.0, worth, out=np.full(len(counts), np.inf), where=worth > 0)


def least_watts(work: Work, count: np.ndarray, idle_w: np.ndarray) -> float:
    """Return the least mean power of a datacenter while tasks arrive: idling, and each task where it takes least."""
    able = np.where(count > 0, work.watts, np.inf)
    active = able.min(axis=1, initial=np.inf)
    return float((count * idle_w).sum() + np.where(np.isfinite(active), active, 0.0).sum())
