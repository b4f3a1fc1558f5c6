"""The units in which a figure shows numbers: the user's, or the largest in which the largest value is at least 1."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vinesim.formats.source.clock import Clock
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem
from vinesim.model.titles import Title

SAME: Mapping[str, float] = {}
UNITS: Mapping[str, Mapping[str, float]] = {  # of a quantity's own unit: the units to show it in, and their size in it
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6, "d": 86400e6},
    "J": {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9},
    "kWh": {"Wh": 1e-3, "kWh": 1.0, "MWh": 1e3},
    "share": {"share": 1.0, "%": 0.01},
    "g": {"g": 1.0, "kg": 1e3, "t": 1e6},
    "bytes": {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
}
ON_REQUEST = {"Wh", "kWh", "MWh", "share"}  # of J, and of shares: not chosen by themselves


@dataclass(frozen=True)
class Display:
    """How an axis shows its numbers: its label, and the size of its unit."""

    label: str
    size: float = 1.0
    offset: float = 0.0  # where 0 is: of dates, days since 1970
    has_dates: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        """Return the values in the axis's unit."""
        return np.asarray(values, np.float64) / self.size + self.offset


def times_of_runs(
    clock: Clock, since_us: float, until_us: float, unit: str | None, where: str, label: str | None = None
) -> Display:
    """Return how an axis shows a part of a run: as dates, if they are known and no unit is wanted."""
    if clock.start_s is None or unit is not None:
        return displayed(Title("time", "us"), [until_us - since_us], unit, where, label)
    day_us = UNITS["us"]["d"]
    words = f"from {clock.at(since_us)} on" if label is None else label
    return Display(words, day_us, clock.start_s * 1e6 / day_us, has_dates=True)


def displayed(title: Title, values: Iterable[float], unit: str | None, where: str, label: str | None = None) -> Display:
    """Return how an axis shows these values, in their ``unit`` if it is given, under their title or the ``label``.

    Raises :class:`InputError` for a unit that the numbers cannot have; ``where`` is the option's name.
    """
    known = UNITS.get(title.unit, {title.unit: 1.0} if title.unit else {})
    if unit is not None and unit not in known:
        expected = f"a unit of {title.words}: {', '.join(known)}" if known else f"no unit: {title.words} has none"
        raise InputError([Problem(where, expected, repr(unit), did_you_mean(unit, known))])
    chosen = unit if unit is not None else _fitting(title.unit, known, values)
    text = title.words if not chosen or chosen == "share" else f"{title.words}, {chosen}"
    return Display(text if label is None else label, known.get(chosen, 1.0))


def _fitting(own: str, known: Mapping[str, float], values: Iterable[float]) -> str:
    if own == "share":
        return "%"
    array = np.abs(np.array(list(values), np.float64))
    largest = float(array[np.isfinite(array)].max(initial=0.0))
    usual = {name: size for name, size in known.items() if own == "kWh" or name not in ON_REQUEST}
    return max((name for name, size in usual.items() if size <= largest), key=usual.__getitem__, default=own)
