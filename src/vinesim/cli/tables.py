"""A run's numbers as tables that fit on a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from vinesim.cli.console import Console
from vinesim.cli.unfinished import undone_jobs, unfinished
from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import time_or_dash
from vinesim.metrics.numbers import differ, joules, written
from vinesim.metrics.overload import overload_of_run
from vinesim.metrics.quota_use import QUOTA_TITLES, quota_rows
from vinesim.metrics.serving import per_token, transfer_us
from vinesim.model.result import ExitReason
from vinesim.result import Result
from vinesim.studies.backtest_record import note_of

LATENCIES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}
LEFT_OUT = ("p90", "p50", "p99_9")  # dropped in this order if the terminal is too narrow; summary.json has them all
MAX_APPLICATIONS = 12
LONGEST_OPTIONS = 200  # characters; those of the site of a Slurm cluster take a screen
WIDEST = 1000  # columns; wider than any table
STATES = {"active": "active", "idle": "idle", "sleep": "asleep", "wake_up": "wake-ups", "migration": "migrations"}


def print_summary(result: Result, out: Path | None, titles: Mapping[str, str] = LATENCIES) -> None:
    """Print the summary of a run for people; ``titles`` are those of the quantiles of latencies."""
    console = Console()
    summary = result.summary
    if result.exit_reason is not ExitReason.ALL_DONE:
        console.print(unfinished(result), style="bold")
    console.print(latency_table(summary, console, _started(result), titles))
    console.print(_run_table(summary, undone_jobs(summary["jobs"])))
    if "quotas" in summary:
        console.print(_quota_table(summary["quotas"]))
    if note := overload_of_run(summary):
        console.print(note)
    if out is not None:
        console.print(f"The result folder is {out}: summary.json and the tables as Parquet files.")


def print_error(error: Mapping[str, Any] | None) -> None:
    """Print the error of the model that a back-test of the same jobs found, if one is known."""
    if text := note_of(error):
        Console().print(text)


def _started(result: Result) -> dict[str, int]:
    """Return how many jobs and tasks the rows are of that are not only of those that finished."""
    times = {"waiting, jobs": result.jobs["start_us"], "waiting, tasks": result.outcome.task_init_us}
    if result.outcome.serving is not None:
        tasks = result.tasks
        times |= {"first token": tasks["first_token_us"], "queue": tasks["scheduled_us"]}
        times["transfer of the cache"] = transfer_us(result.outcome)
        times["per token"] = tasks["finish_us"][tasks["output_tokens"] > 1]
    return {row: int(np.isfinite(time_us).sum()) for row, time_us in times.items()}


def latency_table(
    summary: dict[str, Any], console: Console, started: Mapping[str, int], titles: Mapping[str, str] = LATENCIES
) -> Table:
    """Return the latencies with as many columns as fit, because a time split over two lines is hard to read."""
    shown = dict(titles)
    table = _latencies(summary, shown, started)
    unbound = console.options.update(width=WIDEST)
    for quantile in LEFT_OUT:
        if console.measure(table, options=unbound).maximum <= console.width:
            break
        shown.pop(quantile, None)
        table = _latencies(summary, shown, started)
    return table


def _latencies(summary: dict[str, Any], shown: Mapping[str, str], started: Mapping[str, int]) -> Table:
    table = Table(title="Latency", title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("", "count", *shown.values()):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name, key, group in (
        ("jobs", "latency_us", "jobs"),
        ("tasks", "latency_us", "tasks"),
        ("response", "response_us", "tasks"),
        ("waiting, jobs", "wait_us", "jobs"),
        ("waiting, tasks", "wait_us", "tasks"),
        ("first token", "first_token_us", "serving"),
        ("per token", "token_us", "serving"),
        ("queue", "queue_us", "serving"),
        ("transfer of the cache", "transfer_us", "serving"),
    ):
        if key not in summary.get(group, {}):
            continue
        times = [time_or_dash(summary[group][key][quantile]) for quantile in shown]
        count = started.get(name, summary["tasks" if group == "serving" else group]["finished"])
        table.add_row(name, f"{count:,}", *times)
    return table


def _quota_table(quotas: Mapping[str, Any]) -> Table:
    title = "Quotas of partitions, means over the run"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("", *QUOTA_TITLES.values()):
        table.add_column(title, justify="right" if title else "left")
    for row in quota_rows(quotas):
        table.add_row(*row)
    return table


def _run_table(summary: dict[str, Any], undone: Mapping[str, int]) -> Table:
    provenance = summary["provenance"]
    table = Table(title="Run", title_justify="left", show_header=False, box=SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold")
    table.add_column("", justify="right", overflow="fold")
    options = options_text(provenance["options"])
    if len(options) > LONGEST_OPTIONS:
        options = f"{len(provenance['options'])} options, listed by --json"
    table.add_row("policy", provenance["policy"] + (f" ({options})" if options else ""))
    if "period_us" in provenance:
        table.add_row("period", time_or_dash(provenance["period_us"]))
    for words, n_jobs in undone.items():
        if n_jobs:
            table.add_row(words, f"{n_jobs:,}")
    for row in _shares(summary["utilization"]):
        table.add_row(*row)
    table.add_row("makespan", time_or_dash(summary["makespan_us"]))
    if (load := summary["load"]["overall"]) is not None:
        table.add_row("load (work / capacity while jobs arrive)", f"{load:,.1%}")
    cost = summary["cost"]["purchase"]
    table.add_row("cost of purchase", "no price list" if cost is None else written(cost))
    for row in (*_energy(summary), *_periods(summary.get("periods"))):
        table.add_row(*row)
    if "bound" in summary:
        table.add_row("lower bound of any schedule", _bound(summary["bound"]))
        table.add_row("solved in", f"{provenance['plan_s']:.2f} s")
    slowdown = summary["jobs"].get("bounded_slowdown")
    if slowdown is not None and slowdown["mean"] is not None:
        table.add_row("bounded slowdown of jobs", f"mean {slowdown['mean']:,.4g}, p99 {slowdown['p99']:,.4g}")
    for name, of in _applications(summary):
        shown = f"{of['missed_pct']:.3f} % of {of['requests']:,}; p99 {time_or_dash(of['latency_us']['p99'])}"
        table.add_row(f"missed, {name}", shown)
    for row in _serving(summary.get("serving")):
        table.add_row(*row)
    if "deadlines" in summary:
        table.add_row("deadlines missed", f"{summary['deadlines']['missed_pct']:.3f} %")
    wall = provenance["wall_s"]
    rate = summary["tasks"]["finished"] / wall if wall > 0 else 0.0
    table.add_row("simulated in", f"{wall:.3f} s, {rate:,.0f} tasks/s")
    return table


def _shares(allocated: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows about what was allocated and, where it differs, active."""
    are_two, rows = differ(allocated), []
    shares = {"allocated": allocated, "active": allocated["active"]} if are_two else {"utilisation": allocated}
    for title, of in shares.items():
        rows.append((f"{title}, overall", f"{of['overall']:.1%}"))
        rows += [(f"{title}, {name}", f"{share:.1%}") for name, share in of["by_type"].items()]
    return rows


def _energy(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows about energy, and what it costs and emits."""
    if summary["energy_j"] is None:
        return []
    grid = summary["energy"]
    rows = [("energy", joules(summary["energy_j"]))]
    rows += [(f"energy, {STATES[state]}", joules(joule)) for state, joule in grid["by_state"].items() if joule > 0]
    if "cost" in grid or "carbon_g" in grid:
        rows.append(("from the grid", f"{grid['kwh']:,.4g} kWh"))
    if "cost" in grid:
        rows.append(("cost of electricity", f"{grid['cost']:,.4g}"))
    if "carbon_g" in grid:
        rows.append(("carbon dioxide", f"{grid['carbon_g']:,.4g} g"))
    return rows


def _periods(periods: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the rows about the periods of a batch policy: how close it came to the bound and to the optimum."""
    if periods is None:
        return []
    rows = []
    if periods["gap_pct"] is not None:
        bound, gap = f"{joules(periods['bound_j'])}", f"{periods['gap_pct']:+.2f} %"
        rows.append(("lower bound within capacity", f"{bound}; this run {gap}"))
    if periods.get("infeasible"):
        found = f"none: too much for any placement in {periods['infeasible']:,} of {periods['count']:,} periods"
        rows.append(("optimum within capacity", found))
    elif periods.get("optimum_gap_pct") is not None:
        least, gap = f"{joules(periods['optimum_j'])}", f"{periods['optimum_gap_pct']:+.2f} %"
        rows.append(("optimum within capacity, proven", f"{least}; this run {gap}"))
    return [*rows, ("demand beyond capacity (SLAV)", written(periods["slav"]))]


def _serving(serving: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return the rows about serving engines."""
    if serving is None:
        return []
    rows = [("output tokens", f"{serving['output_tokens_per_s']:,.4g}/s")]
    if "goodput_pct" in serving:
        found = f"{serving['goodput_pct']:.2f} % of requests, {serving['goodput_per_s']:,.4g}/s"
        rows.append(("within both times (goodput)", found))
    memory = serving["memory"]
    rows.append(("memory of engines in use", f"{memory['mean']:.1%} on average, at most {memory['peak']:.1%}"))
    if "prefix_found_pct" in serving:
        rows.append(("prompt tokens found in memory", f"{serving['prefix_found_pct']:.1f} %"))
    rows += [(title[:1].lower() + title[1:], value) for title, value in per_token(serving)]
    return [*rows, ("preemptions by engines", f"{serving['preemptions']:,}")]


def _applications(summary: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the applications of a run that miss the most, by name, worst first."""
    found = [(name, of) for name, of in summary.get("applications", {}).items() if "requests" in of]
    return sorted(found, key=lambda one: -one[1]["missed_pct"])[:MAX_APPLICATIONS]


def _bound(bound: dict[str, Any]) -> str:
    what = "" if bound["objective"] == "makespan" else ", sum of finish times"
    if bound["status"] == "OPTIMAL":
        return f"{time_or_dash(bound['bound_us'])}{what}: this one is optimal"
    gap = "not all is done" if bound["gap_pct"] is None else f"this run {bound['gap_pct']:+.2f} %"
    return f"{time_or_dash(bound['bound_us'])}{what}; {gap}"
