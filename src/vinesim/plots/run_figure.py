"""Figures of runs: distributions and tails of times, the queue and the utilisation over time, and the Gantt chart."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.units import Display, displayed
from vinesim.metrics.activity import stored_activity
from vinesim.metrics.by import TABLES, groups
from vinesim.metrics.queue import queues_of
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.times import Times, times_with
from vinesim.model.errors import InputError, Problem
from vinesim.model.titles import Title, number_title
from vinesim.plots.gantt import gantt_figure
from vinesim.plots.lines import Axis, Line, Panel, line_figure
from vinesim.plots.series import Series, SeriesPanel, series_figure
from vinesim.plots.units import times_of_runs
from vinesim.plots.wanted import OF_RUNS, Wanted

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

N_BINS = 60
MAX_LINES = 10  # most lines of a figure: the labels of an axis with the most jobs or tasks
N_INTERVALS = 200
MAX_POINTS = 2000  # of a line; a longer one keeps all of its largest values, and others evenly spaced on a log axis
OVER_TIME = {
    "queue": Title("waiting tasks"),
    "utilization": Title("utilisation", "share"),
    "active": Title("active units", "share"),
}
TASK_TYPE = "task_type"
OF_A_SWEEP = ("panel", "where", "confidence")


def run_figure(folders: Mapping[str, Path], wanted: Wanted) -> "Figure":
    """Return the figure of one or several result folders, given by name. Raises :class:`InputError`."""
    wanted.check_kind(OF_RUNS, "runs")
    kind = wanted.kind or "tail"
    wanted.check_unused(kind, OF_A_SWEEP)
    with ExitStack() as stack:
        results = {name: stack.enter_context(open_result(folder)) for name, folder in folders.items()}
        if kind == "gantt":
            return _gantt(results, wanted)
        wanted.check_unused(kind, ("color",))
        return _timeline(results, wanted) if kind == "timeline" else _times(results, kind, wanted)


def _gantt(results: Mapping[str, ResultTables], wanted: Wanted) -> "Figure":
    wanted.check_unused("gantt", ("x", "y", "by", "log", "x_unit", "y_unit", "x_label", "y_label"))
    if len(results) > 1:
        raise InputError([Problem("--kind gantt", "the folder of one run", f"{len(results)}")])
    (result,) = results.values()
    figure, _ = gantt_figure(result, wanted.from_us, wanted.to_us, wanted.color, wanted.look)
    if wanted.title is not None:
        figure.axes[0].set_title(wanted.title, loc="left")
    return figure


def _times(results: Mapping[str, ResultTables], kind: str, wanted: Wanted) -> "Figure":
    """Draw the distribution of a time, one line for each run, or for each label on an axis of the jobs."""
    wanted.check_unused(kind, ("y", "y_unit", "from_us", "to_us"))
    name = wanted.x or "jobs.latency_us"
    known = times_with(all(result.has("tasks", "first_token_us") for result in results.values()))
    if name not in known:
        remedy = did_you_mean(name, known)
        raise InputError([Problem("--x", f"a time of each job or task: {', '.join(known)}", repr(name), remedy)])
    times = known[name]
    found = {panel: _sorted(result, times, wanted.by, panel) for panel, result in results.items()}
    if wanted.by is None:  # all runs in one panel
        found = {"": {run: values for own in found.values() for run, values in own.items()}}
    every = [values for own in found.values() for values in own.values()]
    if not any(map(len, every)):
        raise InputError([Problem("the figure", f"{times.of} that have a time", "none")])
    largest = [float(values[-1]) for values in every if len(values)]
    x = displayed(number_title(name), largest, wanted.x_unit, "--x-unit", wanted.x_label)
    if kind == "histogram":
        return _histogram(found, x, times.of, wanted)
    is_tail = kind == "tail"
    panels = [
        Panel(_titled(panel, found, wanted), [_curve(label, x(values), is_tail) for label, values in own.items()])
        for panel, own in found.items()
    ]
    y_label = wanted.y_label or f"share of {times.of} that take {'longer' if is_tail else 'no longer'}"
    y_scale = "log" if "y" in wanted.log or (is_tail and not wanted.log) else "linear"
    return line_figure(panels, Axis(x.label, wanted.scale("x")), Axis(y_label, y_scale), look=wanted.look)


def _titled(panel: str, found: Mapping[str, Any], wanted: Wanted) -> str:
    return ": ".join(part for part in (wanted.title or "", panel if len(found) > 1 else "") if part)


def _sorted(result: ResultTables, times: Times, axis: str | None, run: str) -> dict[str, np.ndarray]:
    """Return the sorted times of a run, us, by the label of their line."""
    columns = StoredColumns(result)
    values = times.values(columns)
    known = ~np.isnan(values)
    if axis is None:
        return {run: np.sort(values[known])}
    labels, code, _ = groups({name: result.table(name) for name in TABLES}, result.summary, axis)
    (job,) = columns.of(times.table, "job")
    of_row = code[job[known]]
    most = np.argsort(-np.bincount(of_row, minlength=len(labels)), kind="stable")[:MAX_LINES]
    return {labels[k]: np.sort(values[known][of_row == k]) for k in sorted(most.tolist())}


def _curve(label: str, values: np.ndarray, is_tail: bool) -> Line:
    """Return the share above each value, or at most each value."""
    n = len(values)
    at, first = np.unique(values, return_index=True)
    above = n - np.r_[first[1:], n]  # the number of larger values
    kept = _shown(above)
    at, above = at[kept], above[kept]
    if not is_tail:
        return Line(label, at, 1.0 - above / n, is_stepped=True)
    share = np.where(above > 0, above, np.nan) / n  # no values exceed the largest, and 0 has no place on a log axis
    if len(at) == 1:
        share[0] = 1.0 / n  # all values are equal: a vertical line
    return Line(label, np.r_[at[:1], at], np.r_[1.0, share], is_stepped=True)


def _shown(above: np.ndarray) -> np.ndarray:
    """Return which of the sorted values are drawn, given how many values are larger than each."""
    if len(above) <= MAX_POINTS:
        return np.arange(len(above))
    wanted = np.r_[0, np.geomspace(1, above[0], MAX_POINTS)]
    return np.unique(len(above) - 1 - np.searchsorted(above[::-1], wanted).clip(max=len(above) - 1))


def _histogram(found: Mapping[str, Mapping[str, np.ndarray]], x: Display, of: str, wanted: Wanted) -> "Figure":
    wanted.check_unused("histogram", ("log",) if "y" in wanted.log else ())
    every = np.concatenate([values for own in found.values() for values in own.values()])
    is_log = "x" in wanted.log
    low = float(every[every > 0].min()) if is_log else float(every.min())
    high = float(every.max())
    edges = np.geomspace(low, max(high, low), N_BINS + 1) if is_log else np.linspace(low, max(high, low), N_BINS + 1)
    if high <= low:
        edges = np.array([0.95 * low, 1.05 * high]) if high > 0 else np.array([0.0, 1.0])
    panels = [
        SeriesPanel(
            _titled(panel, found, wanted),
            [Series(name, x(edges), np.histogram(values, edges)[0]) for name, values in own.items()],
        )
        for panel, own in found.items()
    ]
    y_label = wanted.y_label or f"{of} in each of {len(edges) - 1} bins"
    return series_figure(panels, x.label, y_label, x_scale=wanted.scale("x"), look=wanted.look)


def _timeline(results: Mapping[str, ResultTables], wanted: Wanted) -> "Figure":
    """Draw the queue, or what was allocated or active, over time: a line for each run, or for each type."""
    wanted.check_unused("timeline", ("x", "log"))
    what = wanted.y or "queue"
    if what not in OVER_TIME:
        raise InputError([Problem("--y", f"one of {', '.join(OVER_TIME)}", repr(what), did_you_mean(what, OVER_TIME))])
    by = TASK_TYPE if what == "queue" else "unit_type"
    if wanted.by not in (None, by):
        raise InputError([Problem("--by", f"{by}, or nothing: one line for each run", repr(wanted.by))])
    clocks = {result.clock for result in results.values()}
    clock = clocks.pop() if len(clocks) == 1 else Clock()  # runs with different dates are aligned at their beginnings
    end_us = max(float(result.summary["makespan_us"]) for result in results.values())
    since_us, until_us = clock.window_us(wanted.from_us, wanted.to_us, end_us)
    x = times_of_runs(clock, since_us, until_us, wanted.x_unit, "--x-unit", wanted.x_label)
    found = {run: _over_time(result, what, wanted.by is not None, run) for run, result in results.items()}
    if wanted.by is None:
        found = {"": [series for own in found.values() for series in own]}
    every = [value for own in found.values() for series in own for value in series.values]
    y = displayed(OVER_TIME[what], every, wanted.y_unit, "--y-unit", wanted.y_label)
    panels = [
        SeriesPanel(
            _titled(panel, found, wanted),
            [_within(series, since_us, until_us, x, y) for series in own],
        )
        for panel, own in found.items()
    ]
    return series_figure(panels, x.label, y.label, has_dates=x.has_dates, look=wanted.look)


def _within(series: Series, from_us: float, to_us: float, x: Display, y: Display) -> Series:
    """Return the intervals that touch the window, in the figure's units."""
    kept = (series.edges[1:] > from_us) & (series.edges[:-1] < to_us)
    edges = np.r_[series.edges[:-1][kept], series.edges[1:][kept][-1:]]
    return Series(series.label, x(edges), y(series.values[kept]))


def _over_time(result: ResultTables, what: str, by_type: bool, run: str) -> Sequence[Series]:
    """Return the series of means in equal intervals of the run."""
    edges = np.linspace(0.0, float(result.summary["makespan_us"]), N_INTERVALS + 1)
    if what == "queue":
        types: list[tuple[int | None, str]] = [*result.task_types.items()] if by_type else [(None, run)]
        queues = queues_of(result, [code for code, _ in types])
        return [Series(name, edges, queue.means(edges)) for (_, name), queue in zip(types, queues, strict=True)]
    measure: Any = "allocated" if what == "utilization" else what
    activity, names = stored_activity(result), result.processor_types
    if not by_type:
        group = np.where(activity.runs_tasks, 0, -1)
        return [Series(run, edges, activity.shares(measure, group, 1, N_INTERVALS)[0])]
    group = np.searchsorted(list(names), activity.units["unit_type"])
    shares = activity.shares(measure, group, len(names), N_INTERVALS)
    return [Series(name, edges, share) for name, share in zip(names.values(), shares, strict=True)]
