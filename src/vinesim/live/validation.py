"""Compare a live run with what the simulator says about the same requests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.live.record import Recorded
from vinesim.result import Result

REPLICATIONS = 20  # the measured number lies between their least and largest in 19 of 21 cases, if it is one of them
ORDER = "order of starts, rank correlation"


@dataclass(frozen=True)
class Line:
    """One number, measured and simulated."""

    what: str
    unit: str  # us, %, or nothing
    measured: float
    simulated: float  # mean of replications, in which each dispatch is drawn from those that were measured
    low: float  # the least of the replications
    high: float  # their largest
    in_full: float  # simulated with what each grant took in all, dispatch included


def validate(recorded: Recorded, n: int = REPLICATIONS, **engine: Any) -> list[Line]:
    """Simulate a live run, and return its numbers next to the simulated ones: of ``n`` simulations with drawn
    dispatches, and of one with the time that each dispatch took."""
    ours = _numbers(recorded.result, recorded.result)
    drawn = [_numbers(simulate(recorded.drawn(i), **engine), recorded.result) for i in range(n)]
    in_full = _numbers(recorded.repeated(**engine), recorded.result)
    lines = []
    for what, (value, unit) in ours.items():
        values = np.array([one[what][0] for one in drawn])
        least, mean, most = float(values.min()), float(values.mean()), float(values.max())
        lines.append(Line(what, unit, value, mean, least, most, in_full[what][0]))
    return lines


def _numbers(result: Result, measured: Result) -> dict[str, tuple[float, str]]:
    """What is compared of a result, with its unit."""
    summary = result.summary
    latency = summary["jobs"]["latency_us"]
    found = {f"response, {name}": (float(latency[name]), "us") for name in ("mean", "p50", "p99", "max")}
    missed = summary.get("deadlines", {}).get("missed_pct")
    found["deadlines missed"] = (float("nan") if missed is None else float(missed), "%")
    for kind, value in summary["utilization"]["by_type"].items():
        found[f"utilisation, {kind}"] = (100.0 * float(value), "%")
    has_run = np.isfinite(result.tasks["init_us"])
    starts = len(np.unique(np.stack([result.tasks["unit"], result.tasks["init_us"]])[:, has_run], axis=1).T)
    found["requests per start"] = (has_run.sum() / starts, "")
    if result.outcome.dropped_us is not None:
        found["requests dropped"] = (100.0 * float(np.isfinite(result.outcome.dropped_us).mean()), "%")
    if "withdrawn" in summary["jobs"]:
        found["requests cancelled"] = (100.0 * summary["jobs"]["withdrawn"] / len(has_run), "%")
    found[ORDER] = (_same_order(measured, result), "")
    return found


def _same_order(ours: Result, theirs: Result) -> float:
    """Return Spearman's correlation of the orders in which requests start that start in both."""
    init_us = np.stack([one.tasks["init_us"] for one in (ours, theirs)])
    ranks = np.argsort(np.argsort(init_us[:, np.isfinite(init_us).all(axis=0)], axis=1, kind="stable"), axis=1)
    return float(np.asarray(np.corrcoef(ranks))[0, 1]) if ranks.shape[1] > 1 else 1.0
