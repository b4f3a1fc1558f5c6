"""A run's numbers as tables that fit on a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from vinesim.cli.unfinished import undone_jobs, unfinished
from vinesim.formats.source.options_text import options_text
from vinesim.formats.source.quantities import time_or_dash
from vinesim.metrics.numbers import differ
from vinesim.model.result import ExitReason, Result

LATENCIES = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}
LEFT_OUT = ("p99_9", "p90", "p50")  # dropped in this order if the terminal is too narrow; summary.json has them all
MAX_APPLICATIONS = 12
WIDEST = 1000  # columns; wider than any table
STATES = {"active": "active", "idle": "idle", "sleep": "asleep", "wake_up": "wake-ups", "migration": "migrations"}


def print_summary(result: Result, out: Path | None) -> None:
    """Print the summary of a run for people."""
    console = Console(highlight=False)
    summary = result.summary
    if result.exit_reason is not ExitReason.ALL_DONE:
        console.print(unfinished(result), style="bold", markup=False)
    console.print(latency_table(summary, console, _started(result)))
    console.print(_run_table(summary, _load(result), undone_jobs(summary["jobs"])))
    if out is not None:
        console.print(f"The result folder is {out}: summary.json and the tables as Parquet files.")


def _started(result: Result) -> dict[str, int]:
    """Return how many jobs and tasks started: these have waiting times, also those that did not finish."""
    times = {"jobs": result.jobs["start_us"], "tasks": result.outcome.task_init_us}
    return {group: int(np.isfinite(time_us).sum()) for group, time_us in times.items()}


def latency_table(summary: dict[str, Any], console: Console, started: Mapping[str, int]) -> Table:
    """Return the latencies with as many columns as fit, because a time split over two lines is hard to read."""
    shown = list(LATENCIES)
    table = _latencies(summary, shown, started)
    unbound = console.options.update(width=WIDEST)
    for quantile in LEFT_OUT:
        if console.measure(table, options=unbound).maximum <= console.width:
            break
        shown.remove(quantile)
        table = _latencies(summary, shown, started)
    return table


def _latencies(summary: dict[str, Any], shown: list[str], started: Mapping[str, int]) -> Table:
    table = Table(title="Latency", title_justify="left", box=SIMPLE, pad_edge=False)
    for title in ("", "count", *(LATENCIES[quantile] for quantile in shown)):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name, key, group in (
        ("jobs", "latency_us", "jobs"),
        ("tasks", "latency_us", "tasks"),
        ("response", "response_us", "tasks"),
        ("waiting, jobs", "wait_us", "jobs"),
        ("waiting, tasks", "wait_us", "tasks"),
    ):
        if key not in summary[group]:
            continue
        times = [time_or_dash(summary[group][key][quantile]) for quantile in shown]
        count = started[group] if key == "wait_us" else summary[group]["finished"]
        table.add_row(name, f"{count:,}", *times)
    return table


def _load(result: Result) -> float | None:
    """Return the share of all capacity that the run's work takes of the time in which its jobs arrived; None if they
    arrived at once, or if work is left."""
    arrived_us = np.ptp(result.jobs["arrival_us"]) if result.exit_reason is ExitReason.ALL_DONE else 0.0
    return result.summary["utilization"]["overall"] * result.summary["makespan_us"] / arrived_us if arrived_us else None


def _run_table(summary: dict[str, Any], load: float | None, undone: Mapping[str, int]) -> Table:
    provenance = summary["provenance"]
    table = Table(title="Run", title_justify="left", show_header=False, box=SIMPLE, pad_edge=False)
    table.add_column("")
    table.add_column("", justify="right")
    options = options_text(provenance["options"])
    table.add_row("policy", provenance["policy"] + (f" ({options})" if options else ""))
    if "period_us" in provenance:
        table.add_row("period", time_or_dash(provenance["period_us"]))
    for words, n_jobs in undone.items():
        if n_jobs:
            table.add_row(words, f"{n_jobs:,}")
    shares = summary["utilization"]
    are_two = differ(shares)
    for title, of in (("allocated" if are_two else "utilisation", shares), *[("active", shares["active"])] * are_two):
        table.add_row(f"{title}, overall", f"{of['overall']:.1%}")
        for name, share in of["by_type"].items():
            table.add_row(f"{title}, {name}", f"{share:.1%}")
    table.add_row("makespan", time_or_dash(summary["makespan_us"]))
    if load is not None:
        table.add_row("load, work done per time of arrivals", f"{load:.1%}")
    cost, energy = summary["cost"]["purchase"], summary["energy_j"]
    table.add_row("cost of purchase", "no price list" if cost is None else f"{cost:,.0f}")
    if energy is not None:
        table.add_row("energy", f"{energy:,.3f} J")
        grid = summary["energy"]
        for state, joule in grid["by_state"].items():
            if joule > 0:
                table.add_row(f"energy, {STATES[state]}", f"{joule:,.3f} J")
        if "cost" in grid or "carbon_g" in grid:
            table.add_row("from the grid", f"{grid['kwh']:,.4g} kWh")
        if "cost" in grid:
            table.add_row("cost of electricity", f"{grid['cost']:,.4g}")
        if "carbon_g" in grid:
            table.add_row("carbon dioxide", f"{grid['carbon_g']:,.4g} g")
    periods = summary.get("periods")
    if periods is not None:
        if periods["gap_pct"] is not None:
            bound, gap = f"{periods['bound_j']:,.3f} J", f"{periods['gap_pct']:+.2f} %"
            table.add_row("lower bound within capacity", f"{bound}; this run {gap}")
        if periods.get("infeasible"):
            found = f"none: too much for any placement in {periods['infeasible']:,} of {periods['count']:,} periods"
            table.add_row("optimum within capacity", found)
        elif periods.get("optimum_gap_pct") is not None:
            least, gap = f"{periods['optimum_j']:,.3f} J", f"{periods['optimum_gap_pct']:+.2f} %"
            table.add_row("optimum within capacity, proven", f"{least}; this run {gap}")
        table.add_row("demand beyond capacity (SLAV)", f"{periods['slav']:,.0f}")
    if "bound" in summary:
        table.add_row("lower bound of any schedule", _bound(summary["bound"]))
        table.add_row("solved in", f"{provenance['plan_s']:.2f} s")
    slowdown = summary["jobs"].get("bounded_slowdown")
    if slowdown is not None and slowdown["mean"] is not None:
        table.add_row("bounded slowdown of jobs", f"mean {slowdown['mean']:,.4g}, p99 {slowdown['p99']:,.4g}")
    for name, of in _applications(summary):
        shown = f"{of['missed_pct']:.3f} % of {of['requests']:,}; p99 {time_or_dash(of['latency_us']['p99'])}"
        table.add_row(f"missed, {name}", shown)
    if "deadlines" in summary:
        table.add_row("deadlines missed", f"{summary['deadlines']['missed_pct']:.3f} %")
    wall = provenance["wall_s"]
    rate = summary["tasks"]["finished"] / wall if wall > 0 else 0.0
    table.add_row("simulated in", f"{wall:.3f} s, {rate:,.0f} tasks/s")
    return table


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
