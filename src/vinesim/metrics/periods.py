"""Energy and over-commitment of a batch policy's periods, accounted for right after each placement.

Source: energy-aware scheduler thesis, equations 1 to 6, in the readings of :class:`~vinesim.model.Accounting`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.metrics.bounds import OVERFULL, energy_bound
from vinesim.model.arrays import distinct
from vinesim.model.columns import PERIODS
from vinesim.model.energy_parts import EnergyParts
from vinesim.model.scenario import Scenario
from vinesim.model.time import FOREVER_US, US_PER_S
from vinesim.state.demand import amounts

BOUND_ENTRIES = 4_000_000  # tasks x types processed at a time
MAX_ROWS = 1_000_000  # in the table; beyond it, identical periods share a row


N_COUNTS = 5  # the first fields of a row, which are whole numbers


class Row(NamedTuple):
    """A period, or several identical ones; energies are per period."""

    period: int
    n_periods: int
    active: int
    placed: int  # tasks that were started
    moved: int  # running tasks that were moved
    energy_j: float
    slav: float
    bound_j: float
    optimum_j: float


class PeriodAccounts:
    """Adds up the periods of one run. Units are in the engine's order."""

    def __init__(self, scenario: Scenario, unit_type: np.ndarray):
        types = scenario.datacenter.processor_types
        self.accounting = scenario.accounting
        self.period_us = scenario.period_us
        self.codes = distinct(unit_type)
        self.unit_type = unit_type
        self.capacity = np.array([p.capacity for p in types])
        self.awake_w = np.array([p.idle_power_w for p in types])
        self.per_demand_w = np.array([np.nan if p.dynamic_power_w is None else p.dynamic_power_w for p in types])
        self.asleep_w = np.array([p.idle_power_w if p.sleep_power_w is None else p.sleep_power_w for p in types])
        self.sleeps = np.array([p.sleep_power_w is not None for p in types])
        self.n_of_type = np.bincount(unit_type, minlength=len(types))
        self.has_power = not np.isnan(self.per_demand_w[self.codes]).any()
        self.unit_energy = EnergyParts(*np.zeros((len(EnergyParts._fields), len(unit_type))))
        self.was_active = np.zeros(len(unit_type), bool)
        self.rows: list[Row] = []
        self._spent = self.unit_energy  # in the last period

    @property
    def can_repeat(self) -> bool:
        """Whether periods without events are identical; with eq2 the energy depends on the tasks' remaining time."""
        return not (self.has_power and self.accounting.energy == "eq2" and self.was_active.any())

    def add(
        self,
        unit: np.ndarray,
        demand: np.ndarray,
        remaining: np.ndarray,
        elsewhere: Callable[[slice], np.ndarray],
        moved_from: np.ndarray,
        n_placed: int,
    ) -> None:
        """Add a period in which C tasks run, in the order of their arrival; ``n_placed`` of them started in it.

        ``unit``, ``demand`` and ``remaining`` (us) are [C]. ``elsewhere(rows)`` returns the time that the tasks
        ``rows`` would take on each type in use. ``moved_from`` are the units that tasks moved away from. A task whose
        end is unknown (``FOREVER_US``) counts with what it uses in this period.
        """
        remaining = self._known(remaining)
        amount = amounts(demand, self.capacity[self.unit_type[unit]])
        within = np.minimum(remaining, self.period_us)
        load = np.bincount(unit, amount, minlength=len(self.unit_type))
        active = np.zeros(len(load), bool)
        active[unit] = True
        energy = bound = optimum = np.nan
        if self.has_power:
            self._spent = self._energy(unit, amount, remaining, within, load, active, moved_from)
            energy = float(self._spent.total.sum())
            bound = self._bound(demand, lambda rows: self._known(elsewhere(rows)))
            if self.accounting.optimum:
                optimum = self._optimum(demand, self._known(elsewhere(slice(None))))
        self.was_active = active
        slav = self._slav(unit, amount, within, load)
        counts = (self._n_periods, 1, int(active.sum()), n_placed, len(moved_from))
        self._count(Row(*counts, energy, slav, bound, optimum))

    def _known(self, time_us: np.ndarray) -> np.ndarray:
        """Replace unknown times by the length of the period. Infinite times stay: the task cannot run there."""
        return np.where(time_us == FOREVER_US, self.period_us, time_us)

    def repeat(self, n: int) -> None:
        """Add n periods equal to the last one: nothing starts, ends, moves or wakes up, and all tasks keep running."""
        if n > 0:
            self._count(self.rows[-1]._replace(period=self._n_periods, n_periods=n, placed=0, moved=0))

    @property
    def _n_periods(self) -> int:
        return self.rows[-1].period + self.rows[-1].n_periods if self.rows else 0

    def _count(self, row: Row) -> None:
        self.rows.append(row)
        if self.has_power:
            for total, part in zip(self.unit_energy, self._spent, strict=True):
                total += row.n_periods * part

    def _energy(
        self,
        unit: np.ndarray,
        amount: np.ndarray,
        remaining: np.ndarray,
        within: np.ndarray,
        load: np.ndarray,
        active: np.ndarray,
        moved_from: np.ndarray,
    ) -> EnergyParts:
        period = self.period_us / US_PER_S
        awake, per_demand, asleep = (w[self.unit_type] for w in (self.awake_w, self.per_demand_w, self.asleep_w))
        n_units, reading = len(load), self.accounting.energy
        if reading == "eq1xT":
            spent = (awake + per_demand * load) * period
        elif reading == "eq2":
            task = awake[unit] * amount + per_demand[unit] * amount * remaining / US_PER_S
            spent = np.bincount(unit, task, minlength=n_units)
        else:
            work = np.bincount(unit, amount * within / US_PER_S, minlength=n_units)
            spent = awake * period + per_demand * work
        sleeps = self.sleeps[self.unit_type]
        return EnergyParts(
            active=np.where(active, spent, 0.0),
            idle=np.where(active | sleeps, 0.0, asleep * period),
            sleep=np.where(active | ~sleeps, 0.0, asleep * period),
            wake_up=self.accounting.wake_up_j * (active & ~self.was_active & sleeps),
            migration=self.accounting.migration_j * np.bincount(moved_from, minlength=n_units),
        )

    def _slav(self, unit: np.ndarray, amount: np.ndarray, within: np.ndarray, load: np.ndarray) -> float:
        """Return the over-commitment: demand beyond capacity x time, in demand x s."""
        capacity = self.capacity[self.unit_type]
        tasks = np.flatnonzero((load > capacity * OVERFULL)[unit])
        if not len(tasks):
            return 0.0
        if self.accounting.slav == "eq3":
            beyond = (load - capacity)[unit[tasks]]
        else:
            tasks = tasks[np.argsort(unit[tasks], kind="stable")]
            u = unit[tasks]
            total = np.cumsum(amount[tasks])
            is_first = np.concatenate(([True], u[1:] != u[:-1]))
            before = (total - amount[tasks])[is_first]
            after = total - np.repeat(before, np.diff(np.append(np.flatnonzero(is_first), len(u))))
            beyond = np.where(after > capacity[u] * OVERFULL, after - capacity[u], 0.0)
        return float((beyond * within[tasks]).sum() / US_PER_S)

    def _bound(self, demand: np.ndarray, elsewhere: Callable[[slice], np.ndarray]) -> float:
        """Return the lower bound, J. Tasks are processed in blocks, because there may be as many types as units."""
        codes, period = self.codes, self.period_us / US_PER_S
        powers = self.awake_w[codes], self.per_demand_w[codes], self.asleep_w[codes]
        step = max(1, BOUND_ENTRIES // len(codes))

        def of(rows: slice, n_servers: np.ndarray) -> float:
            amount = amounts(demand[rows, None], self.capacity[codes])
            time_s = elsewhere(rows) / US_PER_S
            capacity, reading = self.capacity[codes], self.accounting.energy
            return energy_bound(amount, time_s, capacity, *powers, n_servers, period, reading)

        bound = of(slice(0, step), self.n_of_type[codes])
        for begin in range(step, len(demand), step):
            bound += of(slice(begin, begin + step), np.zeros(len(codes), np.int64))
        return bound

    def _optimum(self, demand: np.ndarray, time_us: np.ndarray) -> float:
        """Return the optimum in J; infinite if no placement is within capacity."""
        from vinesim.policies.placement.kernels.optimum import least_energy_of

        codes = self.codes
        found = least_energy_of(
            amounts(demand[:, None], self.capacity[codes]),
            time_us / US_PER_S,
            np.searchsorted(codes, self.unit_type),
            self.capacity[codes],
            self.awake_w[codes],
            self.per_demand_w[codes],
            self.asleep_w[codes],
            self.period_us / US_PER_S,
        )
        return np.inf if found is None else found[0]

    def table(self) -> Table:
        """Return the table ``periods``: one row per period, or per group of identical periods if there are too many."""
        columns = map(np.array, zip(*self.rows, strict=True)) if self.rows else [np.empty(0)] * len(Row._fields)
        found = dict(zip(Row._fields, columns, strict=True))
        n_periods = found["n_periods"].astype(np.int64)
        if n_periods.sum() <= MAX_ROWS:
            found = {name: np.repeat(column, n_periods) for name, column in found.items()}
            n_periods = np.ones(len(found["period"]), np.int64)
            found["period"] = np.arange(len(n_periods))
        if not (self.accounting.optimum and self.has_power):
            del found["optimum_j"]
        per_period = {name: column * n_periods for name, column in found.items() if name not in Row._fields[:N_COUNTS]}
        counts = {name: found[name].astype(np.int64) for name in Row._fields[:N_COUNTS]}
        return Table(PERIODS.of({**counts, "n_periods": n_periods, **per_period}))
