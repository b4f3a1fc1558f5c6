"""The page of two runs: how they differ, the numbers of both, and one chart each of their tails and queues."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.formats.source.options_text import option_text, options_text
from vinesim.formats.source.quantities import amount_words, format_time_us, time_or_dash
from vinesim.metrics.numbers import flat, numbers, shown_number
from vinesim.metrics.queue import queues_of
from vinesim.model.titles import number_title
from vinesim.report.breakdown import breakdown_of_two
from vinesim.report.distributions import distributions_of_runs
from vinesim.report.markup import Content, Section, note, notice, table
from vinesim.report.rounding import rounded
from vinesim.studies.backtest_record import note_of, record_of_run
from vinesim.studies.statistics import Interval, mean_interval

N_INTERVALS = 200
N_BATCHES = 20  # batches of successive jobs, for the interval of the mean difference
FEWEST_JOBS = 200  # for batches of 10 jobs
SHOWN = (
    *(f"jobs.latency_us.{name}" for name in ("mean", "p50", "p90", "p99", "p99_9", "max")),
    *("jobs.wait_us.mean", "jobs.wait_us.p99", "jobs.finished", "utilization.overall", "utilization.active.overall"),
    *("makespan_us", "energy_j", "energy.cost", "cost.purchase", "deadlines.missed_pct"),
    *(f"serving.{time}.{name}" for time in ("first_token_us", "token_us") for name in ("mean", "p50", "p90", "p99")),
    *("serving.output_tokens_per_s", "serving.goodput_per_s", "serving.goodput_pct", "serving.preemptions"),
)
_JOBS = "SELECT arrival_us, tasks, task_type, latency_us FROM jobs ORDER BY job"


def two_runs_page(first: Path, second: Path) -> Content:
    """Build the page of the runs in two result folders. Raises :class:`~vinesim.model.errors.InputError`."""
    names = names_of(first, second)
    with open_result(first) as one, open_result(second) as other:
        results = dict(zip(names, (one, other), strict=True))
        both = [result.columns(_JOBS) for result in results.values()]
        is_same = all(np.array_equal(both[0][name], both[1][name]) for name in ("arrival_us", "tasks", "task_type"))
        errors = filter(None, (note_of(record_of_run(folder)) for folder in (first, second)))
        said = "".join(map(notice, dict.fromkeys(errors)))
        sections = [
            Section("settings", "What differs", _what_differs(names, one, other)),
            Section("numbers", "Numbers", said + _numbers(names, one, other) + note(_paired(both, is_same))),
            Section("latency", "Latency", ""),
            Section("waiting", "Queue", '<div id="waiting-charts"></div>'),
        ]
        if parts := breakdown_of_two(names, one, other):
            sections.append(Section("breakdown", "Whose jobs", parts))
        means = [time_or_dash(result.summary["jobs"]["latency_us"]["mean"]) for result in results.values()]
        return Content(
            title=f"How do {names[0]} and {names[1]} differ?",
            lead=f"a job takes {means[0]} in {names[0]}, {means[1]} in {names[1]} on average",
            sections=sections,
            data={"latency": distributions_of_runs(results), "waiting": _queues(results)},
            scripts=("latency.js", "waiting.js"),
        )


def names_of(first: Path, second: Path) -> list[str]:
    """Return the names of two folders; if they are equal, with those of their parents."""
    folders = [first.resolve(), second.resolve()]
    names = [folder.name for folder in folders]
    if names[0] == names[1]:
        names = [f"{folder.parent.name}/{folder.name}" for folder in folders]
    return names if names[0] != names[1] else ["first", "second"]


def settings_table(names: list[str], one: dict[str, str], other: dict[str, str]) -> str:
    """Build the table of the settings in which two runs or sweeps differ."""
    keys = [*one, *(key for key in other if key not in one)]
    rows = [[key, one.get(key, "-"), other.get(key, "-")] for key in keys if one.get(key) != other.get(key)]
    if not rows:
        return note("Nothing: they have the same settings.")
    found = table("Settings that differ", ["setting", *names], rows, has_texts=True)
    return found + note(f"Equal settings: {len(keys) - len(rows)}.")


def _settings(result: ResultTables, each_option: bool) -> dict[str, str]:
    """Return the settings of a run in words; ``each_option`` lists the policy's options one by one."""
    where, types = result.summary["provenance"], result.processor_types
    counts = result.rows("SELECT unit_type, count(*), sum(capacity) FROM units GROUP BY unit_type ORDER BY 1")
    n_racks, n_nodes = result.rows("SELECT count(DISTINCT rack), count(DISTINCT (rack, shelf)) FROM units")[0]
    n_jobs, n_tasks, last_us = result.rows("SELECT count(*), sum(tasks), max(arrival_us) FROM jobs")[0]
    options = where.get("options") or {}
    texts = {name: f"{value:g}" if isinstance(value, float) else option_text(value) for name, value in flat(options)}
    one_by_one = {f"option {name}": text for name, text in texts.items()}
    return {
        "policy": str(where["policy"]),
        **(one_by_one if each_option else {"options of the policy": options_text(options) or "none"}),
        "seed": str(where.get("seed")),
        "period": time_or_dash(where.get("period_us")),
        "racks": f"{n_racks:,}",
        "nodes": f"{n_nodes:,}",
        **{f"units of {types[code]}": _units(types[code], n, capacity) for code, n, capacity in counts},
        "jobs": f"{n_jobs:,} of {n_tasks:,} tasks",
        "last arrival": format_time_us(last_us),
        "ended with": str(result.summary["exit_reason"]),
        "version": str(where.get("version")),
    }


def _units(name: str, n: int, capacity: float) -> str:
    """Describe the number of units of a type, and their total capacity if it differs from that number."""
    return f"{n:,}" if capacity == n else f"{n:,}, {amount_words(name, capacity)} in all"


def _what_differs(names: list[str], one: ResultTables, other: ResultTables) -> str:
    """Build the table of differences. Settings that a result does not keep are compared only by scenario ids."""
    is_same_policy = one.summary["provenance"]["policy"] == other.summary["provenance"]["policy"]
    settings = _settings(one, is_same_policy), _settings(other, is_same_policy)
    ids = [result.summary["provenance"].get("content_id") for result in (one, other)]
    if settings[0] == settings[1] and ids[0] != ids[1]:
        return note(
            f"Something that results do not keep: compare the scenarios, with content ids {ids[0]} and {ids[1]}."
        )
    return settings_table(names, *settings)


def numbers_of_both(one: ResultTables, other: ResultTables, of: Sequence[str] = SHOWN) -> Table:
    """Return the numbers that both runs have: ``number``, ``first``, ``second``, ``difference``, ``ratio``."""
    known = [numbers(result.summary) for result in (one, other)]
    rows = []
    for name in of:
        values = [found.get(name, math.nan) for found in known]
        first, second = (value if isinstance(value, float) else math.nan for value in values)
        if not (math.isnan(first) and math.isnan(second)):
            rows.append((name, first, second, second - first, second / first if first else math.nan))
    names, *columns = list(zip(*rows, strict=True)) or [()] * 5
    words = ("first", "second", "difference", "ratio")
    found = {word: np.array(column, np.float64) for word, column in zip(words, columns, strict=True)}
    return Table({"number": np.array(names, object), **found})


def shown_numbers(found: Table) -> list[list[str]]:
    """Format the rows of :func:`numbers_of_both`, times with their units."""
    rows = []
    for name, *values, ratio in zip(*(column.tolist() for column in found.values()), strict=True):
        shown = [shown_number(name, value) for value in values]
        rows.append([number_title(name).words, *shown, f"{ratio:.3g}" if math.isfinite(ratio) else "-"])
    return rows


def _numbers(names: list[str], one: ResultTables, other: ResultTables) -> str:
    head = ["", *names, f"{names[1]} - {names[0]}", "ratio"]
    return table("Numbers of both", head, shown_numbers(numbers_of_both(one, other)))


def paired_interval(first_us: np.ndarray, second_us: np.ndarray) -> Interval:
    """Return the mean difference of the latencies of the same jobs in two runs, with an interval by batch means.

    Successive jobs are dependent, but large batches of them are nearly independent. All jobs count: batch sizes differ
    by at most one, and the mean is that of the jobs.

    Source: Law, Simulation Modeling and Analysis, 5th edition, section 9.5.3.
    """
    difference = second_us - first_us
    difference = difference[np.isfinite(difference)]
    if len(difference) < FEWEST_JOBS:
        return mean_interval(difference.mean(keepdims=True) if len(difference) else difference)
    found = mean_interval(np.array([batch.mean() for batch in np.array_split(difference, N_BATCHES)]))
    mean = float(difference.mean())
    half = (found.high - found.low) / 2
    return replace(found, estimate=mean, low=mean - half, high=mean + half)


def _paired(both: list[dict[str, np.ndarray]], is_same: bool) -> str:
    if not is_same:
        return (
            "The runs have different jobs, so their difference has no interval here: sweep both with the same seeds "
            "and compare the sweeps."
        )
    found = paired_interval(both[0]["latency_us"], both[1]["latency_us"])
    if found.estimate == found.low == found.high == 0:
        return "Both runs have the same jobs, and each took as long in both."
    mean = f"{format_time_us(abs(found.estimate))} {'less' if found.estimate < 0 else 'more'} on average in the second"
    if math.isnan(found.low):
        return f"Both runs have the same jobs. A job takes {mean}; too few jobs for an interval."
    low, high = format_time_us(found.low), format_time_us(found.high)
    clear = "The difference is clear" if found.low > 0 or found.high < 0 else "The difference is not clear"
    return (
        f"Both runs have the same jobs, so they are compared job by job. A job takes {mean}, 95 % interval of the "
        f"difference {low} to {high} ({N_BATCHES} batches of successive jobs). {clear}. It holds for this workload; "
        "for others like it, sweep over seeds."
    )


def _queues(results: dict[str, ResultTables]) -> dict[str, Any]:
    """Return the queues of both runs in the same intervals."""
    end_us = max(float(result.summary["makespan_us"]) for result in results.values())
    edges = np.linspace(0.0, end_us or 1.0, N_INTERVALS + 1)
    found = []
    for name, result in results.items():
        (queue,) = queues_of(result, [None])
        found.append({"name": name, "values": rounded(queue.means(edges), 4)})
    return {"edges_us": rounded(edges, 7), "queue": found, "marks": [], "cause_edges_us": [], "causes": []}
