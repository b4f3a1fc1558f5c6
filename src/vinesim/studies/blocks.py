"""Blocks of runs that differ only in their arrival times and seed. The engine runs a block in one call."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.formats.scenario.arrivals import arrivals_of
from vinesim.formats.scenario.datacenter import data_nodes
from vinesim.formats.scenario.workload_parts import ArrivalsPart
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.files import is_table
from vinesim.formats.source.yaml_source import steps_of
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.model.study import Study
from vinesim.studies.run import Run
from vinesim.studies.scenarios import scenario_of
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.registry import generator
from vinesim.workloads.select_jobs import POINTS

MAX_TIMES = 4_000_000  # arrival times per block: 32 MB


@dataclass(frozen=True, eq=False)
class Block:
    """K runs of one scenario. Run k is ``scenario`` with the arrivals ``arrival_us[k]`` and the seed ``seeds[k]``."""

    runs: tuple[Run, ...]
    scenario: Scenario  # of the first run
    arrival_us: np.ndarray | None  # [K, J] float64; None: one run, with the scenario's own
    seeds: np.ndarray  # [K] int64


def blocks(study: Study, runs: Iterable[Run]) -> Iterator[Block]:
    """Divide the runs into blocks.

    Runs share a block if they differ only in arrivals and seed, and if neither affects the rest of the workload. A
    block keeps the order of its runs; the runs of different blocks may interleave. Raises :class:`InputError`, with the
    point, if a scenario is wrong.
    """
    rest = _Rest()
    alike: dict[str, list[Run]] = {}
    for run in runs:
        alike.setdefault(rest(run), []).append(run)
    for group in alike.values():
        yield from _blocks_of(study, group)


class _Rest:
    """What a run sets besides arrivals, as text. It is computed once per point."""

    def __init__(self) -> None:
        self._settings: Mapping[str, Any] | None = None
        self._text = ""

    def __call__(self, run: Run) -> str:
        if run.settings is not self._settings:
            rest = [(key, value) for key, value in run.settings.items() if not _is_of_arrivals(key)]
            self._text = json.dumps(rest, default=lambda value: f"object {id(value)}")
            self._settings = run.settings
        return self._text


def _is_of_arrivals(key: str) -> bool:
    return (steps_of(key) or (key,))[0] == "arrivals"


def _blocks_of(study: Study, runs: list[Run]) -> Iterator[Block]:
    """Divide runs into blocks that differ at most in their arrivals and seeds into blocks of bounded size."""
    scenario = scenario_of(study, runs[0])
    by_arrivals, by_seeds = _what_fits(study, runs[0], scenario) if len(runs) > 1 else (False, False)
    groups: dict[int, list[Run]] = {}
    for i, run in enumerate(runs):
        groups.setdefault((0 if by_seeds else run.seed) if by_arrivals else i, []).append(run)
    most = max(1, MAX_TIMES // scenario.workload.n_jobs)
    for group in groups.values():
        for start in range(0, len(group), most):
            piece = group[start : start + most]
            yield _block(study, piece, scenario if piece[0] is runs[0] else scenario_of(study, piece[0]))


def _what_fits(study: Study, run: Run, scenario: Scenario) -> tuple[bool, bool]:
    """Whether the rest of the workload is independent of the arrivals, and whether it is independent of the seed."""
    part = scenario_source(study).changed(run.settings).data["workload"]
    moves_more = any(getattr(scenario.workload, name) is not None for name in POINTS)
    draws_estimates = bool(part.get("estimate_error"))
    if part.get("resample") or part.get("repeat"):
        return False, False  # the seed decides which jobs there are
    if part.get("generator") is None:
        return not (moves_more or _has_periods(study, part)), not draws_estimates
    spec, nodes = generator(part["generator"], study.folder), data_nodes(scenario.datacenter)
    apart = spec.arrivals_apart and not moves_more
    is_same = not draws_estimates and not spec.depends_on_seed(part.get("options") or {}, nodes)
    return apart, apart and is_same


def _has_periods(study: Study, part: Mapping[str, Any]) -> bool:
    """Whether the workload is a table with periods: its arrivals are not a sequence of independent intervals."""
    from vinesim.formats.scenario.workload_table import has_periods  # importing DuckDB takes 0.1 s

    return is_table(part["file"]) and has_periods(study.folder / part["file"], part.get("columns"))


def _block(study: Study, runs: list[Run], scenario: Scenario) -> Block:
    seeds = np.array([run.seed for run in runs], np.int64)
    times = None
    if len(runs) > 1:
        times = np.empty((len(runs), scenario.workload.n_jobs))
        times[0] = scenario.workload.arrival_us
        arrivals, of = None, None
        load = scenario_source(study).changed(runs[0].settings).data["workload"].get("load") or 1.0
        for k, run in enumerate(runs[1:], 1):
            if run.settings is not of:
                arrivals, of = _arrivals(study, run), run.settings
            times[k] = _arrival_us(study, run, scenario, arrivals, load)
    return Block(tuple(runs), scenario, times, seeds)


def _arrivals(study: Study, run: Run) -> Arrivals | None:
    """Return the arrivals that a run sets; None if the workload has its own, or if the setting is wrong."""
    source = scenario_source(study).changed(run.settings)
    try:
        part = checked_part(source, ("arrivals",), ArrivalsPart, source.data.get("arrivals"))
        arrivals = None if part is None else arrivals_of(source, part, study.folder)
        source.raise_if_any()
    except InputError:
        return None
    return arrivals


def _arrival_us(study: Study, run: Run, scenario: Scenario, arrivals: Arrivals | None, load: float) -> np.ndarray:
    """Return [J] when the jobs of a run arrive at this load, us. Raises :class:`InputError`."""
    times = None
    if arrivals is not None:
        with suppress(InputError):
            times = arrivals.draw(scenario.workload.n_jobs, stream(run.seed, "arrivals")) / load
    if times is None or not (np.isfinite(times).all() and (times[1:] >= times[:-1]).all() and times[0] >= 0):
        return scenario_of(study, run).workload.arrival_us  # its own times, or a more detailed error
    return times
