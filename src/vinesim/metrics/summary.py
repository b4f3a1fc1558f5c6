"""Compute the numbers of summary.json from the tables of a result."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from vinesim.metrics import latency
from vinesim.metrics.applications import has_applications, measured
from vinesim.metrics.fairness import fairness
from vinesim.metrics.latency import Method, distribution
from vinesim.metrics.quota_use import quota_use
from vinesim.metrics.record import EVERYTHING, Record
from vinesim.metrics.serving import Spread
from vinesim.metrics.serving import measured as measured_serving
from vinesim.metrics.tables import Tables
from vinesim.metrics.utilization import mean_of_units, weights_of
from vinesim.metrics.warm_up import WarmUp, kept_jobs
from vinesim.model.arrays import distinct
from vinesim.model.electricity import J_PER_KWH
from vinesim.model.power_caps import caps_w, pool_words
from vinesim.model.result import FINISHED, OUTCOMES, PREFILLED, ExitReason
from vinesim.model.run_numbers import QUANTILES
from vinesim.model.workload import Workload

PARTS = ("overall", "by_type", "percentiles")  # of the utilisation


def summarize(
    tables: Tables,
    method: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    quantiles: Mapping[str, float] = QUANTILES,
) -> dict[str, Any]:
    """Return the numbers of summary.json, such as latencies, utilisation, load, cost, energy and the exit reason.

    Latencies cover jobs and tasks that arrived after the warm-up and finished; everything else covers the whole run.
    Times are in us, energy in J; utilisation and load are fractions.
    """
    summary = plain(measure(tables, method, warm_up, quantiles=quantiles))
    if warm_up is not None:
        summary["jobs"]["warm_up"]["rule"] = warm_up
    if tables.outcome.periods is not None:
        summary["periods"] = plain(_periods(tables.outcome.periods))
    if tables.interruptions is not None:
        rows, spent = tables.interruptions
        summary["outages"] = plain({"restarts": len(rows), "lost_us": spent.sum()})
    if tables.outcome.early is not None and tables.counts_early_ends:
        counts = np.bincount(tables.outcome.early.why, minlength=len(OUTCOMES)).tolist()
        summary["early_ends"] = {OUTCOMES[why]: counts[why] for why in range(FINISHED + 1, PREFILLED)}
    if tables.outcome.peaks_w is not None:
        summary["power_caps"] = _power_caps(tables, tables.outcome.peaks_w)
    if any(one.quota for one in tables.scenario.partitions):
        summary["quotas"] = quota_use(tables)
    if tables.outcome.proven is not None:
        summary["bound"] = _bound(tables, **tables.outcome.proven)
    return {**summary, "exit_reason": str(tables.outcome.exit_reason)}


def _power_caps(tables: Tables, peaks_w: np.ndarray) -> dict[str, Any]:
    """Return the cap and the peak power, W, of the racks with a cap and, if it has one, of the datacenter."""
    center = tables.scenario.datacenter
    pools = np.flatnonzero(np.isfinite(caps := caps_w(center))).tolist()
    return {pool_words(center, pool): plain({"cap_w": caps[pool], "peak_w": peaks_w[pool]}) for pool in pools}


def measure(
    tables: Tables,
    method: Method = "nearest_rank",
    warm_up: WarmUp | None = None,
    record: Record = EVERYTHING,
    quantiles: Mapping[str, float] = QUANTILES,
) -> dict[str, Any]:
    """Return the numbers selected by ``record``, named and ordered as in the summary; NaN where a number is undefined.

    They are numbers for one run, or arrays [K] for K runs that all finished. The warm-up of several runs must not
    depend on their latencies.
    """
    outcome, work = tables.outcome, tables.scenario.workload
    runs = outcome.task_finish_us.shape[:-1]
    start = 0 if warm_up is None else kept_jobs(tables.job_latency_us.reshape(-1, work.n_jobs)[0], warm_up).start
    kept = slice(work.job_first[start], None)

    def spread(values: np.ndarray, name: str) -> dict[str, Any]:
        return distribution(values, method, record, name, quantiles)

    found: dict[str, Any] = {
        "jobs": _jobs(tables, start, warm_up is not None, spread, record),
        "tasks": _tasks(tables, kept, spread, record),
    }
    if work.user is not None and record("fairness"):
        found["fairness"] = fairness(tables.job_slowdown[..., start:], _named_users(work)[start:])
    if record("utilization"):
        found["utilization"] = _utilization(tables, method, record)
    if record("load"):
        found["load"] = _load(tables, method)
    if record("makespan_us"):
        found["makespan_us"] = tables.makespan_us
    if record("cost"):
        found["cost"] = {"purchase": np.full(runs, tables.unit_price.sum())}
    if record("energy_j"):
        found["energy_j"] = tables.unit_energy_j.sum(axis=-1)  # NaN if any is: a partial sum would pass for the total
    if record("energy") and not np.isnan(tables.unit_energy_j).any():
        found["energy"] = _energy(tables)
    if work.deadline_us is not None and record("deadlines"):
        counted = np.isfinite(work.deadline_us)
        missed = (counted & ~(tables.job_finish_us <= work.deadline_us)).sum(axis=-1)
        found["deadlines"] = {"missed": missed, "missed_pct": 100.0 * missed / max(1, counted.sum())}
    if outcome.serving is not None and record("serving"):
        found["serving"] = measured_serving(tables, kept, spread, record)
    if has_applications(tables) and record("applications"):
        found["applications"] = measured(tables, method, record, start=start)
    return found


def _jobs(tables: Tables, start: int, is_cut: bool, spread: Spread, record: Record) -> dict[str, Any]:
    """Return the numbers of jobs. Distributions cover the jobs from ``start`` on; ``is_cut``: there is a warm-up."""
    work, runs = tables.scenario.workload, tables.outcome.task_finish_us.shape[:-1]
    found: dict[str, Any] = {}
    if record("jobs.count"):
        found["count"] = np.full(runs, work.n_jobs)
    if record("jobs.finished"):
        found["finished"] = np.isfinite(tables.job_finish_us).sum(axis=-1)
    if work.limit_us is not None and record("jobs.killed"):
        found["killed"] = np.full(runs, tables.job_is_killed.sum())
    if work.withdraw_us is not None:
        if record("jobs.withdrawn"):
            found["withdrawn"] = np.full(runs, tables.job_is_withdrawn.sum())
        if record("jobs.started"):
            found["started"] = np.isfinite(tables.job_start_us).sum(axis=-1)
    if tables.outcome.dropped_us is not None and record("jobs.refused"):
        found["refused"] = tables.job_is_refused.sum(axis=-1)
    if tables.outcome.dropped_us is not None and record("jobs.ended"):
        found["ended"] = tables.job_is_ended.sum(axis=-1)
    if record("jobs.latency_us"):
        found["latency_us"] = spread(tables.job_latency_us[..., start:], "jobs.latency_us")
    if is_cut and record("jobs.warm_up"):
        found["warm_up"] = {"dropped": np.full(runs, start)}
    if record("jobs.wait_us"):
        found["wait_us"] = spread(tables.job_wait_us[..., start:], "jobs.wait_us")
    if record("jobs.time_to_start_us"):
        to_start_us = tables.job_start_us - tables.eligible_us
        found["time_to_start_us"] = spread(to_start_us[..., start:], "jobs.time_to_start_us")
    if record("jobs.bounded_slowdown"):
        found["bounded_slowdown"] = spread(tables.job_slowdown[..., start:], "jobs.bounded_slowdown")
    return found


def _tasks(tables: Tables, kept: slice, spread: Spread, record: Record) -> dict[str, Any]:
    """Return the numbers of tasks. Distributions cover the tasks ``kept``."""
    outcome, runs = tables.outcome, tables.outcome.task_finish_us.shape[:-1]
    finish = outcome.task_finish_us
    found: dict[str, Any] = {}
    if record("tasks.count"):
        found["count"] = np.full(runs, tables.scenario.workload.n_tasks)
    if record("tasks.finished"):
        found["finished"] = np.isfinite(finish).sum(axis=-1)
    if record("tasks.by_type"):
        found["by_type"] = {name: tables.unit_tasks[..., units].sum(axis=-1) for name, units in _types(tables)}
    if record("tasks.latency_us"):
        found["latency_us"] = spread((finish - tables.task_arrival_us)[..., kept], "tasks.latency_us")
    if record("tasks.wait_us"):
        found["wait_us"] = spread(tables.task_wait_us[..., kept], "tasks.wait_us")
    if record("tasks.response_us"):
        found["response_us"] = spread((finish - outcome.task_init_us)[..., kept], "tasks.response_us")
    return found


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the numbers of one run to Python numbers; NaN becomes None."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        number = plain(value) if isinstance(value, dict) else np.asarray(value).item()
        found[name] = None if number != number else number
    return found


def _types(tables: Tables) -> list[tuple[str, np.ndarray]]:
    """Return the processor types in use, with their units."""
    types = tables.scenario.datacenter.processor_types
    return [(types[code].name, np.flatnonzero(tables.unit_type == code)) for code in distinct(tables.unit_type)]


def _utilization(tables: Tables, method: Method, record: Record) -> dict[str, Any]:
    """Return the allocated share, under both of its names, and the share of the time that units were active."""
    is_one = tables.unit_active is tables.unit_utilization and weights_of(tables.capacity) is None
    found: dict[str, Any] = {}

    @cache
    def part(measure: str, name: str) -> Any:
        if measure == "active":
            return _part(tables, tables.unit_active, np.ones(len(tables.capacity)), name, method)
        return _part(tables, tables.unit_utilization, tables.capacity, name, method)

    for name in PARTS:
        if record(f"utilization.{name}"):
            found[name] = part("allocated", name)
    if record("utilization.by_resource"):
        found |= _by_resource(tables, tables.unit_utilization)
    for measure in ("allocated", "active"):
        names = [name for name in PARTS if record(f"utilization.{measure}.{name}")]
        same = "allocated" if is_one else measure
        found |= {measure: {name: part(same, name) for name in names}} if names else {}
    return found


def _part(tables: Tables, share: np.ndarray, size: np.ndarray, name: str, method: Method) -> Any:
    """Return one of PARTS, for units with these shares and sizes."""
    if name == "by_type":
        return {kind: mean_of_units(np.take(share, u, axis=-1), size[u]) for kind, u in _types(tables)}
    if not tables.runs_tasks.all():
        share, size = share[..., tables.runs_tasks], size[tables.runs_tasks]
    if name == "overall":
        return mean_of_units(share, size)
    return dict(zip(QUANTILES, latency.quantiles(share, list(QUANTILES.values()), method), strict=True))


def _load(tables: Tables, method: Method) -> dict[str, Any]:
    """Return the load of all units that run tasks, and by type: work done / capacity between first and last arrival.

    NaN if all jobs arrive at once, if work is left (its amount is unknown), and for serving engines, whose speed grows
    with their work.
    """
    end_us, span_us = np.broadcast_arrays(tables.makespan_us, np.ptp(tables.arrival_us, axis=-1))
    is_known = (span_us > 0) & (tables.outcome.exit_reason is ExitReason.ALL_DONE)
    runs = np.divide(end_us, span_us, out=np.full(span_us.shape, np.nan), where=is_known)
    overall, by_type = (_part(tables, tables.unit_utilization, tables.capacity, name, method) for name in PARTS[:2])
    engines = {tables.scenario.datacenter.processor_types[p].name for p in tables.scenario.engine_types}
    is_known_of = {name: np.nan if name in engines else 1.0 for name in by_type}
    return {
        "overall": overall * runs * (np.nan if engines else 1.0),
        "by_type": {name: share * runs * is_known_of[name] for name, share in by_type.items()},
    }


def _by_resource(tables: Tables, share: np.ndarray) -> dict[str, Any]:
    """Return, for each attribute that tasks request, the share of all cores, SMs and so on that was allocated."""
    types, found = tables.scenario.datacenter.processor_types, {}
    for name in tables.scenario.workload.requests or ():
        amount = np.array([p.attributes.get(name, 0.0) for p in types])[tables.unit_type]
        if amount.sum() > 0:
            found[name] = (share * amount).sum(axis=-1) / amount.sum()
    return {"by_resource": found} if found else {}


def _energy(tables: Tables) -> dict[str, Any]:
    """Return energy by processor type and by unit state, J, and the building's energy, cost and emissions."""
    energy, electricity = tables.unit_energy_j, tables.scenario.electricity
    parts = tables.unit_energy._asdict()
    per_j = electricity.pue / J_PER_KWH
    return {
        "by_type": {name: np.take(energy, units, axis=-1).sum(axis=-1) for name, units in _types(tables)},
        "by_state": {state: joule.sum(axis=-1) for state, joule in parts.items()},
        "kwh": energy.sum(axis=-1) * per_j,
        **{name: tables.energy_at(rate) * per_j for name, rate in electricity.rates.items()},
    }


def _named_users(work: Workload) -> np.ndarray:
    """Return [J] the user of each job; -1 for jobs without one, including jobs of unnamed users."""
    assert work.user is not None
    is_nobody = np.array([*(not name for name in work.user_names), False])
    return np.where(is_nobody[np.minimum(work.user, len(work.user_names))], -1, work.user)


def _periods(periods: Any) -> dict[str, Any]:
    """Summarise a batch policy's periods: energy, over-commitment, and how far the energy is above the bound."""
    energy, bound = periods["energy_j"].sum(), periods["bound_j"].sum()
    return {
        "count": periods["n_periods"].sum(),
        "energy_j": energy,
        "slav": periods["slav"].sum(),
        "bound_j": bound,
        "gap_pct": _percent_above(energy, bound),
        **_optimum(periods, energy),
    }


def _optimum(periods: Any, energy: float) -> dict[str, Any]:
    if "optimum_j" not in periods:
        return {}
    least = periods["optimum_j"].sum()
    infeasible = int(periods["n_periods"][np.isinf(periods["optimum_j"])].sum())  # no placement is within capacity
    return {"optimum_j": least, "optimum_gap_pct": _percent_above(energy, least), "infeasible": infeasible}


def _percent_above(energy: float, least: float) -> float:
    return 100.0 * (energy / least - 1.0) if 0 < least < np.inf else np.nan


def _bound(tables: Tables, objective: str, bound_us: float, status: str) -> dict[str, Any]:
    """Return the bound that a planning policy proved, and the run's gap to it unless tasks are left; us and percent."""
    values = {"makespan": tables.outcome.task_finish_us.max(), "sum_finish": tables.job_finish_us.sum()}
    value = float(values[objective])
    gap = 100.0 * (value / bound_us - 1.0) if bound_us > 0 else 0.0
    numbers = plain({"value_us": value, "bound_us": bound_us, "gap_pct": max(0.0, gap) if gap == gap else gap})
    return {"objective": objective, **numbers, "status": status}
