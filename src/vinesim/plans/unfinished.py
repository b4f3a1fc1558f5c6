"""Runs that leave jobs unfinished, and which of them a plan accepts.

Means and percentiles cover only what finished. A run that left jobs unfinished therefore rules its point out, unless a
limit or an objective counts these jobs: as missed deadlines, as refused, or in the number of finished jobs.
"""

import math
from collections.abc import Iterable, Mapping

from vinesim.metrics.numbers import Numbers

FINISHED = ("jobs.finished", "tasks.finished")
REFUSED = "jobs.refused"  # a limit on it says how many jobs the policy may refuse
NOT_STARTED = ("jobs.started", "jobs.withdrawn")  # a limit on one says how many jobs may be withdrawn before they start
ENDED = {
    "STALLED": "a run stalled: some tasks can never start",
    "HORIZON": "a run reached the horizon with jobs unfinished",
    "INTERRUPTED": "a run was interrupted",
}


def why_broken(numbers: Numbers, names: Iterable[str]) -> str:
    """Return why a run rules its point out, given the ``names`` in limits and objectives; empty if it does not."""
    names = tuple(names)
    if n_unfinished(numbers) > _n_counted(numbers, names):
        if numbers.get("exit_reason") not in ENDED and number_of(numbers, REFUSED) > 0:
            return f"a run refused jobs: limit {REFUSED} if some may be"
        return ENDED.get(str(numbers.get("exit_reason")), "a run left jobs unfinished")
    is_short = number_of(numbers, "jobs.started") < number_of(numbers, "jobs.count")
    if is_short and number_of(numbers, "jobs.withdrawn") > 0 and not set(NOT_STARTED) & set(names):
        allow = f"limit {' or '.join(NOT_STARTED)} if some may be"
        return f"a run left jobs waiting until they were withdrawn: {allow}"
    return ""


def n_unfinished(numbers: Numbers) -> float:
    """Return how many jobs are not over; a job is over too if its limit or the policy ended it, or it was withdrawn."""
    over = [number_of(numbers, f"jobs.{name}") for name in ("finished", "killed", "withdrawn", "ended")]
    return number_of(numbers, "jobs.count") - sum(value for value in over if not math.isnan(value))


def _n_counted(numbers: Numbers, names: tuple[str, ...]) -> float:
    """Return how many jobs these names count as missed, including jobs that never finish."""
    if set(FINISHED) & set(names):
        return math.inf
    counted = [0.0]
    if REFUSED in names:
        counted.append(number_of(numbers, REFUSED))
    if any(name.startswith("deadlines.missed") for name in names):
        counted.append(number_of(numbers, "deadlines.missed"))
    if any(name.startswith(("serving.missed", "serving.goodput")) for name in names):
        counted.append(number_of(numbers, "serving.missed"))
    missed = {name.removesuffix(".missed"): number_of(numbers, name) for name in numbers if _is_of_application(name)}
    about = {name.rpartition(".")[0] for name in names if name.startswith("applications.") and "missed" in name}
    counted.append(sum(n for of, n in missed.items() if of in about or "applications.mean" in about))
    return max(counted)


def _is_of_application(name: str) -> bool:
    return name.startswith("applications.") and name.endswith(".missed")


def number_of(numbers: Mapping[str, float | str], name: str) -> float:
    """Return a number of a run, NaN if there is none."""
    value = numbers.get(name, math.nan)
    return float(value) if isinstance(value, int | float) else math.nan
