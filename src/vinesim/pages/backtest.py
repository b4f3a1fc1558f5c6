"""The page of a back-test: actual and predicted waits, by job, by group and over time, and what is unexplained."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import format_time_us
from vinesim.report.markup import Content, Section, facts, figures, note, notice, table
from vinesim.report.page import write_page
from vinesim.report.rounding import rounded
from vinesim.studies.backtest import MOST_FURTHEST, QUANTILES, Backtest, cpus_of, in_use, owner_of, start_s_of
from vinesim.studies.waterfall import Waterfall

N_INTERVALS = 150
MOST_DOTS = 4000
RANGE = {"lowest run": "low_s", "highest run": "high_s"}
TITLES = {
    "qos": "QOS",
    "hour": "hour of arrival",
    "day": "day of arrival",
}  # titles of groupings; others are titled by their names
NO_DATE = " Hours and days count from the beginning of the log, which has no date."
LONG_OPTION = 200  # at most this many letters of the options are shown


def write_backtest_page(output: Path, found: Backtest, steps: Waterfall | None, name: str) -> None:
    """Write the page of a back-test; ``name`` is that of the scenario tested."""
    write_page(backtest_page(found, steps, name), output)


def backtest_page(found: Backtest, steps: Waterfall | None, name: str) -> Content:
    """Return the contents of the page."""
    document = found.as_document()
    sections = [
        Section("summary", "Summary", _summary(document)),
        Section("jobs", "Job by job", ""),
        Section("usage", "Over time", ""),
        Section("groups", "By group", _groups(document["groups"], found.is_dated)),
        Section("furthest", "Furthest off", _furthest(found, document["furthest"], steps)),
    ]
    if steps is not None:
        sections.insert(4, Section("mechanisms", "What explains the waits", _mechanisms(steps)))
    sections.append(Section("provenance", "Provenance", facts(_provenance(found))))
    return Content(
        title=f"Back-test: how well does {found.scenario.policy} predict the waits of {name}?",
        lead=document["trust"],
        sections=sections,
        data={"start": start_s_of(found.scenario) or None, "backtest": _data(found)},
        scripts=("waiting.js", "backtest.js"),
    )


def _summary(document: Mapping[str, Any]) -> str:
    means = [document[of]["mean"] for of in ("actual_s", "predicted_s")]
    band_s, n = document["band_s"], document["replications"]
    of_band = "all runs are equal" if n > 1 or not document["is_random"] else "one run only"
    of_band = "a run of a perfect model is off as much" if band_s else of_band
    items = [
        ("Mean wait, actual", _time(means[0]), f"{document['jobs']:,} of {document['jobs_started']:,} jobs"),
        ("Mean wait, predicted", _time(means[1]), f"{n:,} run{'s' * (n != 1)}"),
        ("A job is off by", _time(document["error_s"]), "mean of the absolute errors"),
        ("Two runs differ by", _time(band_s), of_band),
        ("Order of the starts", f"{document['order']:.3f}", "rank correlation"),
    ]
    rows = [
        [words, *(_time(document[of][name]) for name in ("mean", *QUANTILES))]
        for words, of in (("actual", "actual_s"), ("predicted", "predicted_s"))
    ]
    return figures(items) + table("Waits", ["", "mean", *QUANTILES], rows)


def _groups(rows: list[dict[str, Any]], is_dated: bool) -> str:
    kinds = list(dict.fromkeys(row["by"] for row in rows))
    has_range = any(row["low_s"] < row["high_s"] for row in rows)
    names = {"actual": "actual_s", "predicted": "predicted_s"} | (RANGE if has_range else {})
    head = ["", "jobs", *names, ""]
    text = "An actual mean is marked if it is more than 10 % outside the range of the runs. "
    found = note(text + "Groups with few jobs differ by chance." + ("" if is_dated else NO_DATE))
    for kind in kinds:
        lines = [
            [row["group"] or "none", f"{row['jobs']:,}",
             *(_time(row[key]) for key in names.values()),
             "" if row["is_near"] else "outside"]
            for row in rows if row["by"] == kind
        ]  # fmt: skip
        found += table(f"Mean wait by {TITLES.get(kind, kind)}", head, lines)
    return found if kinds else note("All jobs are of one group.")


def _mechanisms(steps: Waterfall) -> str:
    document = steps.as_document()
    rows = [["the model", _time(document["error_s"]), "", ""]]
    rows += [
        [f"without {row['mechanism']}", _time(row["error_s"]), _more(row["contributes_s"]), _time(row["mean_s"])]
        for row in document["without"]
    ]
    rows.append(["without any of them", _time(document["error_without_any_s"]), "", ""])
    text = "Each is switched off by itself, and all jobs are predicted again. They overlap, so the parts do not add up."
    head = ["", "a job is off by", "more than the model", "mean wait"]
    return notice(steps.words()) + note(text) + table("Without each mechanism", head, rows)


def _furthest(found: Backtest, rows: list[dict[str, Any]], steps: Waterfall | None) -> str:
    order = np.argsort(-np.abs(found.mean_s - found.actual_s), kind="stable")[:MOST_FURTHEST]
    lines, has_of = [], any(map(owner_of, rows))
    for i, row in zip(order.tolist(), rows, strict=True):
        why = row["why"]
        if steps is not None and (
            name := steps.nearer_without(int(found.job[i]), abs(row["actual_s"] - row["predicted_s"]))
        ):
            why += f"; nearer without {name}"
        of = owner_of(row)
        waits = (_time(row["actual_s"]), _time(row["predicted_s"]))
        lines.append([str(row["job_id"]), *waits, row.get("CPUs", ""), *([of] if has_of else []), why])
    heads = ["job", "actual", "predicted", "CPUs", *(["of"] if has_of else []), "why"]
    return table("Jobs", heads, lines, is_caption_seen=False, has_texts=True)


def _provenance(found: Backtest) -> list[tuple[str, str]]:
    scenario = found.scenario
    options = options_text(dict(scenario.options or {}))
    shown = options if len(options) <= LONG_OPTION else options[:LONG_OPTION] + " ..."
    return [
        ("Policy", str(scenario.policy)),
        ("Options", shown or "none"),
        (
            "Jobs",
            f"{scenario.workload.n_jobs:,}; {found.n_actual:,} actually started, {len(found.job):,} also in each run",
        ),
        ("Runs", f"{len(found.predicted_s):,}, seeds from {scenario.seed}"),
    ]


def _data(found: Backtest) -> dict[str, Any]:
    """Return the data of the charts: jobs in the order of their actual waits, and the CPUs in use over time."""
    n = len(found.job)
    order = np.argsort(found.actual_s, kind="stable")
    dots = order[np.linspace(0, n - 1, min(n, MOST_DOTS)).astype(np.int64)]
    ranks = [np.argsort(np.argsort(s, kind="stable")) + 1 for s in (found.actual_start_s, found.predicted_start_s)]
    numbers = found.scenario.workload.job_id
    starts = [found.actual_start_s, *found.begin_s]
    end_s = max(float((begin + found.run_s).max()) for begin in starts)
    edges = np.linspace(0.0, end_s or 1.0, N_INTERVALS + 1)
    cpus, ones = cpus_of(found.scenario.workload)[found.job], np.ones(n)
    waits = [found.actual_s, *found.predicted_s]
    used = [in_use(begin, begin + found.run_s, cpus, edges) for begin in starts]
    queued = [in_use(begin - wait, begin, ones, edges) for begin, wait in zip(starts, waits, strict=True)]
    return {
        "jobs": {
            "name": [int(found.job[i] if numbers is None else numbers[found.job[i]]) for i in dots],
            "actual": rounded(found.actual_s[dots]), "predicted": rounded(found.mean_s[dots]),
            "actual_rank": ranks[0][dots].tolist(), "predicted_rank": ranks[1][dots].tolist(),
        },
        "edges_us": rounded(edges * 1e6, 9),
        "used": [rounded(used[0], 4), rounded(np.mean(used[1:], axis=0), 4)],
        "queued": [rounded(queued[0], 4), rounded(np.mean(queued[1:], axis=0), 4)],
    }  # fmt: skip


def _time(s: float | None) -> str:
    return "-" if s is None else "0 s" if s == 0.0 else format_time_us(s * 1e6)


def _more(s: float | None) -> str:
    return "-" if s is None else ("+" if s >= 0 else "-") + format_time_us(abs(s) * 1e6)
