"""Results by client-server application: missed deadlines, latencies, consolidation, types of units.

Source: Symphony paper, section V (requests that miss their QoS; average percentage per minute).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.metrics.fairness import jain
from vinesim.metrics.latency import Method, distribution
from vinesim.metrics.record import EVERYTHING, Record
from vinesim.metrics.tables import Tables
from vinesim.model.application import application_names
from vinesim.model.arrays import distinct
from vinesim.model.columns import APPLICATIONS

MINUTE_US = 6e7
GOAL = 0.99  # share of requests on time that counts as good


def measured(
    tables: Tables,
    method: Method = "nearest_rank",
    record: Record = EVERYTHING,
    name: str = "applications",
    start: int = 0,
) -> dict[str, Any]:
    """Return, for each application with requests, their number, the number that missed their deadline, and latencies:
    those of the jobs from ``start`` on.

    Over all applications, also return the mean percentage missed, Jain's index of the shares on time, and the number of
    applications with at least 99 % on time. Values are numbers for one run, or arrays [K] for K runs.
    """
    missed, latency_us = missed_jobs(tables), tables.job_latency_us[..., start:]
    found: dict[str, Any] = {}
    shares = []
    for code, title in _used(tables):
        mine = np.asarray(tables.scenario.workload.application) == code
        n, n_missed = int(mine.sum()), missed[..., mine].sum(axis=-1)
        shares.append(1.0 - n_missed / n)
        found[title] = {
            "requests": np.full(missed.shape[:-1], n)[()],
            "missed": n_missed,
            "missed_pct": 100.0 * n_missed / n,
            "latency_us": distribution(latency_us[..., mine[start:]], method, record, f"{name}.{title}.latency_us"),
        }
    in_time = np.stack(shares, axis=-1)
    everyone = {
        "missed_pct": 100.0 * (1.0 - in_time.mean(axis=-1)),
        "worst_missed_pct": 100.0 * (1.0 - in_time.min(axis=-1)),
        "jain": jain(in_time),
        "reach_99_pct": (in_time >= GOAL).sum(axis=-1),
    }
    return {"mean": everyone, **found}


def missed_jobs(tables: Tables) -> np.ndarray:
    """[..., J] whether each job has a deadline and missed it."""
    due = tables.scenario.workload.deadline_us
    assert due is not None
    missed: np.ndarray = np.isfinite(due) & ~(tables.job_finish_us <= due)
    return missed


def table(tables: Tables) -> Table:
    """Return one row per application with requests."""
    work, outcome = tables.scenario.workload, tables.outcome
    assert work.application is not None
    used = _used(tables)
    codes = np.array([code for code, _ in used], np.int32)
    task_code = np.repeat(work.application, tables.counts)
    n_codes = int(work.application.max()) + 1

    def count(which: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.bincount(of[which], minlength=n_codes)[codes]

    missed = missed_jobs(tables)
    requests = np.bincount(work.application, minlength=n_codes)[codes]
    started = outcome.task_unit >= 0
    leads = started.copy()
    leads[outcome.followers] = False
    fastest = np.argmax(tables.scenario.affinity[distinct(tables.unit_type)], axis=0)  # by task type
    fastest_type = distinct(tables.unit_type)[fastest][np.repeat(work.job_task_type, tables.counts)]
    on_fastest = started & (tables.unit_type[np.where(started, outcome.task_unit, 0)] == fastest_type)
    n_started = np.maximum(1, count(started, task_code))
    minutes = by_minute(tables)
    latency = [distribution(tables.job_latency_us[work.application == code]) for code in codes]
    rows = [minutes["application"] == code for code in codes]
    return Table(
        APPLICATIONS.of(
            {
                "application": codes,
                "name": np.array([name for _, name in used]),
                "requests": requests,
                "missed": count(missed, work.application),
                "missed_pct": 100.0 * count(missed, work.application) / requests,
                "missed_pct_minutes": np.array([minutes["missed_pct"][row].mean() for row in rows]),
                "missed_pct_worst_minute": np.array([minutes["missed_pct"][row].max() for row in rows]),
                "dropped": count(outcome.task_unit[work.job_first[:-1]] < 0, work.application),
                "goodput_per_s": (requests - count(missed, work.application)) / max(tables.makespan_us, 1e-9) * 1e6,
                "p50_us": np.array([d["p50"] for d in latency]),
                "p90_us": np.array([d["p90"] for d in latency]),
                "p99_us": np.array([d["p99"] for d in latency]),
                "p99_9_us": np.array([d["p99_9"] for d in latency]),
                "consolidated_mean": count(started, task_code) / np.maximum(1, count(leads, task_code)),
                "on_fastest": count(on_fastest, task_code) / n_started,
            }
        )
    )


def by_minute(tables: Tables) -> Mapping[str, np.ndarray]:
    """Return application, requests and missed_pct for each minute of arrival and each application with requests in it.

    Rows are in the order of the minutes; minutes without requests take no memory.
    """
    work = tables.scenario.workload
    assert work.application is not None
    n_codes = int(work.application.max()) + 1
    minute = np.unique(tables.arrival_us // MINUTE_US, return_inverse=True)[1]
    key = minute * n_codes + work.application
    requests = np.bincount(key)
    missed = np.bincount(key[missed_jobs(tables)], minlength=len(requests))
    there = np.flatnonzero(requests)
    return {
        "application": there % n_codes,
        "requests": requests[there],
        "missed_pct": 100.0 * missed[there] / requests[there],
    }


def has_applications(tables: Tables) -> bool:
    """Whether any application has deadlines."""
    work = tables.scenario.workload
    return work.application is not None and work.deadline_us is not None


def _used(tables: Tables) -> list[tuple[int, str]]:
    """Return (code, name) of each application that has requests."""
    work = tables.scenario.workload
    assert work.application is not None
    n = np.bincount(work.application)
    return [(code, name) for code, name in enumerate(application_names(work)) if code < len(n) and n[code]]
