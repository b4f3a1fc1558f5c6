"""The fluid model of a datacenter: its load if tasks could be divided freely among the types that run them.

The load is the smallest share u such that the tasks hold at most u times the capacity of each type, counting the units
that they run on and those that they hold as well. It is a linear program over classes of tasks and processor types,
solved by HiGHS through SciPy. The model ignores which units share a node, partitions and failures; these only reduce
what fits. The dual prices of one datacenter give a lower bound on the load of any other with the same work, so a few
programs serve many points. With a load of 1 or more, tasks wait longer and longer.
"""

import numpy as np

from vinesim.plans.hardware import Hardware
from vinesim.plans.work import Work

SAME = 1e-7
ENOUGH = 15  # programs in a row without new prices, after which those known explain all points


class Loads:
    """Loads of datacenters with the same work, whose smallest unit of each type has the same capacity."""

    def __init__(self, work: Work, smallest: np.ndarray):
        held = work.held + np.eye(len(smallest)) * (work.whole * smallest)[:, :, None]
        held = held[(held > 0).any(axis=(1, 2))]
        self._able = np.isfinite(held).all(axis=2)  # [K, P]
        self._held = np.where(self._able[:, :, None], held, 0.0)  # [K, P, P] of each type, by the type of the lead
        self._prices: list[np.ndarray] = []  # [P] of each program solved, scaled so that load >= 1 / (capacity @ price)

    def of(self, capacity: np.ndarray, most: int = 400) -> np.ndarray:
        """Return the loads [n] of datacenters with these capacities [n, P]; infinite where a kind of task cannot run.

        At most ``most`` programs are solved; the loads of other points are bounds from below, nearly always exact.
        """
        if not len(self._held):
            return np.zeros(len(capacity))
        can = np.array([self._runs(each).any(axis=1).all() for each in capacity], bool)
        load = np.where(can, 0.0, np.inf)
        for price in self._prices:
            load = np.maximum(load, _bound(capacity, price))
        idle = 0
        for i in np.random.default_rng(0).permutation(np.flatnonzero(can))[:most]:
            value, price = self._solve(capacity[i])
            self._prices.append(price)
            new = np.where(can, np.maximum(load, _bound(capacity, price)), load)
            idle = 0 if (new > load * (1 + SAME))[can].any() else idle + 1
            load = new
            load[i] = value
            if idle == ENOUGH:
                break
        return load

    def _runs(self, capacity: np.ndarray) -> np.ndarray:
        """[K, P] whether the datacenter has a unit of the lead's type and of each type that is held."""
        lacks = ((self._held > 0) & (capacity <= 0)).any(axis=2)
        return np.asarray(self._able & ~lacks & (capacity > 0))

    def _solve(self, capacity: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the load of one datacenter, and its prices."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        runs = self._runs(capacity)
        k, p = np.nonzero(runs)
        n, (n_kinds, n_types) = len(k), runs.shape
        column, q = np.nonzero(self._held[k, p])
        whole = coo_array((np.ones(n), (k, np.arange(n))), (n_kinds, n + 1))
        rows, columns = np.concatenate([q, np.arange(n_types)]), np.concatenate([column, np.full(n_types, n)])
        values = np.concatenate([self._held[k[column], p[column], q], -capacity])
        within = coo_array((values, (rows, columns)), (n_types, n + 1))
        found = linprog(np.append(np.zeros(n), 1.0), within, np.zeros(n_types), whole, np.ones(n_kinds), method="highs")
        price = np.maximum(0.0, -found.ineqlin.marginals)  # of capacity of each type; capacity @ price is 1
        least = np.where(runs, self._held @ price, np.inf).min(axis=1)  # [K] what the tasks of a kind pay
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(self._held > 0, least[:, None, None] / self._held, 0.0).max(axis=(0, 1))
        price = np.where(capacity > 0, price, worth)  # a type that is not there is worth what it would save
        least = np.where(self._able, self._held @ price, np.inf).min(axis=1)
        return float(found.fun), price / max(float(least.sum()), 1e-300)


def _bound(capacity: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Return a load that the datacenters have at least, by the duality of linear programs."""
    worth = capacity @ price
    return np.divide(1.0, worth, out=np.full(len(capacity), np.inf), where=worth > 0)


def least_watts(work: Work, hardware: Hardware, idle_w: np.ndarray) -> float:
    """Return the least mean power of a datacenter while tasks arrive: idling, and each task where it takes least."""
    smaller = np.divide(work.largest, hardware.largest, out=np.ones(len(idle_w)), where=hardware.count > 0)
    able = np.where(hardware.count > 0, work.watts * np.minimum(1.0, smaller), np.inf)
    active = able.min(axis=1, initial=np.inf)
    return float((hardware.count * idle_w).sum() + np.where(np.isfinite(active), active, 0.0).sum())
