"""Energy: power x time, unit by unit, and period by period under a batch policy."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.invariants.facts import Facts
from tests.invariants.room import OVER
from tests.properties.held_plainly import Hold
from vinesim.model.electricity import Series

PARTS = ("active", "idle", "sleep", "wake_up", "migration")
J = 1e-6  # of a W x us


def energy_is_the_integral_of_power(facts: Facts) -> Iterator[str]:
    """Each unit's energy by state is the integral of its power; batch policies on linear powers count it by period."""
    running = [p for p in facts.unit_type if facts.runs(p)]
    is_known = facts.scenario.power_w is not None or all(facts.types[p].has_own_power for p in running)
    rows = facts.folder.units
    if is_known != ("active_j" in rows[0]) or is_known != all(row["energy_j"] == row["energy_j"] for row in rows):
        yield "energy is reported without powers, or the reverse"
    if not is_known or is_counted_by_period(facts):
        return
    watt = 0.0 if facts.scenario.power_w is None else float(facts.scenario.power_w.max())
    rounding = 1e-3 * watt * facts.makespan * J  # powers of units are added up in one sum
    for unit, row in enumerate(rows):
        size = max(rounding, sum(abs(row[f"{name}_j"]) for name in PARTS))
        for part, joule in zip(PARTS, spent(facts, unit), strict=True):
            if not facts.same(row[f"{part}_j"], joule, size):
                yield f"unit {unit}: {part}_j is {row[f'{part}_j']}, not {joule}"


def is_counted_by_period(facts: Facts) -> bool:
    return facts.is_batch and all(facts.types[p].dynamic_power_w is not None for p in facts.unit_type)


def bills_are_those_of_the_energy(facts: Facts) -> Iterator[str]:
    """Each joule costs and emits what a kWh does at its time; batch policies on linear powers count it by period."""
    grid, reported = facts.scenario.electricity, facts.folder.summary.get("energy", {})
    if "kwh" not in reported or is_counted_by_period(facts):
        return
    units = range(len(facts.folder.units))
    for name, rate in (("cost", grid.price_per_kwh), ("carbon_g", grid.carbon_g_per_kwh)):
        if (name in reported) != (rate is not None):
            yield f"{name} is reported without a rate, or the reverse"
        if rate is not None and name in reported:
            parts = [joule * grid.pue / 3.6e6 for unit in units for joule in spent(facts, unit, rate)]
            if not facts.same(reported[name], math.fsum(parts), math.fsum(map(abs, parts))):
                yield f"{name} is {reported[name]}, not {math.fsum(parts)}"


def rate_at(rate: Any, time: float) -> float:
    """Return a rate per kWh at a time."""
    if not isinstance(rate, Series):
        return float(rate)
    within = (rate.start_us + time) % rate.length_us
    return float(rate.values[max(i for i, begin in enumerate(rate.begin_us) if begin <= within)])


def changes_of(rate: Any, until: float) -> set[float]:
    """Return the times at which a rate changes until ``until``."""
    if not isinstance(rate, Series):
        return set()
    rounds = range(math.ceil((rate.start_us + until) / rate.length_us) + 1)
    times = {n * rate.length_us + begin - rate.start_us for n in rounds for begin in rate.begin_us.tolist()}
    return {time for time in times if 0.0 < time < until}


def spent(facts: Facts, unit: int, rate: Any = 1.0) -> tuple[float, ...]:
    """Return the energy of a unit by state, J, each joule times the rate at its time, computed moment by moment."""
    kind, here = facts.types[facts.unit_type[unit]], facts.holds_on[unit]
    begun = [hold for hold in here if hold.start == hold.start]
    cuts = {0.0, facts.makespan, *(t for h in here for t in (h.begin, h.start, h.end) if t == t)}
    active = idle = sleep = 0.0
    for low, high in itertools.pairwise(
        sorted(t for t in cuts | changes_of(rate, facts.makespan) if t <= facts.makespan)
    ):
        each = rate_at(rate, (low + high) / 2)
        executing = [h for h in begun if h.start <= low and h.end >= high]
        has_task = any(h.begin <= low and h.end >= high for h in here)
        if executing and facts.draws_power(unit):
            active += power(facts, unit, executing) * (high - low) * J * each
        elif has_task or kind.sleep_power_w is None:
            idle += kind.idle_power_w * (high - low) * J * each
        else:
            sleep += kind.sleep_power_w * (high - low) * J * each
    wakings = 0.0
    if kind.sleep_power_w is not None:
        asleep_since = -math.inf  # the first task wakes it
        for hold in sorted((h for h in here if not is_behind(facts, h)), key=lambda h: (h.begin, h.end)):
            wakings += (hold.begin > asleep_since) * rate_at(rate, hold.begin)
            asleep_since = max(asleep_since, hold.end)
    accounting = facts.scenario.accounting
    moves = math.fsum(rate_at(rate, hold.end) for hold in here if hold.outcome == "moved")
    return active, idle, sleep, accounting.wake_up_j * wakings, accounting.migration_j * moves


def is_behind(facts: Facts, hold: Hold) -> bool:
    """Whether the task was consolidated behind another one."""
    return hold.amount == 0.0 < facts.takes(hold.task, hold.unit)


def power(facts: Facts, unit: int, executing: list[Hold]) -> float:
    """Return the power of a unit on which tasks execute, W."""
    kind, amount = facts.types[facts.unit_type[unit]], sum(hold.amount for hold in executing)
    if kind.dynamic_power_w is not None:
        return kind.idle_power_w + kind.dynamic_power_w * amount
    if kind.power_curve_w is not None:
        return float(np.interp(amount / facts.capacity(unit), [i / 10 for i in range(11)], kind.power_curve_w))
    table = facts.scenario.power_w[facts.unit_type[unit]]
    return sum(float(table[facts.kind[hold.task]]) * hold.amount / facts.capacity(unit) for hold in executing)


def energy_adds_up(facts: Facts) -> Iterator[str]:
    """The energies of states add up to the unit's, those of units to the type's and the run's, and so do periods'."""
    summary, rows = facts.folder.summary, facts.folder.units
    if "active_j" not in rows[0]:
        return
    total = math.fsum(row["energy_j"] for row in rows)
    for unit, row in enumerate(rows):
        if not facts.same(row["energy_j"], math.fsum(row[f"{part}_j"] for part in PARTS)):
            yield f"unit {unit}: energy_j is not the sum of its parts"
    if not facts.same(summary["energy_j"], total):
        yield f"energy_j is {summary['energy_j']}, not {total}"
    reported = summary["energy"]
    for name, units in facts.folder.groups().items():
        expected = math.fsum(rows[unit]["energy_j"] for unit in units)
        if name != "all" and not facts.same(reported["by_type"][name], expected):
            yield f"by_type.{name} is {reported['by_type'][name]}, not {expected}"
    for part in PARTS:
        expected = math.fsum(row[f"{part}_j"] for row in rows)
        if not facts.same(reported["by_state"][part], expected, total):
            yield f"by_state.{part} is {reported['by_state'][part]}, not {expected}"
    if is_counted_by_period(facts):
        expected = math.fsum(row["energy_j"] for row in facts.folder.periods)
        if not facts.same(total, expected):
            yield f"the units use {total} J, the periods {expected}"


def periods_are_those_of_the_run(facts: Facts) -> Iterator[str]:
    """Each period has the right units with tasks, energy by its accounting, and over-commitment."""
    rows = facts.folder.periods
    if (rows is None) == facts.is_batch:
        yield "there are periods without a batch policy, or the reverse"
    if rows is None:
        return
    length, number = facts.scenario.period_us, 0
    for row in rows:
        if row["period"] != number:
            yield f"period {row['period']} comes after period {number - 1}"
        number = row["period"] + row["n_periods"]
        begin = row["period"] * length
        there = [h for h in facts.folder.holds if h.begin <= begin and (begin < h.end or h.outcome == "unfinished")]
        active = {hold.unit for hold in there}
        if row["active"] != len(active):
            yield f"period {row['period']}: {row['active']} units are active, not {len(active)}"
        moved = sum(hold.outcome == "moved" and hold.end == begin for hold in facts.folder.holds)
        at_once = facts.work.placed if facts.work.placed is not None else np.full(len(facts.job), -1)
        placed = sum(one["init_us"] == begin and at_once[one["task"]] < 0 for one in facts.folder.tasks)
        if (row["placed"], row["moved"]) != (placed, moved):
            reported = f"{row['placed']} tasks placed and {row['moved']} moved"
            yield f"period {row['period']}: {reported}, not {placed} and {moved}"
        load = [math.fsum(h.amount for h in there if h.unit == unit) for unit in range(facts.n_units)]
        if all(load[unit] <= facts.capacity(unit) * (2 - OVER) for unit in active) and row["slav"] != 0.0:
            yield f"period {row['period']}: slav is {row['slav']} though no unit is over its capacity"
        if any(load[unit] > facts.capacity(unit) * OVER for unit in active) and not row["slav"] > 0.0:
            yield f"period {row['period']}: slav is {row['slav']} though a unit is over its capacity"
        if not is_counted_by_period(facts) or not is_plain(facts, there):
            continue
        expected = row["n_periods"] * period_energy(facts, there, begin, length)
        extra = row["energy_j"] - expected  # for wake-ups and moves
        accounting = facts.scenario.accounting
        size = max(abs(expected), abs(row["energy_j"]))
        if extra < -1e-9 * size or (extra > 1e-9 * size and not (accounting.wake_up_j or accounting.migration_j)):
            yield f"period {row['period']}: energy_j is {row['energy_j']}, not {expected}"


def is_plain(facts: Facts, there: list[Hold]) -> bool:
    """Whether the tables show when the tasks of a period end."""
    return all(
        facts.folder.tasks[hold.task]["finish_us"] == facts.folder.tasks[hold.task]["finish_us"]
        and not facts.shares_speed(hold.unit)
        for hold in there
    )


def period_energy(facts: Facts, there: list[Hold], begin: float, length: float) -> float:
    """Return the energy of one period, J, without wake-ups and moves."""
    reading, total = facts.scenario.accounting.energy, 0.0
    for unit in range(facts.n_units):
        kind = facts.types[facts.unit_type[unit]]
        mine = [hold for hold in there if hold.unit == unit]
        left = [facts.folder.tasks[hold.task]["finish_us"] - begin for hold in mine]
        if not mine:
            watt = kind.idle_power_w if kind.sleep_power_w is None else kind.sleep_power_w
            total += watt * length * J
        elif reading == "eq1xT":
            total += (kind.idle_power_w + kind.dynamic_power_w * sum(h.amount for h in mine)) * length * J
        elif reading == "eq2":
            total += sum(
                kind.idle_power_w * h.amount + kind.dynamic_power_w * h.amount * t * J
                for h, t in zip(mine, left, strict=True)
            )
        else:
            work = sum(h.amount * min(t, length) for h, t in zip(mine, left, strict=True))
            total += (kind.idle_power_w * length + kind.dynamic_power_w * work) * J
    return total
