"""The numbers of summary.json, from the tables of a result."""

from typing import Any

import numpy as np

from vinesim.metrics.latency import QUANTILES, Method, distribution, quantiles
from vinesim.metrics.tables import Tables
from vinesim.model.result import Result


def summarize(result: Result, tables: Tables, method: Method = "nearest_rank") -> dict[str, Any]:
    """Latency of jobs and tasks, utilisation, makespan, cost, energy, deadlines, why the run ended, provenance.

    Latencies are of what finished. Times in us, energy in J, utilisation as a share of 1.
    """
    outcome, work = tables.outcome, tables.scenario.workload
    finish = outcome.task_finish_us
    arrival = np.repeat(work.arrival_us, tables.counts)
    jobs, units = result.jobs, result.units
    summary: dict[str, Any] = {
        "jobs": {
            "count": work.n_jobs,
            "finished": int(np.isfinite(jobs["finish_us"]).sum()),
            "latency_us": distribution(jobs["latency_us"], method),
        },
        "tasks": {
            "count": work.n_tasks,
            "finished": int(np.isfinite(finish).sum()),
            "latency_us": distribution(finish - arrival, method),
            "response_us": distribution(finish - outcome.task_init_us, method),
        },
        "utilization": _utilization(units, tables, method),
        "makespan_us": tables.makespan_us,
        "cost": {"purchase": _total(units["price"])},
        "energy_j": _total(units["energy_j"]),
    }
    if work.deadline_us is not None:
        counted = np.isfinite(work.deadline_us)
        missed = counted & ~(jobs["finish_us"] <= work.deadline_us)
        n = int(counted.sum())
        summary["deadlines"] = {
            "missed": int(missed.sum()),
            "missed_pct": 100.0 * float(missed.sum()) / n if n else 0.0,
        }
    return {**summary, "exit_reason": str(outcome.exit_reason), "provenance": result.provenance}


def _utilization(units: Any, tables: Tables, method: Method) -> dict[str, Any]:
    share = units["utilization"]
    types = tables.scenario.datacenter.processor_types
    return {
        "overall": float(share.mean()),
        "by_type": {
            types[code].name: float(share[tables.unit_type == code].mean()) for code in np.unique(tables.unit_type)
        },
        "percentiles": dict(zip(QUANTILES, quantiles(share, list(QUANTILES.values()), method), strict=True)),
    }


def _total(values: np.ndarray) -> float | None:
    """The sum; None if a value is unknown, as a part of it would look like the whole."""
    return None if np.isnan(values).any() else float(values.sum())
