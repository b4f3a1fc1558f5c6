"""The Gantt chart of a run: one row per unit, and one bar for each stay of a task on it.

Many units are drawn as groups, shaded by their allocated share.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.results.explain_reader import read_closed
from vinesim.formats.results.place_names import PlaceNames
from vinesim.formats.results.tables import ResultTables, open_result
from vinesim.formats.source.units import Display
from vinesim.model.errors import InputError, Problem
from vinesim.plots.style import (
    COLORS,
    HATCHES,
    PLAIN,
    Look,
    drawing,
    legend_above,
    show_dates,
    suffix_problems,
    write,
)
from vinesim.plots.units import times_of_runs

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

MAX_ROWS = 150  # with more units, groups are drawn
MAX_BARS = 5000  # with more bars, groups are drawn
FEW = 600  # up to this many bars have white edges, and the job's number where it fits
NUMBER_POINTS = 6  # size of these numbers
PALE = 0.45  # luminance of colours above which numbers are black
MAX_MARKS = 400  # up to this many arrivals are marked
CELLS = 400  # intervals in a row of a group
LEGEND = 12  # most task types or jobs in the legend
ROW_INCHES, LEAST_INCHES, WIDTH_INCHES = 0.16, 2.4, 9.0
LANE_POINTS, MOST_INCHES = 3.0, 24.0  # rows grow for tasks that run side by side, until the figure is as high as this
FILLED = 0.82  # share of a row's height that its bars take
CENTERED = {"ha": "center", "va": "center"}

COLOR_BY = ("auto", "type", "job")

_BARS = """
SELECT held.task, tasks.job, tasks.task_type, held.unit, held.begin_us, held.start_us,
    coalesce(held.end_us, $end_us) AS end_us, held.share,
    held.outcome NOT IN ('finished', 'unfinished', 'moved', 'prefilled') AS is_interrupted
FROM held JOIN tasks USING (task)
WHERE held.begin_us < $to_us AND coalesce(held.end_us, $end_us) > $from_us ORDER BY held.begin_us, held.task
"""


def draw_gantt(
    folder: str | Path,
    output: str | Path,
    from_us: float | str = 0.0,
    to_us: float | str | None = None,
    color: str = "auto",
) -> int:
    """Draw a result folder as a PNG, SVG or PDF file, by the name's suffix; return how many tasks are shown.

    The chart covers ``from_us`` to ``to_us``: us, texts such as ``3 h``, or dates if the run has dates. ``color`` is
    type (the task type), job, or auto: by type if there are several. Raises :class:`~vinesim.model.errors.InputError`.
    """
    problems = suffix_problems(output)
    if color not in COLOR_BY:
        problems.append(Problem("--color", "one of " + ", ".join(COLOR_BY), repr(color)))
    if problems:
        raise InputError(problems)
    with open_result(folder) as result:
        figure, n_tasks = gantt_figure(result, from_us, to_us, color)
    write(figure, output)
    return n_tasks


def gantt_figure(
    result: ResultTables,
    from_us: float | str = 0.0,
    to_us: float | str | None = None,
    color: str = "auto",
    look: Look = PLAIN,
) -> tuple["Figure", int]:
    """Return the figure of a time window, and how many tasks it shows."""
    end_us = float(result.summary["makespan_us"])
    since_us, until_us = result.clock.window_us(from_us, to_us, end_us)
    bars = result.columns(_BARS, {"end_us": end_us, "from_us": since_us, "to_us": until_us})
    units = result.columns("SELECT unit, unit_type, rack, shelf, capacity FROM units ORDER BY unit")
    arrivals = result.columns("SELECT arrival_us FROM jobs ORDER BY job")["arrival_us"]
    x = times_of_runs(result.clock, since_us, until_us, None, "")
    is_grouped = len(units["unit"]) > MAX_ROWS or len(bars["job"]) > MAX_BARS
    rows = (_groups if is_grouped else _rows)(units, result.processor_types, result.place_names)
    bars["lane"], bars["n_lanes"] = (np.zeros(0, np.int64),) * 2 if is_grouped else _lanes(bars)
    lanes_inches = LANE_POINTS / 72 / FILLED * bars["n_lanes"].max(initial=1)
    row_inches = max(ROW_INCHES, min(lanes_inches, MOST_INCHES / len(rows)))
    height = max(LEAST_INCHES, row_inches * len(rows) + 1.2)
    with drawing(look, (WIDTH_INCHES, height)) as (figure, (axes,)):
        span = float(x(since_us)), float(x(until_us))
        if is_grouped:
            load = _load(bars, rows, units["capacity"], np.linspace(since_us, until_us, CELLS + 1))
            what = "share of capacity allocated" if result.is_shared else "units that are active"
            _draw_load(figure, axes, load, what, span)
        else:
            closed = _mark_closed(axes, result.folder, units, x, (since_us, until_us))
            numbers = _draw_bars(figure, axes, bars, result.task_types, color, x, look, closed, span)
        above = ROW_INCHES / row_inches  # height of the arrivals, in rows
        _mark_arrivals(axes, x(arrivals[(arrivals >= since_us) & (arrivals <= until_us)]), -0.4 - 0.45 * above)
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.tick_params(axis="y", length=0, labelsize=min(8.0, 72 * ROW_INCHES * 0.75))
        axes.set_ylim(len(rows) - 0.4, -0.4 - 0.8 * above)
        axes.set_xlim(*span)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(x.label)
        if x.has_dates:
            show_dates(axes)
        if not is_grouped:
            _keep_what_fits(figure, axes, numbers)
    return figure, len(np.unique(bars["task"]))


def _rows(units: dict[str, np.ndarray], names: dict[int, str], places: PlaceNames) -> list[tuple[str, np.ndarray]]:
    """Return one row per unit: its label and the unit."""
    several_racks = len(np.unique(units["rack"])) > 1

    def node(rack: int, shelf: int) -> str:
        return (
            places.nodes.get((rack, shelf)) or f"{f'{places.racks.get(rack, rack)}/' if several_racks else ''}{shelf}"
        )

    return [
        (f"{node(int(rack), int(shelf))} {names[int(code)]}", np.array([unit]))
        for unit, code, rack, shelf in zip(*(units[k] for k in ("unit", "unit_type", "rack", "shelf")), strict=True)
    ]


def _groups(units: dict[str, np.ndarray], names: dict[int, str], places: PlaceNames) -> list[tuple[str, np.ndarray]]:
    """Return one row per type and rack, or per type if these are too many: its label and its units."""
    by_rack = [(int(rack), int(code)) for rack, code in zip(units["rack"], units["unit_type"], strict=True)]
    alone = len(set(by_rack)) > MAX_ROWS or len(set(units["rack"].tolist())) == 1
    keys = [(-1, code) for _, code in by_rack] if alone else by_rack
    rows = []
    for key in sorted(set(keys)):
        members = np.flatnonzero([k == key for k in keys])
        rack = "" if key[0] < 0 else f"{places.rack(key[0])}: "
        rows.append((f"{rack}{len(members):,} {names[key[1]]}", members))
    return rows


def _draw_bars(
    figure: Any,
    axes: Any,
    bars: dict[str, np.ndarray],
    task_types: dict[int, str],
    color: str,
    x: Display,
    look: Look,
    more: list[Any],
    span: tuple[float, float],
) -> list[tuple[Any, float, float]]:
    """Draw a bar for each stay of a task on a unit: pale during the data transfer, with a cross at the end if an outage
    interrupted it. Tasks on a unit at the same time share its row. ``more`` are further entries of the legend.

    Returns the texts with job numbers, each with the visible width and height of its bar on the axes.
    """
    by_job = color == "job" or (color == "auto" and len(task_types) == 1)
    kinds = bars["job"] if by_job else bars["task_type"]
    codes = np.unique(kinds)
    color_of = {int(code): COLORS[i % len(COLORS)] for i, code in enumerate(codes)}
    is_listed = not by_job or len(codes) <= LEGEND
    rounds = len(HATCHES) if is_listed else 1  # hatches distinguish more entries than there are colours
    hatch_of = {int(code): HATCHES[i // len(COLORS) % rounds] for i, code in enumerate(codes)}
    height = FILLED / bars["n_lanes"]
    low = bars["unit"] - FILLED / 2 + bars["lane"] * height
    began, ended = x(bars["begin_us"]), x(bars["end_us"])
    there = np.fmin(x(bars["start_us"]), ended)  # NaN while data is in transfer; fmin then gives the end
    colors = [color_of[int(kind)] for kind in kinds]
    few = len(kinds) <= FEW
    style: dict[str, Any] = {"align": "edge", "linewidth": 0.4, "zorder": 3}
    edges = "white" if few else colors  # a short bar is drawn as wide as its edge
    hatches = [hatch_of[int(kind)] for kind in kinds]
    axes.barh(low, ended - there, height, there, color=colors, edgecolor=edges, hatch=hatches, **style)
    moved = there > began
    if moved.any():
        pale = [c for c, is_moved in zip(colors, moved, strict=True) if is_moved]
        style |= {"color": pale, "edgecolor": "white" if few else pale, "alpha": 0.45}
        axes.barh(low[moved], (there - began)[moved], height[moved], began[moved], **style)
    lost = bars["is_interrupted"]
    axes.plot(ended[lost], (low + height / 2)[lost], "x", color="#222222", markersize=4, zorder=5)
    numbers = (
        _numbers(axes, bars["job"], np.stack([began, ended]).clip(*span), low, height, colors, hatches) if few else []
    )
    if not is_listed:
        axes.set_title("Colours: jobs", loc="left")
        legend_above(figure, more, [str(handle.get_label()) for handle in more], look, least=1)
        return numbers
    from matplotlib.patches import Patch

    names = [f"job {code}" if by_job else task_types[int(code)] for code in codes[:LEGEND]]
    handles = [
        Patch(facecolor=color_of[int(code)], hatch=hatch_of[int(code)], edgecolor="white", label=label)
        for code, label in zip(codes, names, strict=False)
    ]
    if moved.any():
        handles.append(Patch(color="#777777", alpha=0.45, label="data transfer"))
    handles += more
    legend_above(figure, handles, [str(handle.get_label()) for handle in handles], look)
    return numbers


def _numbers(
    axes: Any,
    jobs: np.ndarray,
    seen: np.ndarray,
    low: np.ndarray,
    height: np.ndarray,
    colors: list[str],
    hatches: list[str],
) -> list[tuple[Any, float, float]]:
    """Write the number of each bar's job on the bar; ``seen`` [2, n] are the ends of its visible part."""
    from matplotlib.colors import to_rgb

    ink = {color: "black" if np.dot((0.2126, 0.7152, 0.0722), to_rgb(color)) > PALE else "white" for color in COLORS}
    found = []
    for i, (begin, end) in enumerate(seen.T.tolist()):
        style = {"fontsize": NUMBER_POINTS, "color": ink[colors[i]], "zorder": 4, "clip_on": True, **CENTERED}
        text = axes.text((begin + end) / 2, low[i] + height[i] / 2, f"{jobs[i]}", **style)
        if hatches[i]:
            text.set_bbox({"facecolor": colors[i], "edgecolor": "none", "pad": 0.6})
        found.append((text, end - begin, float(height[i])))
    return found


def _keep_what_fits(figure: "Figure", axes: Any, numbers: list[tuple[Any, float, float]]) -> None:
    """Remove the numbers that are larger than their bars, once the size of the axes is known.

    If any are left, the title explains them.
    """
    if not numbers:
        return
    figure.draw_without_rendering()
    unit = np.abs(axes.transData.transform((1.0, 1.0)) - axes.transData.transform((0.0, 0.0)))
    for text, *size in numbers:
        box = text.get_window_extent()
        if box.width > size[0] * unit[0] or box.height > size[1] * unit[1]:
            text.remove()
    if axes.get_title(loc="left") and any(text in axes.texts for text, *_ in numbers):
        axes.set_title("Numbers and colours: jobs", loc="left")


def _mark_closed(
    axes: Any, folder: Path, units: dict[str, np.ndarray], x: Display, span_us: tuple[float, float]
) -> list[Any]:
    """Shade the rows of nodes while they were down, hatch them while they were reserved, and name the reservations;
    return the legend entries of both."""
    outages, reservations = read_closed(folder)
    place = np.stack([units["rack"], units["shelf"]], axis=1)

    def shade(rows: np.ndarray, begin_us: float, end_us: float, name: str, style: dict[str, Any]) -> Any:
        begin, end = (float(x(min(max(time, span_us[0]), span_us[1]))) for time in (begin_us, end_us))
        if begin == end or not rows.any():
            return None
        edges = np.flatnonzero(np.diff(rows, prepend=False, append=False))
        for low, high in edges.reshape(-1, 2) - 0.5:  # the first and last row of each consecutive group
            drawn = axes.broken_barh([(begin, end - begin)], (low, high - low), zorder=1, **style)
            if name:
                axes.annotate(name, (begin, low), xytext=(2, -1), textcoords="offset points", **text)
        return drawn

    text = {"fontsize": 6, "color": "#555555", "ha": "left", "va": "top", "zorder": 2, "clip_on": True}
    down = {"facecolor": "#DDDDDD", "edgecolor": "none", "label": "node down"}
    reserved = {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "////", "linewidth": 0.5, "label": "reserved"}
    found = [shade((place == (rack, shelf)).all(axis=1), a, b, "", down) for rack, shelf, a, b in outages]
    for one in reservations:
        rows = one.has(units["rack"], units["shelf"])
        found.append(shade(rows, one.start_us, one.end_us, one.name, reserved))
    return list({drawn.get_label(): drawn for drawn in found if drawn is not None}.values())


def _lanes(bars: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return [n] the lane of each bar within its unit's row, and how many lanes that row has."""
    lane = np.zeros(len(bars["unit"]), np.int64)
    free: dict[int, list[float]] = {}
    for i, (unit, begin, end) in enumerate(zip(bars["unit"].tolist(), bars["begin_us"], bars["end_us"], strict=True)):
        lanes = free.setdefault(unit, [])
        at = next((k for k, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[at : at + 1] = [end]
        lane[i] = at
    return lane, np.array([len(free[unit]) for unit in bars["unit"].tolist()], np.int64)


def _load(
    bars: dict[str, np.ndarray], rows: list[tuple[str, np.ndarray]], capacity: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """Return [rows, intervals] the allocated share of the capacity of each row's units."""
    row_of = np.empty(1 + max(int(members.max()) for _, members in rows), np.int64)
    for row, (_, members) in enumerate(rows):
        row_of[members] = row
    load = np.zeros((len(rows), len(edges) - 1))
    begin, end = np.clip(bars["begin_us"], edges[0], edges[-1]), np.clip(bars["end_us"], edges[0], edges[-1])
    for row, (_, members) in enumerate(rows):
        mine = row_of[bars["unit"]] == row
        amount = bars["share"][mine] * capacity[bars["unit"][mine]]
        # Sums up to each edge, from sorted starts and ends, avoid a loop over bars and intervals.
        up_to = _held_up_to(edges, begin[mine], amount) - _held_up_to(edges, end[mine], amount)
        load[row] = np.diff(up_to) / np.diff(edges) / capacity[members].sum()
    return np.maximum(0.0, load)


def _draw_load(figure: Any, axes: Any, load: np.ndarray, what: str, span: tuple[float, float]) -> None:
    """Shade each group and interval; the scale exceeds 1 if units are over-committed."""
    highest = max(1.0, float(load.max()))
    style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": highest, "interpolation": "nearest", "zorder": 2}
    shown = axes.imshow(load, aspect="auto", extent=(*span, len(load) - 0.5, -0.5), **style)
    ticks = [0.0, 0.5, 1.0] + [highest] * (highest > 1.05)
    bar = figure.colorbar(shown, ax=axes, pad=0.01, ticks=ticks, format=lambda share, _: f"{share:.0%}")
    bar.set_label(what)


def _held_up_to(edges: np.ndarray, times: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return, for each edge, the sum of amount x (edge - time) over the times before it."""
    order = np.argsort(times, kind="stable")
    before = np.searchsorted(times[order], edges)
    held = np.concatenate([[0.0], np.cumsum(amount[order])])[before]
    return edges * held - np.concatenate([[0.0], np.cumsum((amount * times)[order])])[before]


def _mark_arrivals(axes: Any, times: np.ndarray, y: float) -> None:
    """Draw a tick above the first row for each arrival, or one grey line if there are many."""
    if len(times) <= MAX_MARKS:
        axes.plot(times, np.full(len(times), y), "|", color="#444444", markersize=6, zorder=5, clip_on=False)
        what = "| arrivals"
    else:
        axes.plot([times[0], times[-1]], [y, y], color="#444444", linewidth=2, zorder=5, clip_on=False)
        what = f"{len(times):,} arrivals"
    style = {"fontsize": 7, "ha": "right", "va": "bottom", "color": "#444444"}
    above = {"xytext": (0, 4), "textcoords": "offset points"}  # of the ticks, which are 6 points high
    axes.annotate(what, (1, y), xycoords=("axes fraction", "data"), **above, **style)
