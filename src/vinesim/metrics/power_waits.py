"""Find when power caps left too little power for a waiting job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.metrics.places import TaskDemand
from vinesim.metrics.shortages import IDLE, Span, overlaid
from vinesim.model.power_caps import MW_PER_W, UNCAPPED
from vinesim.state.demand import amount_of
from vinesim.state.power import draw_of, level_of

POWER = "power"  # as the state of a part of a wait


@dataclass(frozen=True)
class PowerWait:
    """An interval in which a power cap left too little for the waiting job."""

    whose: str  # "rack 3", or "the datacenter"
    rack: int | None  # None: the datacenter
    begin_us: float
    end_us: float
    drawn_w: tuple[float, float]  # the least and the most drawn in the interval
    cap_w: float
    needed_w: float  # the least by which the waiting task would raise the power, without its companions


def power_waits(
    record: ExplainRecord,
    demands: TaskDemand,
    task_type: int,
    kinds: np.ndarray,
    units: dict[str, np.ndarray],
    is_allowed: np.ndarray,
    rows: Iterable[Sequence[float]],
    since_us: float,
    until_us: float,
) -> list[PowerWait]:
    """Return the intervals in which caps left too little power wherever the task can run, in order of time.

    Args:
        record: The explain record of the run.
        demands: What the task demands.
        task_type: The code of its task type.
        kinds: [N] the task type of each task.
        units: The columns of the table of units.
        is_allowed: [U] the units that the job's partition and node lists allow.
        rows: Task, job, unit, start, end and amount of everything held during the wait.
        since_us: When the wait began.
        until_us: When the wait ended.
    """
    if record.power_caps is None:
        return []
    powers = SimpleNamespace(**record.power_caps, unit_type=units["unit_type"], unit_capacity=units["capacity"])
    rack, last = units["rack"], len(powers.cap_mw) - 1
    able = [u for u in range(len(rack)) if is_allowed[u] and demands.may_run_on(record, units["unit_type"][u])]
    changes = []  # time, whether a task takes the unit (or leaves it), unit, level
    for task, _, unit, begin_us, end_us, amount in rows:
        if amount > 0 and end_us > begin_us:
            more = int(level_of(powers, kinds[int(task)], int(unit), amount))
            changes += [(begin_us, True, int(unit), more), (end_us, False, int(unit), -more)]
    changes.sort(key=lambda change: (change[0], change[1]))
    n, level = [0] * len(rack), [0] * len(rack)
    drawn = [int(draw_of(powers, unit, False, 0)) for unit in range(len(rack))]
    pools = np.append(np.bincount(rack, drawn, minlength=last), sum(drawn)).astype(np.int64)
    found: list[PowerWait] = []
    time_us = since_us
    for at_us, is_begin, unit, more in [*changes, (until_us, False, -1, 0)]:
        if min(at_us, until_us) > time_us:
            needed = _needed(powers, demands, task_type, able, n, level, drawn)
            _note(found, record, powers, pools, needed, rack, time_us, min(at_us, until_us))
            time_us = min(at_us, until_us)
        if unit >= 0:
            n[unit], level[unit] = n[unit] + (1 if is_begin else -1), level[unit] + more
            now = int(draw_of(powers, unit, n[unit] > 0, level[unit]))
            pools[[rack[unit], last]] += now - drawn[unit]
            drawn[unit] = now
    return sorted(found, key=lambda wait: wait.begin_us)


def _needed(powers: SimpleNamespace, demands: TaskDemand, task_type: int, able: list[int], n: list[int],
            level: list[int], drawn: list[int]) -> dict[int, int]:  # fmt: skip
    """Return by how much the task would raise the power of each unit that can run it, mW."""
    found = {}
    for unit in able:
        amount = amount_of(demands.demand, float(powers.unit_capacity[unit]))
        more = int(level_of(powers, task_type, unit, amount))
        found[unit] = demands.n_units * (int(draw_of(powers, unit, True, level[unit] + more)) - drawn[unit])
    return found


def _note(found: list[PowerWait], record: ExplainRecord, powers: SimpleNamespace, pools: np.ndarray,
          needed: dict[int, int], rack: np.ndarray, begin_us: float, end_us: float) -> None:  # fmt: skip
    """Record the caps that leave too little power in an interval."""
    last = len(pools) - 1
    for pool in np.flatnonzero(powers.cap_mw < UNCAPPED).tolist():
        here = [more for unit, more in needed.items() if pool in (last, rack[unit])]
        if here and pools[pool] + min(here) > powers.cap_mw[pool]:
            whose = "the datacenter" if pool == last else f"rack {pool}"
            now, cap, more = (float(mw) / MW_PER_W for mw in (pools[pool], powers.cap_mw[pool], min(here)))
            one = PowerWait(whose, None if pool == last else pool, begin_us, end_us, (now, now), cap, more)
            before = next((wait for wait in reversed(found) if wait.whose == whose), one)
            if before.end_us == begin_us and before.needed_w == more:
                found.remove(before)
                drawn = min(before.drawn_w[0], now), max(before.drawn_w[1], now)
                one = replace(before, end_us=end_us, drawn_w=drawn)
            found.append(one)


def with_power(spans: Sequence[Span], waits: Sequence[PowerWait], racks: Sequence[int]) -> list[Span]:
    """Split a wait further: the state is POWER while a unit was free but no rack of the job had power for it."""
    times = sorted({time for wait in waits for time in (wait.begin_us, wait.end_us)})
    short = []
    for begin_us, end_us in pairwise(times):
        here = {wait.rack for wait in waits if wait.begin_us <= begin_us and wait.end_us >= end_us}
        if None in here or here.issuperset(racks):
            short.append(Span(begin_us, end_us, POWER))
    return overlaid(spans, short, over=IDLE)
