"""Messages about runs that did not finish all tasks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.model.result import KILLED, ExitReason, Result

if TYPE_CHECKING:
    from vinesim.studies.sweep import Sweep


def unfinished(result: Result) -> str:
    """Say in one line why a run ended and what is left."""
    tasks, reason = result.summary["tasks"], result.summary["provenance"]["reason"]
    line = f"{result.exit_reason}: {tasks['finished']:,} of {tasks['count']:,} tasks are done"
    return f"{line}; {reason}" if reason else line


def undone_jobs(result: Result) -> dict[str, int]:
    """Return how many jobs were not finished, by the reason."""
    early, jobs = result.outcome.early, result.jobs
    is_undone = np.isnan(jobs["finish_us"])
    killed = np.zeros(len(is_undone), bool)
    if early is not None:
        killed[result.tasks["job"][early.task[early.why == KILLED]]] = True
    withdrawn = is_undone & ~killed & (jobs.get("withdraw_us", np.inf) <= result.outcome.end_us)
    left = is_undone & ~killed & ~withdrawn
    words = ("jobs killed by their limit", "jobs withdrawn", "jobs unfinished")
    return {word: int(mine.sum()) for word, mine in zip(words, (killed, withdrawn, left), strict=True)}


def stalled_points(sweep: "Sweep") -> list[dict[str, Any]]:
    """Return the points with stalled runs, in the order of the study: labels, how many runs, of how many."""
    from vinesim.studies.points import group

    table = sweep.table
    if "exit_reason" not in table or not table.n_rows:
        return []
    axes = list(sweep.study.columns)
    found = []
    for labels, rows in group(table, axes).items():
        n = int((table["exit_reason"][rows] == ExitReason.STALLED).sum())
        if n:
            found.append({"point": dict(zip(axes, labels, strict=True)), "stalled": n, "runs": len(rows)})
    return found


def reasons_of(sweep: "Sweep") -> Iterable[str]:
    """Return why each run of a sweep ended."""
    return [str(reason) for reason in sweep.table.get("exit_reason", np.empty(0))]
