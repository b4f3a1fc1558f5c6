"""Rebuild an engine's outcome from the tables of a result, so that numbers can be computed from it again."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import ResultTables
from vinesim.model.energy_parts import EnergyParts
from vinesim.model.power_caps import pool_words
from vinesim.model.result import (
    CUT,
    FINISHED,
    KILLED,
    OUTCOMES,
    WITHDRAWN,
    EarlyEnds,
    ExitReason,
    Held,
    Outcome,
    Serving,
)
from vinesim.model.scenario import Scenario

_EARLY = ("early_ends", "outages")  # parts of a summary that exist only if segments may end early
_SEGMENTS = "SELECT * FROM segments ORDER BY end_us, task, segment"


def read_outcome(result: ResultTables, scenario: Scenario) -> Outcome:
    """Return the outcome of a stored run of a scenario.

    Results do not store the work left at the end of a segment (NaN here) or the drawn failures, because no number needs
    them.
    """
    tasks, units = (
        result.columns("SELECT * FROM tasks ORDER BY task"),
        result.columns("SELECT * FROM units ORDER BY unit"),
    )
    periods = result.columns("SELECT * FROM periods ORDER BY period") if "periods" in result.names else None
    segments = result.columns(_SEGMENTS) if "segments" in result.names else None
    summary, center, demand = result.summary, scenario.datacenter, scenario.workload.demand
    takes_none = np.zeros(len(tasks["task"]), bool) if demand is None else demand == 0
    early, held, early_held = None, None, None
    if segments is not None:
        early, held, early_held = _of_segments(segments, takes_none)
    elif any(name in summary for name in _EARLY):
        early = EarlyEnds.of()
    shares = "amount" in tasks
    followers = np.flatnonzero((tasks["amount"] == 0) & ~takes_none) if shares else np.empty(0, np.int64)
    return Outcome(
        task_unit=tasks["unit"],
        task_init_us=tasks["init_us"],
        task_start_us=tasks["start_us"],
        task_finish_us=tasks["finish_us"],
        unit_order=np.lexsort((center.shelf, center.rack)),
        shares_units=shares,
        exit_reason=ExitReason(summary["exit_reason"]),
        reason=summary["provenance"].get("reason", ""),
        end_us=float(summary["makespan_us"]),
        n_events=summary["provenance"].get("events", 0),
        followers=followers,
        early=early,
        preempts="preemption" in summary["provenance"],
        periods=None if periods is None else Table(periods),
        unit_energy=None if periods is None or np.isnan(periods["energy_j"]).any() else _energy(units),
        proven=_proven(summary.get("bound")),
        held=held,
        early_held=early_held,
        eligible_us=_eligible_us(result) if scenario.workload.after is not None else None,
        granted_us=tasks.get("granted_us"),
        peaks_w=_peaks_w(scenario, summary["power_caps"]) if "power_caps" in summary else None,
        serving=_serving(tasks, units) if "first_token_us" in tasks else None,
        dropped_us=tasks.get("dropped_us"),
    )


def _serving(tasks: dict[str, np.ndarray], units: dict[str, np.ndarray]) -> Serving:
    columns = tasks | units
    return Serving(*(columns[name] for name in Serving._fields))


def _eligible_us(result: ResultTables) -> np.ndarray:
    return result.columns("SELECT eligible_us FROM jobs ORDER BY job")["eligible_us"]


def _peaks_w(scenario: Scenario, found: dict[str, Any]) -> np.ndarray:
    """Return [R + 1] the peak power of each rack with a cap, and of the datacenter if it has one, W; NaN for others."""
    center = scenario.datacenter
    pools = range(center.n_racks + 1)
    return np.array([found.get(pool_words(center, pool), {}).get("peak_w", math.nan) for pool in pools])


def _of_segments(rows: dict[str, np.ndarray], takes_none: np.ndarray) -> tuple[EarlyEnds, Held | None, Held | None]:
    """Return the segments that ended early, and the further units of tasks, in their last segments and in earlier ones.

    ``takes_none`` [N]: tasks that take nothing of their unit, such as followers.
    """
    why = np.array([OUTCOMES.index(name) for name in rows["outcome"]], np.int8)
    is_early, is_over = ~np.isin(why, (FINISHED, CUT)), np.isin(why, (FINISHED, CUT, KILLED, WITHDRAWN))
    is_first = rows["part"] == 0 if "part" in rows else np.ones(len(why), bool)
    first = np.flatnonzero(is_early & is_first)
    early = EarlyEnds(
        rows["task"][first],
        rows["unit"][first],
        rows["begin_us"][first],
        rows["start_us"][first],
        rows["end_us"][first],
        np.full(len(first), math.nan),
        why[first],
        (rows["amount"][first] == 0) & ~takes_none[rows["task"][first]],
    )
    if is_first.all():
        return early, None, None
    number = {key: k for k, key in enumerate(_keys(rows, first))}
    last, earlier = np.flatnonzero(~is_first & is_over), np.flatnonzero(~is_first & ~is_over)
    row = np.array([number[key] for key in _keys(rows, earlier)], np.int64)
    return (
        early,
        Held(rows["task"][last], rows["unit"][last], rows["amount"][last]),
        Held(row, rows["unit"][earlier], rows["amount"][earlier]),
    )


def _keys(rows: dict[str, np.ndarray], at: np.ndarray) -> Iterable[tuple[int, int]]:
    return zip(rows["task"][at].tolist(), rows["segment"][at].tolist(), strict=True)


def _energy(units: dict[str, np.ndarray]) -> EnergyParts | None:
    if "active_j" not in units:
        return None
    return EnergyParts(*(units[f"{state}_j"] for state in EnergyParts._fields))


def _proven(bound: dict[str, Any] | None) -> dict[str, Any] | None:
    if bound is None:
        return None
    bound_us = math.nan if bound["bound_us"] is None else bound["bound_us"]
    return {"objective": bound["objective"], "bound_us": bound_us, "status": bound["status"]}
