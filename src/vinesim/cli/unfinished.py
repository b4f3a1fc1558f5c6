"""Messages about runs that did not finish all tasks, or only long after the last arrival."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.metrics.numbers import not_finished
from vinesim.result import Result

if TYPE_CHECKING:
    from vinesim.studies.sweep import Sweep


def unfinished(result: Result) -> str:
    """Say in one line why a run ended and what is left."""
    tasks, reason = result.summary["tasks"], result.summary["provenance"]["reason"]
    line = f"{result.exit_reason}: {tasks['finished']:,} of {tasks['count']:,} tasks are done"
    return f"{line}; {reason}" if reason else line


def undone_jobs(jobs: Mapping[str, Any]) -> dict[str, int]:
    """Return how many jobs were not finished, by the reason, from the numbers of jobs of a summary."""
    return {f"jobs {words}": n for words, n in not_finished(jobs, "unfinished").items()}


def overload_note(sweep: "Sweep") -> str | None:
    """Return a sentence about the points of a sweep that are overloaded; None if none is."""
    from vinesim.metrics.overload import BY_TYPE, WAIT, overload_of_points
    from vinesim.studies.statistics import summarize_points

    names = [name for name in sweep.table if name.startswith(BY_TYPE) or name in ("jobs.count", WAIT)]
    if not names or not sweep.table.n_rows:
        return None
    means = summarize_points(sweep.table, ["point"], names)
    return overload_of_points({name: means[f"{name}.mean"] for name in names}) or None


def reasons_of(sweep: "Sweep") -> Iterable[str]:
    """Return why each run of a sweep ended."""
    return [str(reason) for reason in sweep.table.get("exit_reason", np.empty(0))]
