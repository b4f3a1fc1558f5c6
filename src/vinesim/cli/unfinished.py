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


def reasons_of(sweep: "Sweep") -> Iterable[str]:
    """Return why each run of a sweep ended."""
    return [str(reason) for reason in sweep.table.get("exit_reason", np.empty(0))]
