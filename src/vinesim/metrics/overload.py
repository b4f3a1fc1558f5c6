"""Detect overload: more work arrives than can be done, so waits grow with the length of the run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

BY_TYPE = "load.by_type."
WAIT = "tasks.wait_us.mean"
GROWS = "Waits grow with the length of such a run."


def is_overloaded(load: Any, n_jobs: Any) -> Any:
    """Whether a load is too high; elementwise for arrays.

    A load is measured from the first arrival to the last, which is only n - 1 of n interarrival times. With few jobs
    that overestimates the load, so the limit is higher.
    """
    return load * (n_jobs - 1) > n_jobs


def overload_of_run(summary: Mapping[str, Any]) -> str:
    """Return a warning if a run is overloaded, otherwise an empty text.

    A run in which no task waited is not overloaded: it may consist of a few long jobs that arrive close together.
    """
    loads = summary.get("load", {}).get("by_type", {})  # results of older versions have none
    load, name = max(((load or 0.0, name) for name, load in loads.items()), default=(0.0, ""))
    never_waits = summary["tasks"].get("wait_us", {}).get("max") == 0
    if never_waits or not is_overloaded(load, summary["jobs"]["count"]):
        return ""
    return f"Overloaded: while jobs arrive, they bring {load:.0%} of the work that the units of {name} can do. {GROWS}"


def overload_of_points(means: Mapping[str, np.ndarray]) -> str:
    """Return a warning about the overloaded points of a sweep; empty if there are none.

    ``means`` has the mean of each number at each point, [P]. It lacks the load and the waits if the study does not
    record them.
    """
    loads = [column for name, column in means.items() if name.startswith(BY_TYPE)]
    if not loads:
        return ""
    load = np.fmax.reduce(loads)
    n_jobs = means.get("jobs.count", np.full(len(load), np.inf))
    with np.errstate(invalid="ignore"):
        is_over = np.where(np.isinf(n_jobs), load > 1, is_overloaded(load, n_jobs))
    is_over &= means.get(WAIT, np.full(len(load), np.nan)) != 0
    if not is_over.any():
        return ""
    points = f"{is_over.sum():,} of {len(load):,} points" if len(load) > 1 else "The point"
    verb = "is" if is_over.sum() == 1 else "are"
    most = float(load[is_over].max())
    words = f"{points} {verb} overloaded: while jobs arrive, they bring up to {most:.0%} of the work that can be done."
    return f"{words} {GROWS}"
