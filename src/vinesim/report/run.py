"""The page of one run."""

from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import format_time_us, time_or_dash
from vinesim.metrics.activity import stored_activity
from vinesim.metrics.numbers import differ, joules, not_finished, shown_number
from vinesim.metrics.overload import overload_of_run
from vinesim.metrics.quota_use import QUOTA_TITLES, quota_rows
from vinesim.report.breakdown import breakdown
from vinesim.report.distributions import distributions
from vinesim.report.markup import Content, Section, counted, facts, figures, notice, table
from vinesim.report.racks import racks_of
from vinesim.report.rounding import rounded
from vinesim.report.serving import serving_figures, token_rows
from vinesim.report.usage import usage
from vinesim.report.waiting import waiting

LATENCIES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}
REASONS = {
    "ALL_DONE": "Every task has finished.",
    "HORIZON": "The run reached the horizon of the scenario before the last task was done.",
    "STALLED": "Some pending tasks can never run.",
    "ENDLESS": "Only tasks that never end are left.",
    "INTERRUPTED": "The run was interrupted.",
}
MAX_PERIODS = 2000


def run_page(folder: Path, error: str | None = None) -> Content:
    """Build the page of the run in a result folder; ``error`` is a sentence about the error of the model.

    Raises :class:`~vinesim.model.errors.InputError`.
    """
    with open_result(folder) as result:
        names = result.processor_types
        units = result.columns("SELECT unit_type FROM units ORDER BY unit")["unit_type"]
        order = {code: place for place, code in enumerate(names)}
        activity = stored_activity(result)
        type_of_unit = np.array([order[code] for code in units.tolist()], np.int64)
        why, waits = waiting(result)
        data = {
            "start": result.clock.start_s,
            "types": list(names.values()),
            "latency": distributions(result),
            "usage": usage(result, activity, list(names.values()), type_of_unit),
            "racks": racks_of(activity, order, result.place_names),
            "waiting": waits,
        }
        counts = {name: int((type_of_unit == order[code]).sum()) for code, name in names.items()}
        sections = [
            Section("summary", "Summary", ("" if error is None else notice(error)) + _summary(result, counts)),
            Section("latency", "Latency", ""),
            Section("waiting", "Why jobs wait", why),
            Section("usage", "Utilisation over time", ""),
            Section("racks", "Racks", ""),
        ]
        if parts := breakdown(result):
            sections.insert(2, Section("breakdown", "Whose jobs", parts))
        if "periods" in result.names:
            data["periods"] = _periods(result)
            sections.append(Section("periods", "Periods", ""))
        sections.append(Section("provenance", "Provenance", facts(_provenance(result.summary))))
        return Content(
            title=_title(result.summary, len(units)),
            lead=f"{result.folder.resolve().name}: {_lead(result.summary)}",
            sections=sections,
            data=data,
            scripts=("latency.js", "waiting.js", "usage.js", "rack_layout.js", "racks.js", "periods.js"),
        )


def _title(summary: dict[str, Any], n_units: int) -> str:
    jobs, tasks = summary["jobs"]["count"], summary["tasks"]["count"]
    work = f"{counted(jobs, 'job')}, {counted(tasks, 'task')}"
    return f"{work} on {counted(n_units, 'unit')}, policy {summary['provenance']['policy']}"


def _lead(summary: dict[str, Any]) -> str:
    mean = summary["jobs"]["latency_us"]["mean"]
    ended = format_time_us(summary["makespan_us"])
    if mean is None:
        return f"no job is done after {ended}"
    return f"a job takes {format_time_us(mean)} on average; the run ends after {ended}"


def _summary(result: ResultTables, counts: dict[str, int]) -> str:
    """Build the summary, the numbers that the terminal also shows."""
    summary, clock = result.summary, result.clock
    latency, waits = summary["jobs"]["latency_us"], summary["jobs"].get("wait_us")
    headline = [
        ("Mean latency of jobs", time_or_dash(latency["mean"]), f"{summary['jobs']['finished']:,} done"),
        ("p99 latency of jobs", time_or_dash(latency["p99"]), f"max {time_or_dash(latency['max'])}"),
        *([] if waits is None else [("Mean wait of jobs", time_or_dash(waits["mean"]), _waits(waits))]),
        _used(summary["utilization"]),
        ("Makespan", time_or_dash(summary["makespan_us"]), _dates(clock, summary["makespan_us"])),
    ]
    if why := _not_finished(summary["jobs"]):
        headline.append(("Jobs not finished", f"{summary['jobs']['count'] - summary['jobs']['finished']:,}", why))
    if summary["energy_j"] is not None:
        headline.append(("Energy", joules(summary["energy_j"]), ""))
    if summary["cost"]["purchase"] is not None:
        headline.append(("Cost of purchase", shown_number("cost.purchase", summary["cost"]["purchase"]), ""))
    if "deadlines" in summary:
        missed = summary["deadlines"]
        headline.append(("Deadlines missed", f"{missed['missed_pct']:.3f} %", counted(missed["missed"], "job")))
    if "serving" in summary:
        headline += serving_figures(summary["serving"])
    started = {
        "jobs": result.rows("SELECT count(start_us) FROM jobs")[0][0],
        "tasks": result.rows("SELECT count(init_us) FROM tasks")[0][0],
    }
    of_tokens = token_rows(result, summary["serving"]) if "serving" in summary else []
    rows = [
        [
            name,
            f"{counted:,}",
            *(time_or_dash(summary[group][key][quantile]) for quantile in LATENCIES),
        ]
        for name, group, key, counted in (
            ("jobs", "jobs", "latency_us", summary["jobs"]["finished"]),
            ("tasks", "tasks", "latency_us", summary["tasks"]["finished"]),
            ("response", "tasks", "response_us", summary["tasks"]["finished"]),
            ("waiting, jobs", "jobs", "wait_us", started["jobs"]),
            ("waiting, tasks", "tasks", "wait_us", started["tasks"]),
            *of_tokens,
        )
        if key in summary[group]
    ]
    titles, shares = _by_type(summary["utilization"], counts)
    quotas = ""
    if "quotas" in summary:
        heads = ["partition and types", *QUOTA_TITLES.values()]
        quotas = table("Quotas of partitions, means over the run", heads, quota_rows(summary["quotas"]))
    warning = "" if summary["exit_reason"] == "ALL_DONE" else notice(_ended(summary))
    if note := overload_of_run(summary):
        warning += notice(note)
    return (
        warning
        + figures(headline)
        + '<div class="side-by-side">'
        + table("Latency and waits", ["", "count", *LATENCIES.values()], rows)
        + table("Utilisation by type", titles, shares)
        + "</div>"
        + quotas
    )


def _waits(waits: dict[str, float | None]) -> str:
    return f"p90 {time_or_dash(waits['p90'])}, p99 {time_or_dash(waits['p99'])}"


def _dates(clock: Clock, end_us: float) -> str:
    """Describe when the run began and ended; empty if it has no dates."""
    return "" if clock.start is None else clock.span(0.0, end_us)


def _not_finished(jobs: dict[str, Any]) -> str:
    """Describe why jobs did not finish; empty if all did."""
    return ", ".join(f"{n:,} {words}" for words, n in not_finished(jobs, "left").items() if n)


def _used(shares: dict[str, Any]) -> tuple[str, str, str]:
    """Return the headline of the utilisation, with both measures if they differ."""
    allocated = f"{shares['overall']:.1%}"
    if not differ(shares):
        return "Utilisation", allocated, "of all units"
    return (
        "Allocated",
        allocated,
        f"of all capacity; units were active for {shares['active']['overall']:.1%} of the time",
    )


def _by_type(shares: dict[str, Any], counts: dict[str, int]) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the table by processor type."""
    active = shares["active"]["by_type"] if differ(shares) else {}
    rows = [
        [name, f"{counts.get(name, 0):,}", f"{share:.1%}", *([f"{active[name]:.1%}"] if active else [])]
        for name, share in shares["by_type"].items()
    ]
    return ["type", "units", *(["allocated", "active"] if active else ["utilisation"])], rows


def _ended(summary: dict[str, Any]) -> str:
    words = REASONS.get(summary["exit_reason"], summary["exit_reason"])
    tasks = summary["tasks"]
    if summary["exit_reason"] == "ALL_DONE" and tasks["finished"] == tasks["count"]:
        return words
    if summary["exit_reason"] == "ALL_DONE":
        left = tasks["count"] - tasks["finished"]
        rest = f"the other {left:,} were killed by their limit, withdrawn or dropped"
        return f"Complete: {tasks['finished']:,} tasks finished, {rest}."
    done = f"{tasks['finished']:,} of {tasks['count']:,} tasks are done."
    reason = summary["provenance"].get("reason")
    return f"{words} {done}" + (f" {reason[0].upper()}{reason[1:]}." if reason else "")


def _provenance(summary: dict[str, Any]) -> list[tuple[str, str]]:
    where = summary["provenance"]
    options = options_text(where.get("options") or {})
    facts = [
        ("Policy", str(where["policy"])),
        ("Options of the policy", options or "none"),
        *([("Period", time_or_dash(where["period_us"]))] if "period_us" in where else []),
        ("Seed", str(where.get("seed"))),
        ("Content id of the scenario", str(where.get("content_id"))),
        ("Ended with", f"{summary['exit_reason']}: {_ended(summary)}"),
        ("VineSim", str(where.get("version"))),
        ("Engine", str(where.get("engine"))),
    ]
    if where.get("events") is not None:
        facts.append(("Events", f"{where['events']:,}"))
    if where.get("wall_s") is not None:
        facts.append(("Simulated in", f"{where['wall_s']:.3f} s"))
    return facts


def _periods(result: ResultTables) -> dict[str, Any]:
    """Return at most MAX_PERIODS rows of the periods; if there are more, neighbouring periods are averaged."""
    n = result.rows("SELECT coalesce(sum(n_periods), 0) FROM periods")[0][0]
    stride = max(1, -(-int(n) // MAX_PERIODS))
    found = result.columns(
        "SELECT min(period) AS period, sum(active * n_periods) / sum(n_periods) AS active, "
        "sum(energy_j) / sum(n_periods) AS energy_j, sum(slav) / sum(n_periods) AS slav "
        "FROM periods GROUP BY period // $stride ORDER BY 1",
        {"stride": stride},
    )
    return {"stride": stride, **{name: rounded(values) for name, values in found.items()}}
