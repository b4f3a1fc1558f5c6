"""Workloads made of the jobs of other workloads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.model.dependencies import chosen
from vinesim.model.workload import COLUMNS, FAMILIES, Workload

POINTS = [name for name, one in COLUMNS.items() if one.is_point and name != "arrival_us"]  # they move with arrivals


def select_jobs(work: Workload, jobs: np.ndarray, arrival_us: np.ndarray, part: np.ndarray | None = None) -> Workload:
    """Return the jobs with these indices, in this order and with repetitions, at new arrival times (:func:`arriving`).

    A job still depends on those of its dependencies that are chosen too; with ``part``, which gives the part of the
    choice that each job belongs to, only on those of its own part.
    """
    counts = np.diff(work.job_first)[jobs]
    first = np.concatenate(([0], np.cumsum(counts)))
    tasks = np.repeat(work.job_first[:-1][jobs] - first[:-1], counts) + np.arange(first[-1])
    columns: dict[str, Any] = {"job_first": first}
    for name, one in COLUMNS.items():
        values = getattr(work, name)
        if values is not None and name != "job_first":
            columns[name] = values[jobs if one.of == "jobs" else tasks]
    if work.times_us is not None:
        columns["times_us"] = work.times_us[tasks]
    for name, one in FAMILIES.items():
        of_each, chosen_rows = getattr(work, name), jobs if one.of == "jobs" else tasks
        columns[name] = None if of_each is None else {key: values[chosen_rows] for key, values in of_each.items()}
    if work.after is not None and work.after_first is not None:
        parts = np.zeros(len(jobs), np.int64) if part is None else part
        columns["after_first"], columns["after"] = chosen(work.after_first, work.after, jobs, parts)
    old_us = columns.pop("arrival_us")
    return replace(work, **columns | _moved(columns, old_us, arrival_us), arrival_us=arrival_us)


def arriving(work: Workload, arrival_us: np.ndarray) -> Workload:
    """Return the workload with other arrivals; deadlines and withdrawals move with them."""
    moved: dict[str, Any] = _moved(vars(work), work.arrival_us, arrival_us)
    return replace(work, arrival_us=arrival_us, **moved)


def _moved(columns: Mapping[str, Any], old_us: np.ndarray, arrival_us: np.ndarray) -> dict[str, np.ndarray]:
    given = [name for name in POINTS if columns.get(name) is not None]
    return {
        name: arrival_us + (columns[name] - old_us) for name in given
    }  # rounded like this, none comes before its arrival


def merged(parts: Sequence[Workload]) -> Workload:
    """Return the generated jobs of all parts in the order of arrival; the parts share no applications.

    The workloads must have only the columns that every generator makes, and demands and applications.
    """
    times = np.concatenate([part.arrival_us for part in parts])
    order = np.argsort(times, kind="stable")
    return select_jobs(_side_by_side(parts), order, times[order])


def _side_by_side(parts: Sequence[Workload]) -> Workload:
    """Concatenate the jobs of all parts, all arriving at 0."""
    n_before = np.concatenate(([0], np.cumsum([part.n_tasks for part in parts])))
    n_named = np.concatenate(([0], np.cumsum([len(part.application_names) for part in parts])))
    has_demand = any(part.demand is not None for part in parts)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("job_task_type", "operations", "data_bytes", "data_rack", "data_shelf", "preferred_type")
    }
    if has_demand:
        columns["demand"] = np.concatenate(
            [np.full(part.n_tasks, np.nan) if part.demand is None else part.demand for part in parts]
        )
    first = [part.job_first[:-1] + n for part, n in zip(parts, n_before, strict=False)]
    codes = [part.application + n for part, n in zip(parts, n_named, strict=False) if part.application is not None]
    return replace(
        parts[0],
        job_first=np.append(np.concatenate(first), n_before[-1]),
        arrival_us=np.zeros(sum(part.n_jobs for part in parts)),
        application=np.concatenate(codes),
        application_names=tuple(name for part in parts for name in part.application_names),
        **columns,
    )
