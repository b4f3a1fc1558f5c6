"""The price and emissions of a kilowatt hour, constant or changing over time, and the overhead of the building."""

import math
from dataclasses import dataclass

import numpy as np

from vinesim.model.arrays import first_wrong
from vinesim.model.errors import InputError, Problem

J_PER_KWH = 3.6e6


@dataclass(frozen=True, eq=False)
class Series:
    """A number that changes in steps: ``values[i]`` applies from ``begin_us[i]`` until the next one.

    ``begin_us`` [n] starts at 0 and increases; ``values`` [n] are finite. After ``length_us`` the series repeats. The
    run begins at ``start_us``.
    """

    begin_us: np.ndarray
    values: np.ndarray
    length_us: float
    start_us: float = 0.0

    def __post_init__(self) -> None:
        begin, values = (np.array(column, np.float64) for column in (self.begin_us, self.values))
        edges = np.append(begin, self.length_us)
        if begin.ndim != 1 or not len(begin) or begin.shape != values.shape:
            raise InputError([Problem(("series",), "as many values as times, at least one", f"{begin.shape}")])
        if begin[0] != 0 or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
            raise InputError([Problem(("series",), "increasing times from 0", f"{edges.tolist()[:5]} us")])
        if not np.isfinite(values).all():
            raise InputError([Problem(("series",), "finite values", first_wrong(values, ~np.isfinite(values)))])
        if not 0 <= self.start_us < math.inf:
            raise InputError([Problem(("series", "start"), "a time, 0 or more", f"{self.start_us} us")])
        object.__setattr__(self, "begin_us", begin)
        object.__setattr__(self, "values", values)

    def at(self, time_us: np.ndarray) -> np.ndarray:
        """Return its value at times of the run."""
        within = (self.start_us + time_us) % self.length_us
        return self.values[np.searchsorted(self.begin_us, within, side="right") - 1]

    def integral(self, time_us: np.ndarray) -> np.ndarray:
        """Return its integral over time from its own beginning to times of the run, value x us."""
        edges = np.append(self.begin_us, self.length_us)
        sums = np.concatenate([[0.0], np.cumsum(self.values * np.diff(edges))])
        rounds, within = np.divmod(self.start_us + time_us, self.length_us)
        return rounds * sums[-1] + np.interp(within, edges, sums)


@dataclass(frozen=True, eq=False)
class Electricity:
    """Price and carbon intensity of the electricity, and the power usage effectiveness of the building.

    The building draws ``pue`` times the units' energy from the grid; price and carbon apply to that.
    """

    price_per_kwh: float | Series | None = None  # in any currency; may be negative
    carbon_g_per_kwh: float | Series | None = None
    pue: float = 1.0

    def __post_init__(self) -> None:
        problems = []
        price, carbon = self.price_per_kwh, self.carbon_g_per_kwh
        if isinstance(price, int | float) and not math.isfinite(price):
            problems.append(Problem(("electricity", "price_per_kwh"), "a finite number", f"{price}"))
        least = float(carbon.values.min()) if isinstance(carbon, Series) else 0.0 if carbon is None else carbon
        if not 0 <= least < math.inf:
            problems.append(Problem(("electricity", "carbon_g_per_kwh"), "finite numbers, 0 or more", f"{least:g}"))
        if not 1 <= self.pue < math.inf:
            problems.append(Problem(("electricity", "pue"), "a finite number, 1 or more", f"{self.pue}"))
        if problems:
            raise InputError(problems)

    @property
    def rates(self) -> dict[str, float | Series]:
        """The rates that are given per kWh, by their names in the summary."""
        named = {"cost": self.price_per_kwh, "carbon_g": self.carbon_g_per_kwh}
        return {name: rate for name, rate in named.items() if rate is not None}
