"""Side by side: what a live run did, and what the simulator says of the same requests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.live.record import Recorded
from vinesim.model.result import Result


@dataclass(frozen=True)
class Line:
    """One number of both."""

    what: str
    unit: str  # us, %, or nothing
    measured: float
    simulated: float
    in_full: float  # simulated with what each grant took in all, dispatch included, instead of its median


def validate(recorded: Recorded, **engine: Any) -> list[Line]:
    """Simulate a live run, and return the numbers of both; once with the median of what dispatching takes, once with
    what it took each time."""
    simulated, in_full = (simulate(one, **engine) for one in (recorded.scenario, recorded.in_full))
    ours, theirs, others = (_numbers(one) for one in (recorded.result, simulated, in_full))
    lines = [Line(what, unit, value, theirs[what][0], others[what][0]) for what, (value, unit) in ours.items()]
    orders = (_same_order(recorded.result, one) for one in (simulated, in_full))
    lines.append(Line("order of starts, rank correlation", "", 1.0, *orders))
    return lines


def _numbers(result: Result) -> dict[str, tuple[float, str]]:
    summary = result.summary
    latency = summary["jobs"]["latency_us"]
    found = {f"response, {name}": (float(latency[name]), "us") for name in ("mean", "p50", "p99", "max")}
    missed = summary.get("deadlines", {}).get("missed_pct")
    found["deadlines missed"] = (float("nan") if missed is None else float(missed), "%")
    for kind, value in summary["utilization"]["by_type"].items():
        found[f"utilisation, {kind}"] = (100.0 * float(value), "%")
    starts = len(np.unique(np.stack([result.tasks["unit"], result.tasks["init_us"]]), axis=1).T)
    found["requests per start"] = (len(result.tasks["unit"]) / starts, "")
    return found


def _same_order(ours: Result, theirs: Result) -> float:
    """Return Spearman's correlation of the orders in which requests start."""
    ranks = np.stack([np.argsort(np.argsort(one.tasks["init_us"], kind="stable")) for one in (ours, theirs)])
    return float(np.asarray(np.corrcoef(ranks))[0, 1]) if ranks.shape[1] > 1 else 1.0
