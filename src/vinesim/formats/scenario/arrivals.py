"""Build the arrival process that a scenario's section ``arrivals`` describes."""

from pathlib import Path
from typing import Any

from vinesim.formats.importers.counts import read_counts
from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.scenario.distribution_parts import adopt_at
from vinesim.formats.scenario.names import read
from vinesim.formats.scenario.workload_parts import ARRIVALS, ArrivalsPart, SeriesPart
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import InputError, Steps
from vinesim.workloads.arrivals import BY_CV, Arrivals
from vinesim.workloads.modulation import Cycle, States, cycle_of, cycle_of_counts


def arrivals_of(source: YamlSource, part: ArrivalsPart, folder: Path, path: Steps = ("arrivals",)) -> Arrivals | None:
    """Return the arrival process; None if it is invalid, with its problems added at ``path``."""
    kind = next(name for name in ARRIVALS if getattr(part, name) is not None)
    given: Any = getattr(part, kind)
    if kind == "times":
        return Arrivals("list", times_us=given)
    if kind == "file":
        times = read(source, (*path, "file"), folder / given, read_arrivals)
        return None if times is None else Arrivals("list", times_us=times)
    try:
        if isinstance(given, SeriesPart):
            return _of_series(source, given, folder, (*path, kind))
        more: dict[str, Any] = {"cycle": _cycle(source, part, path)}
        if kind in ("iat", "poisson"):
            return Arrivals(*(("constant", given) if kind == "iat" else ("poisson", given.mean)), **more)
        if kind in BY_CV:
            return Arrivals(kind, given.mean, cv=given.cv, **more)
        if kind == "on_off":
            return Arrivals("poisson", given.mean, states=States((1.0, 0.0), (given.on, given.off)), **more)
        return Arrivals("poisson", given.mean, states=States(tuple(given.rates), tuple(given.stay)), **more)
    except InputError as error:
        adopt_at(source, (*path, kind), error)
        return None


def _cycle(source: YamlSource, part: ArrivalsPart, path: Steps) -> Cycle | None:
    for name in ("daily", "weekly"):
        if (rates := getattr(part, name)) is not None and not any(rates):
            source.add((*path, name), "rates of 0 or more, not all 0", "only 0")
            return None
    if part.daily is None and part.weekly is None:
        return None
    return cycle_of(part.daily or (), part.weekly or (), part.start or 0.0)


def _of_series(source: YamlSource, part: SeriesPart, folder: Path, path: Steps) -> Arrivals | None:
    found = read(source, (*path, "file"), folder / part.file, read_counts)
    if found is None:
        return None
    cycle = cycle_of_counts(*found)
    mean_us = 1.0 / (cycle.mean_rate * part.scale)
    return (
        Arrivals("poisson", mean_us, cycle=cycle)
        if part.cv == 1.0
        else Arrivals("gamma", mean_us, cv=part.cv, cycle=cycle)
    )
