"""The part of a run's page about waiting: the queue, its tipping point, the causes, and the slowest jobs."""

from html import escape
from typing import Any

import numpy as np

from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.explain_record import ExplainRecord
from vinesim.formats.results.folder import EXPLAIN_TYPES
from vinesim.formats.results.tables import ResultTables
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.quantities import time_or_dash
from vinesim.metrics.causes import CAUSES, Causes, causes_of
from vinesim.metrics.queue import Queue, TippingPoint, queues_of, tipping_point
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.wait import Waiting
from vinesim.metrics.waiting import explained, longest
from vinesim.metrics.waiting_words import headline, lines_below, unit_rows
from vinesim.report.markup import figures, note, table
from vinesim.report.rounding import rounded

N_INTERVALS = 200
N_CAUSES = 40  # intervals of the chart of causes, few because causes are estimated from a sample
MAX_TYPES = 8
N_SLOWEST = 8
MAX_LINES = 5  # lines about what happened while a job waited
_SLOW = """
SELECT task, task_type, arrival_us, finish_us - arrival_us AS latency,
    (SELECT sum(coalesce(start_us, end_us) - begin_us) FROM held WHERE part = 0 AND task = tasks.task) AS data
FROM tasks WHERE job = $job ORDER BY finish_us IS NULL DESC, finish_us DESC, tasks.task LIMIT 1
"""


def waiting(result: ResultTables) -> tuple[str, dict[str, Any]]:
    """Return the section's HTML and the data of its charts."""
    record = read_record(result) if (result.folder / EXPLAIN_TYPES).exists() else None
    end_us = float(result.summary["makespan_us"])
    if end_us <= 0:
        return note("The run has no length."), {}
    types = result.task_types if 1 < len(result.task_types) <= MAX_TYPES else {}
    queue, *by_type = queues_of(result, [None, *types])
    tip = tipping_point(queue, int(result.runs_tasks.sum()))
    edges = np.linspace(0.0, end_us, N_INTERVALS + 1)
    coarse = np.linspace(0.0, end_us, N_CAUSES + 1)
    causes = None if record is None else causes_of(result, record, coarse)
    slow = longest(result, N_SLOWEST)
    html = _headline(queue, end_us, tip, result.clock) + note(_tipping(tip, result.clock))
    if record is None:
        html += note("To see what jobs waited for, run it again with --explain and write the page again.")
    elif causes is not None:
        html += _causes(causes)
    html += '<div id="waiting-charts"></div>' + _slowest(result, record, slow)
    data = {
        "edges_us": rounded(edges, 7),
        "queue": [
            {"name": name, "values": rounded(one.means(edges), 4)}
            for name, one in zip(("all", *types.values()), (queue, *by_type), strict=True)
        ],
        "marks": [] if tip is None else [[tip.begin_us, "tips over"], [tip.peak_us, f"peak {tip.peak:,}"]],
        "cause_edges_us": rounded(coarse, 7),
        "causes": []
        if causes is None
        else [{"name": CAUSES[cause], "values": rounded(jobs, 4)} for cause, jobs in causes.over_time.items()],
    }
    return html, data


def _headline(queue: Queue, end_us: float, tip: TippingPoint | None, clock: Clock) -> str:
    at = int(np.argmax(queue.length))
    return figures(
        [
            ("Waiting tasks, mean", f"{queue.waited_us / end_us:,.3g}", ""),
            ("Longest queue", f"{int(queue.length[at]):,}", f"at {clock.at(float(queue.time_us[at]))}"),
            ("Tips over", "never" if tip is None else clock.at(tip.begin_us), "" if tip is None else "see below"),
        ]
    )


def _tipping(tip: TippingPoint | None, clock: Clock) -> str:
    if tip is None:
        return "The queue never held more tasks than there are units."
    end = "does not become short again" if tip.end_us is None else f"is short again at {clock.at(tip.end_us)}"
    return (
        f"From {clock.at(tip.begin_us)} on, tasks arrive faster than they start: the queue grows to "
        f"{tip.peak:,} tasks at {clock.at(tip.peak_us)} and {end} (at most a tenth of its peak). "
        f"{tip.share:.0%} of all waiting lies in this time."
    )


def _causes(causes: Causes) -> str:
    how = (
        "every job that waited is explained"
        if causes.n_explained == causes.n_waited
        else f"estimated from {causes.n_explained:,} of {causes.n_waited:,} jobs, chosen in proportion to their waits"
    )
    types = list(causes.by_type) if len(causes.by_type) > 1 else []
    rows = [
        [CAUSES[cause], f"{share:.0%}", *(f"{causes.by_type[name][cause]:.0%}" for name in types)]
        for cause, share in causes.share.items()
    ]
    text = table("What jobs waited for", ["share of all waiting", "all", *types], rows)
    return text + note(f"A job waits until its last task starts; {how}.")


def _slowest(result: ResultTables, record: ExplainRecord | None, jobs: list[int]) -> str:
    names = result.task_types
    ids = dict(result.rows("SELECT job, job_id FROM jobs")) if result.has("jobs", "job_id") else {}
    rows = [
        [
            f"job {ids.get(job, job)}" + (f" (--job {job})" if ids else ""),
            names[code],
            result.clock.at(arrival),
            *map(time_or_dash, spans),
        ]
        for job, (code, arrival, *spans) in zip(jobs, times_of(result, jobs), strict=True)
    ]
    head = ["", "type", "arrived", "latency", "waited", "moved its data", "ran"]
    text = table("The slowest jobs, by the task that finished last", head, rows)
    return text + ("" if record is None else "".join(_explained(explained(result, record, job)) for job in jobs))


def times_of(result: ResultTables, jobs: list[int]) -> list[tuple[Any, ...]]:
    """Return a row for the task of each job that finished last: its type, its arrival, its latency, and how long it
    waited, transferred data and ran in all of its runs; in us, None for what did not happen."""
    wait_us, found = StoredColumns(result).task_wait_us(), []
    for job in jobs:
        task, code, arrival, latency, data = result.rows(_SLOW, {"job": job})[0]
        waited = None if np.isnan(wait_us[task]) else float(wait_us[task])
        ran = None if latency is None or waited is None or data is None else latency - waited - data
        found.append((code, arrival, latency, waited, data, ran))
    return found


def _explained(found: Waiting) -> str:
    titles, rows = unit_rows(found)
    first, *more = headline(found)
    lines = "".join(f"<li>{escape(line.strip())}</li>" for line in lines_below(found, MAX_LINES))
    return (
        f'<details class="values why"><summary>{escape(first)}</summary>'
        + "".join(f"<p>{escape(line)}</p>" for line in more)
        + table(f"Units while job {found.job} waited", titles, rows, is_caption_seen=False, has_texts=True)
        + (f"<ul>{lines}</ul>" if lines else "")
        + "</details>"
    )
