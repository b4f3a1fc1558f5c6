"""Energy of a run: power x time, unit by unit.

While a task executes, its unit draws Fp[processor type, task type] for the task's share (demand / capacity) of the
unit; at all other times, transfers included, its idle power. Consolidated tasks draw it once.
Source: VineSim report, section 4.4 (the power mapping Fp).

Types with a dynamic power follow the linear model instead: a unit draws its idle power, plus its dynamic power for each
unit of demand that executes. Source: energy-aware scheduler thesis, equation 1. Types with a power curve draw the power
at their utilisation, which is the sum of the executing demands / capacity. Source: SPECpower_ssj2008.

All units that a task holds execute with it, each by the model of its type. A type that runs nothing, such as memory,
draws its idle power throughout, unless it has its own power.

A unit of a type with a sleep power sleeps at the beginning, and from when its last task leaves until it is given the
next one. Each wake-up costs the accounting's energy, and so does each move of a running task, charged to the unit that
it leaves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vinesim.metrics.segments import Segments, Stretches, numbered
from vinesim.metrics.utilization import merged, per_unit
from vinesim.model.arrays import distinct
from vinesim.model.catalog import CURVE_SHARES, ProcessorType
from vinesim.model.electricity import Series
from vinesim.model.energy_parts import EnergyParts
from vinesim.model.result import MOVED
from vinesim.model.scenario import Scenario

JOULE_PER_W_US = 1e-6


def energy_by_unit(
    scenario: Scenario,
    segments: Segments,
    unit_type: np.ndarray,
    task_type: np.ndarray,
    end_us: Any,
    rate: Series | None = None,
) -> EnergyParts:
    """Return [..., U] the energy of each unit, J; NaN if powers are unknown.

    ``task_type`` is [N]. A task that did not finish counts until the run's end. With ``rate``, each joule is multiplied
    by the rate at its time.
    """
    types = scenario.datacenter.processor_types
    if not powers_are_known(scenario):
        runs = segments.unit.shape[:-1]
        return EnergyParts(*np.full((len(EnergyParts._fields), *runs, segments.n_units), np.nan))
    ran, unit, kind, begin, end = _executions(segments, unit_type, ~np.isin(unit_type, _without_power(scenario)))
    column = np.broadcast_to(task_type[segments.task], ran.shape)[ran]
    level = _levels(scenario, kind, column, segments.amount[ran], segments.capacity[segments.unit[ran]])
    if segments.is_shared:
        unit, begin, end, level = _together(unit, begin, end, level)
        kind = unit_type[unit % len(unit_type)]
    power = _watts(types, kind, level)
    executing = _span(begin, end, rate)
    work = per_unit(unit, executing * power, segments) * JOULE_PER_W_US
    busy = per_unit(unit, executing, segments)
    whole = np.expand_dims(_span(np.zeros_like(end_us), end_us, rate), -1)
    idle_w = np.array([p.idle_power_w for p in types])[unit_type]
    migration = _migration(scenario, segments, rate, like=work)
    sleeps = np.array([p.sleep_power_w is not None for p in types])[unit_type]
    if not sleeps.any():
        none = np.zeros_like(work)
        return EnergyParts(work, rest_of(whole, busy, rate) * idle_w * JOULE_PER_W_US, none, none, migration)
    asleep_w = np.array([0.0 if p.sleep_power_w is None else p.sleep_power_w for p in types])[unit_type]
    awake, woken = _awake(segments, rate)
    return EnergyParts(
        active=work,
        idle=rest_of(np.where(sleeps, awake, whole), busy, rate) * idle_w * JOULE_PER_W_US,
        sleep=np.where(sleeps, rest_of(whole, awake, rate), 0.0) * asleep_w * JOULE_PER_W_US,
        wake_up=scenario.accounting.wake_up_j * np.where(sleeps, woken, 0.0),
        migration=migration,
    )


def rest_of(whole: np.ndarray, part: np.ndarray, rate: Series | None) -> np.ndarray:
    """Return ``whole - part``. Without a rate these are times, which rounding must not make negative."""
    return whole - part if rate is not None else np.maximum(0.0, whole - part)


def _migration(scenario: Scenario, segments: Segments, rate: Series | None, like: np.ndarray) -> np.ndarray:
    """Return the energy of moves, J, charged to the units that the tasks left, in the shape of ``like``."""
    moved = segments.ended_by(MOVED)
    left, at_us = segments.unit[..., moved], segments.end_us[..., moved]
    if not left.size:
        return np.zeros_like(like)
    weights = np.ones(len(left)) if rate is None else rate.at(at_us)
    return scenario.accounting.migration_j * np.bincount(left, weights, minlength=like.shape[-1])


def _without_power(scenario: Scenario) -> list[int]:
    """Return the types that run nothing and have no active power: they draw idle power whether or not they are held."""
    types, table = scenario.datacenter.processor_types, scenario.power_w
    return [p for p in scenario.resources if not types[p].has_own_power and (table is None or not table[p].any())]


def _executions(segments: Segments, unit_type: np.ndarray, has_power: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return [..., S] which segments, leaders only, executed on units whose power depends on it (``has_power`` [U]).

    For these, also return the unit as in :func:`numbered`, its type, and the start and end of execution, us.
    """
    ran = np.isfinite(segments.start_us) & has_power[segments.unit]
    ran[..., segments.followers] = False
    unit = numbered(segments.unit, segments.n_units)[ran]
    begin = segments.start_us[ran]
    return ran, unit, unit_type[segments.unit[ran]], begin, np.maximum(begin, segments.end_us[ran])


def _levels(
    scenario: Scenario, kind: np.ndarray, task_type: np.ndarray, amount: np.ndarray, capacity: np.ndarray
) -> np.ndarray:
    """Return what each executing task adds to its unit: W, or a share of the unit if its type has a power curve."""
    types = scenario.datacenter.processor_types
    share = amount / capacity
    level = share.copy() if scenario.power_w is None else scenario.power_w[kind, task_type] * share
    for code in distinct(kind):
        own, per_demand = kind == code, types[code].dynamic_power_w
        if per_demand is not None:
            level[own] = per_demand * amount[own]
        elif types[code].power_curve_w is not None:
            level[own] = share[own]
    return level


def _watts(types: Sequence[ProcessorType], kind: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the power, W, of executing units: the level itself, or its value on the type's power curve."""
    power = level.copy()
    for code in distinct(kind):
        own, curve = kind == code, types[code].power_curve_w
        if types[code].dynamic_power_w is not None:
            power[own] += types[code].idle_power_w
        elif curve is not None:
            power[own] = np.interp(level[own], CURVE_SHARES, curve)
    return power


def _awake(segments: Segments, rate: Series | None) -> tuple[np.ndarray, np.ndarray]:
    """Return [..., U] how long each unit had a task, us, and how often it woke up; both weighted by any ``rate``."""
    unit, begin, end = merged(*segments.ordered[:3])
    wakings = np.ones(len(unit)) if rate is None else rate.at(begin)
    return per_unit(unit, _span(begin, end, rate), segments), per_unit(unit, wakings, segments)


def _together(unit: np.ndarray, begin: np.ndarray, end: np.ndarray, level: np.ndarray) -> Stretches:
    """Split time where the intervals on a unit change; return the pieces and the sum of the levels in each."""
    at = np.concatenate([begin, end])
    order = np.lexsort((at, np.tile(unit, 2)))
    at, unit = at[order], np.tile(unit, 2)[order]
    total = np.cumsum(np.concatenate([level, -level])[order])
    count = np.cumsum(np.repeat([1, -1], len(begin))[order])
    lasts = np.flatnonzero((count[:-1] > 0) & (np.diff(at) > 0) & (unit[1:] == unit[:-1]))
    return unit[lasts], at[lasts], at[lasts + 1], total[lasts]


def _span(begin: Any, end: Any, rate: Series | None) -> Any:
    """Return the time from begin to end, us; with a rate, the integral of the rate over that time."""
    return end - begin if rate is None else rate.integral(end) - rate.integral(begin)


def powers_are_known(scenario: Scenario) -> bool:
    """Whether the power of every type that runs tasks is given."""
    types = scenario.datacenter.processor_types
    own = [types[code].has_own_power for code in scenario.running_types]
    return scenario.power_w is not None or all(own)
