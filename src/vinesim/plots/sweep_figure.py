"""Figures of a sweep: a number along an axis, with confidence intervals over the replications."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.units import displayed, label_text
from vinesim.formats.study.axes import quantities
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import ExitReason
from vinesim.model.titles import Title, axis_titles, number_title
from vinesim.plots.bars import Bars, bar_figure
from vinesim.plots.heat import HeatPanel, heat_figure
from vinesim.plots.lines import Axis, Line, Panel, line_figure
from vinesim.plots.points import Points, PointsPanel, points_figure
from vinesim.plots.wanted import OF_SWEEPS, Wanted
from vinesim.studies.labels import axes_of_jobs, by_label
from vinesim.studies.points import check_columns, group, numbers_of, plain
from vinesim.studies.statistics import check_share, mean_interval
from vinesim.studies.sweep import Sweep

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

DEFAULT = "jobs.latency_us.mean"
MAX_SERIES = 12  # more lines than this cannot be distinguished
OF_A_RUN = ("from_us", "to_us", "color")


@dataclass(frozen=True)
class _Roles:
    """The columns of a sweep that a figure uses, and their titles."""

    x: str
    y: str
    by: str | None
    panel: str | None
    titles: dict[str, Title]

    def text(self, column: str, label: Any) -> str:
        """Format a label of an axis, with its unit if it is a number."""
        return label_text(self.titles[column], label)

    def name(self, column: str, label: Any) -> str:
        """Format a label for a legend or a panel's title: a number is preceded by the name of its axis."""
        text = self.text(column, label)
        return text if isinstance(label, str) else f"{self.titles[column].words} {text}"


def sweep_figure(sweep: Sweep, wanted: Wanted) -> "Figure":
    """Return the figure of a sweep. Raises :class:`InputError` for columns that the sweep lacks."""
    check_share("--confidence", wanted.confidence)
    wanted.check_kind(OF_SWEEPS, "a sweep")
    for name in axes_of_jobs(sweep.study.record):
        if name in (wanted.x, wanted.by, wanted.panel):
            sweep = by_label(sweep, name)
    table = _chosen(sweep, wanted)
    roles = _roles(sweep, table, wanted)
    is_axis = roles.x in sweep.study.columns
    is_numeric = table[roles.x].dtype.kind == "f"
    kind = wanted.kind or ("points" if not is_axis else "lines" if is_numeric else "bars")
    wanted.check_unused(kind, OF_A_RUN)
    if kind == "points":
        if is_axis:
            raise InputError([Problem("--x", "a number of the runs, for --kind points", roles.x, "Try --kind lines.")])
        return _points(table, roles, wanted)
    if not is_axis:
        expected = f"an axis of the sweep, for --kind {kind}: {', '.join(sweep.study.columns)}"
        raise InputError([Problem("--x", expected, repr(roles.x), did_you_mean(roles.x, sweep.study.columns))])
    _check_all_said(sweep, table, roles)
    if kind == "lines" and not is_numeric:
        raise InputError([Problem("--kind lines", "an axis of numbers as --x", roles.x, "Try --kind bars.")])
    return {"lines": _lines, "bars": _bars, "heat": _heat}[kind](table, roles, wanted)


def _chosen(sweep: Sweep, wanted: Wanted) -> Table:
    """Return the rows of the sweep that ``where`` selects. Raises :class:`InputError`."""
    table = sweep.table
    if not table.n_rows:
        raise InputError([Problem("the sweep", "finished runs", "none")])
    problems, rows = [], np.ones(table.n_rows, bool)
    for column, value in wanted.where.items():
        if column not in sweep.study.columns:
            remedy = did_you_mean(column, sweep.study.columns)
            expected = f"an axis: {', '.join(sweep.study.columns)}"
            problems.append(Problem(f"--where {column}", expected, repr(column), remedy))
            continue
        mine = _equal(table[column], value)
        if not mine.any():
            labels = ", ".join(dict.fromkeys(str(plain(label)) for label in table[column]))
            problems.append(Problem(f"--where {column}", f"a label of the axis: {labels}", repr(value)))
        rows &= mine
    if problems:
        raise InputError(problems)
    return Table({name: table[name][rows] for name in table})


def _equal(labels: np.ndarray, value: Any) -> np.ndarray:
    """Return which labels equal the value, which may be a text such as ``25 us``."""
    if labels.dtype.kind == "f":
        try:
            number = float(value)
        except ValueError:
            number = (quantities([value]) or [np.nan])[0]
        return np.isclose(labels, number, rtol=1e-9, atol=0)
    return np.array([str(plain(label)) == str(value) for label in labels])


def _roles(sweep: Sweep, table: Table, wanted: Wanted) -> _Roles:
    """Return the roles of columns: by default, the first numeric axis is x, and the next axis gives the lines."""
    columns = list(sweep.study.columns)
    y = wanted.y or DEFAULT
    if not np.isfinite(numbers_of(table, y)).any():
        raise InputError([Problem("--y", "a number that some run has", f"{y}, which none has")])
    named = [name for name in (wanted.by, wanted.panel) if name is not None]
    check_columns(table, [wanted.x] if wanted.x else [], "--x")
    problems = [
        Problem(option, f"an axis: {', '.join(columns)}", repr(name), did_you_mean(name, columns))
        for option, name in (("--by", wanted.by), ("--panel", wanted.panel))
        if name is not None and name not in columns
    ]
    if problems:
        raise InputError(problems)
    free = [name for name in columns if name not in (*named, wanted.x) and _n_labels(table, name) > 1]
    x = wanted.x or next((name for name in free if table[name].dtype.kind == "f"), free[0] if free else None)
    if x is None:
        raise InputError([Problem("--x", "an axis with two labels or more", "none left")])
    if x not in columns:
        numbers_of(table, x)
    its_axis = _axis_of(sweep, x)
    by = wanted.by or next((name for name in free if name not in its_axis), None)
    if len({name for name in (x, by, wanted.panel) if name}) < len([name for name in (x, by, wanted.panel) if name]):
        raise InputError([Problem("--x, --by and --panel", "three different axes", f"{x}, {by}, {wanted.panel}")])
    return _Roles(x, y, by, wanted.panel, axis_titles(columns))


def _n_labels(table: Table, column: str) -> int:
    return len(group(table, [column]))


def _axis_of(sweep: Sweep, column: str) -> tuple[str, ...]:
    """Return the columns that change together with this one."""
    return next((axis.columns for axis in sweep.study.axes if column in axis.columns), (column,))


def _check_all_said(sweep: Sweep, table: Table, roles: _Roles) -> None:
    """Raise :class:`InputError` if an axis has no role, so that its labels would be averaged."""
    used = {name for role in (roles.x, roles.by, roles.panel) if role for name in _axis_of(sweep, role)}
    left = [name for name in sweep.study.columns if name not in used and _n_labels(table, name) > 1]
    if left:
        remedy = "Fix each with --where AXIS=LABEL, or use it as --by or --panel."
        raise InputError(
            [Problem("the figure", "one label of every other axis", f"several of {', '.join(left)}", remedy)]
        )


def _title(roles: _Roles, column: str) -> Title:
    return roles.titles.get(column) or number_title(column)


def _parts(table: Table, column: str | None) -> list[tuple[Any, Table]]:
    """Return (label, rows) of each label of a column; all rows as (None, table) without one."""
    if column is None:
        return [(None, table)]
    return [
        (label, Table({name: table[name][rows] for name in table})) for (label,), rows in group(table, [column]).items()
    ]


def _means(table: Table, x: str, y: str, confidence: float) -> tuple[list[Any], np.ndarray]:
    """Return the labels along x, numbers in order, and [n, 4]: low, mean and high at each, and 1 where runs stalled."""
    values, is_stalled = numbers_of(table, y), _stalled(table)
    found = group(table, [x])
    labels = [label for (label,) in found]
    if table[x].dtype.kind == "f":
        labels.sort(key=lambda label: (label is None, label))
    rows = [mean_interval(values[found[(label,)]], confidence) for label in labels]
    stalled = [is_stalled[found[(label,)]].any() for label in labels]
    return labels, np.array(
        [[row.low, row.estimate, row.high, has] for row, has in zip(rows, stalled, strict=True)], np.float64
    )


def _stalled(table: Table) -> np.ndarray:
    """Return [n] whether each run stalled."""
    if "exit_reason" not in table:
        return np.zeros(table.n_rows, bool)
    return np.asarray(table["exit_reason"] == ExitReason.STALLED)


def _series(table: Table, roles: _Roles) -> list[tuple[str, Table]]:
    found = _parts(table, roles.by)
    if len(found) > MAX_SERIES:
        expected = f"an axis with at most {MAX_SERIES} labels"
        raise InputError([Problem(f"--by {roles.by}", expected, f"{len(found)}", "Use --where, or --kind heat.")])
    return [("" if roles.by is None else roles.name(roles.by, label), rows) for label, rows in found]


def _lines(table: Table, roles: _Roles, wanted: Wanted) -> "Figure":
    x_title, y_title = _title(roles, roles.x), _title(roles, roles.y)
    found = [
        (label, [(name, *_means(rows, roles.x, roles.y, wanted.confidence)) for name, rows in _series(part, roles)])
        for label, part in _parts(table, roles.panel)
    ]
    every = [line for _, lines in found for line in lines]
    x = displayed(x_title, [v for _, labels, _ in every for v in labels], wanted.x_unit, "--x-unit", wanted.x_label)
    y = displayed(y_title, [v for *_, means in every for v in means[:, 1]], wanted.y_unit, "--y-unit", wanted.y_label)
    panels = []
    for label, lines in found:
        drawn = []
        for name, labels, means in lines:
            low, mean, high = (y(means[:, i]) for i in range(3))
            has_band = not np.isnan(low).all()
            band = (low, high) if has_band else (None, None)
            drawn.append(Line(name, x(np.array(labels)), mean, *band, is_hollow=means[:, 3] > 0))
        panels.append(Panel(_panel_title(roles, label, wanted), drawn))
    axes = Axis(x.label, wanted.scale("x")), Axis(y.label, wanted.scale("y"))
    return line_figure(panels, *axes, look=wanted.look)


def _panel_title(roles: _Roles, label: Any, wanted: Wanted) -> str:
    above = wanted.title or ""
    if roles.panel is None:
        return above
    return f"{above}: {roles.name(roles.panel, label)}" if above else roles.name(roles.panel, label)


def _bars(table: Table, roles: _Roles, wanted: Wanted) -> "Figure":
    wanted.check_unused("bars", ("panel", "x_unit"))
    if "x" in wanted.log:
        raise InputError([Problem("--log", "y or nothing, for bars", repr(wanted.log))])
    y_title = _title(roles, roles.y)
    series = [(name, *_means(rows, roles.x, roles.y, wanted.confidence)) for name, rows in _series(table, roles)]
    categories = list(dict.fromkeys(label for _, labels, _ in series for label in labels))
    y = displayed(y_title, [v for *_, means in series for v in means[:, 1]], wanted.y_unit, "--y-unit", wanted.y_label)
    bars = []
    for name, labels, means in series:
        rows = np.array([means[labels.index(c)] if c in labels else [np.nan] * 3 + [0] for c in categories])
        low, mean, high = y(rows[:, :3]).T
        band = (None, None) if np.isnan(low).all() else (low, high)
        bars.append(Bars(name, mean, band[0], band[1], rows[:, 3] > 0))
    names = [roles.text(roles.x, label) for label in categories]
    x_label = wanted.x_label or _title(roles, roles.x).words
    figure = bar_figure(names, bars, x_label, y.label, scale=wanted.scale("y"), look=wanted.look)
    figure.axes[0].set_title(wanted.title or "", loc="left")
    return figure


def _heat(table: Table, roles: _Roles, wanted: Wanted) -> "Figure":
    wanted.check_unused("heat", ("log", "x_unit"))
    if roles.by is None:
        raise InputError([Problem("--by", "an axis for the rows of the map", "none")])
    parts = _parts(table, roles.panel)
    columns = _means(table, roles.x, roles.y, wanted.confidence)[0]
    rows = _means(table, roles.by, roles.y, wanted.confidence)[0]
    cells = []
    for _, part in parts:
        cell = np.full((len(rows), len(columns), 4), np.nan)
        for label, mine in _parts(part, roles.by):
            labels, means = _means(mine, roles.x, roles.y, wanted.confidence)
            cell[rows.index(label), [columns.index(found) for found in labels]] = means
        cells.append(cell)
    title = _title(roles, roles.y)
    y = displayed(title, [v for cell in cells for v in cell[..., 1].ravel()], wanted.y_unit, "--y-unit")
    panels = [
        HeatPanel(
            _panel_title(roles, label, wanted), y(cell[..., 1]), y(cell[..., 2] - cell[..., 0]) / 2, cell[..., 3] > 0
        )
        for (label, _), cell in zip(parts, cells, strict=True)
    ]
    across = [roles.text(roles.x, label) for label in columns]
    down = [roles.text(roles.by, label) for label in rows]
    x_label = wanted.x_label or roles.titles[roles.x].words
    y_label = wanted.y_label or roles.titles[roles.by].words
    return heat_figure(panels, across, down, x_label, y_label, y.label, is_difference=False, look=wanted.look)


def _points(table: Table, roles: _Roles, wanted: Wanted) -> "Figure":
    """Draw a point for each run that has both numbers."""
    found = [
        (
            label,
            [
                (name, numbers_of(rows, roles.x), numbers_of(rows, roles.y), _stalled(rows))
                for name, rows in _series(part, roles)
            ],
        )
        for label, part in _parts(table, roles.panel)
    ]
    every: Sequence[Any] = [points for _, series in found for points in series]
    x = displayed(
        number_title(roles.x), [v for _, xs, *_ in every for v in xs], wanted.x_unit, "--x-unit", wanted.x_label
    )
    y = displayed(
        number_title(roles.y), [v for _, _, ys, _ in every for v in ys], wanted.y_unit, "--y-unit", wanted.y_label
    )
    panels = [
        PointsPanel(
            _panel_title(roles, label, wanted),
            y.label,
            [Points(name, x(xs), y(ys), hollow) for name, xs, ys, hollow in series],
            wanted.scale("y"),
        )
        for label, series in found
    ]
    return points_figure(panels, x.label, x_scale=wanted.scale("x"), look=wanted.look)
