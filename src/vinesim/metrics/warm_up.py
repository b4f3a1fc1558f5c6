"""The warm-up: jobs that a summary leaves out because the datacenter was still filling when they arrived.

A run begins with an empty datacenter, so its first jobs wait less than later ones. Each rule excludes a number of jobs
at the beginning. Sources: White, An Effective Truncation Heuristic for Bias Reduction in Simulation Output, Simulation
69(6), 1997 (MSER); White, Cobb and Spratt, A Comparison of Five Steady-State Truncation Heuristics for Simulation, WSC
2000 (batches of 5).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem

WarmUp = str | Mapping[str, float]  # "none", "mser5", {"jobs": N} or {"share": x}
BATCH = 5
EXPECTED = "none, mser5, {jobs: N} or {share: x} with 0 <= x < 1"


def check_warm_up(rule: Any) -> None:
    """Raise :class:`InputError` unless this is a valid warm-up rule."""
    if rule in ("none", "mser5"):
        return
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((name, value),) = rule.items()
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name == "share" and is_number and 0 <= value < 1:
            return
        if name == "jobs" and is_number and value >= 0 and float(value).is_integer():
            return
    found = repr(dict(rule) if isinstance(rule, Mapping) else rule)
    raise InputError([Problem(("warm_up",), EXPECTED, found)])


def kept_jobs(latency_us: np.ndarray, rule: WarmUp) -> slice:
    """Return the jobs after the warm-up. ``latency_us`` [J] is in the order of arrival; NaN: not finished.

    Raises :class:`InputError` for an unknown rule, and for one that leaves no jobs.
    """
    check_warm_up(rule)
    check_leaves_jobs(rule, len(latency_us))
    if isinstance(rule, str):
        n = 0 if rule == "none" else mser5(latency_us)
    else:
        n = int(rule["jobs"]) if "jobs" in rule else int(rule["share"] * len(latency_us))
    return slice(n, None)


def check_leaves_jobs(rule: WarmUp | None, n_jobs: int, where: str = "warm_up") -> None:
    """Raise :class:`InputError`, located at ``where``, for a rule that excludes all jobs of a workload."""
    n = int(rule.get("jobs", 0)) if isinstance(rule, Mapping) else 0
    if n >= n_jobs:
        raise InputError([Problem(where, f"fewer than the {n_jobs} jobs of the workload", f"{n} jobs")])


def mser5(latency_us: np.ndarray) -> int:
    """Return how many jobs to exclude by MSER-5, which minimises the squared standard error of the mean of the rest.

    The observations are means of 5 finished jobs each; the cut lies between two of them, in the first half. A cut
    exactly at the half means that the run is too short to tell. Unfinished jobs are ignored.
    """
    finished = np.flatnonzero(np.isfinite(latency_us))
    n = len(finished) // BATCH
    if n < 2:
        return 0
    batches = latency_us[finished[: n * BATCH]].reshape(n, BATCH).mean(axis=1)
    batches = batches - batches.mean()  # centred, so that the sums of squares do not cancel
    left = np.arange(n, 0, -1)
    sums = np.cumsum(batches[::-1])[::-1]
    squares = np.cumsum(batches[::-1] ** 2)[::-1]
    error = (squares - sums**2 / left) / left**2
    best = int(np.argmin(error[: n // 2 + 1]))
    return int(finished[best * BATCH])
