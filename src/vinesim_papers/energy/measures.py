"""The measurements of the claims about the energy thesis: savings over round robin, and demand beyond capacity."""

from collections.abc import Iterable, Mapping
from typing import Any

from vinesim.reproduction.criteria import Between, Parts
from vinesim.reproduction.data import Data

RR, BF, DCBF = "RR", "BF", "DCBF"
BLOCKS = ("ABF32", "ABF64", "ABF128", "ABF256", "ABF512")
SAVING = (*BLOCKS, BF, DCBF)  # in the order of the thesis' tables
BY_ENERGY = (RR, *BLOCKS, DCBF, BF)  # from most to least energy
ENERGY, SLAV = "periods.energy_j", "periods.slav"


def saved(data: Data, study: str, schedulers: Iterable[str] = SAVING, **where: Any) -> dict[str, float]:
    """By how many percent each scheduler's energy is below round robin's."""
    most = data.mean(study, ENERGY, scheduler=RR, **where)
    return {name: 100 * (1 - data.mean(study, ENERGY, scheduler=name, **where) / most) for name in schedulers}


def each(data: Data, study: str, number: str, schedulers: Iterable[str], **where: Any) -> dict[str, float]:
    """Return a number for each scheduler, by name."""
    return {name: data.mean(study, number, scheduler=name, **where) for name in schedulers}


def begins(data: Data, study: str, schedulers: Iterable[str] = SAVING) -> dict[str, float]:
    """Return the longest batch period, s, at which a scheduler loads servers beyond their capacity; 0 if none."""
    periods = [float(s) for s in data.labels(study, "period_s")]
    return {
        name: max((s for s in periods if data.mean(study, SLAV, scheduler=name, period_s=s) > 0), default=0.0)
        for name in schedulers
    }


def by_period(data: Data, study: str, scheduler: str) -> dict[str, float]:
    """Return the over-commitment of a scheduler at each batch period."""
    periods = data.labels(study, "period_s")
    return {f"{s:g} s": data.mean(study, SLAV, scheduler=scheduler, period_s=s) for s in periods}


def order(data: Data, study: str, **where: Any) -> str:
    """Return the schedulers from most to least energy."""
    energy = each(data, study, ENERGY, BY_ENERGY, **where)
    return " > ".join(sorted(energy, key=energy.__getitem__, reverse=True))


def points(expected: Mapping[str, float] | Iterable[float], tolerance: float) -> Parts:
    """Require each part to be within ``tolerance`` of its expected value."""
    values = expected.values() if isinstance(expected, Mapping) else expected
    return Parts(*(Between(value - tolerance, value + tolerance) for value in values))


def printed(values: Iterable[float], digits: int = 4) -> str:
    """Write numbers of the thesis as a claim shows them."""
    return ", ".join(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}" for value in values)
