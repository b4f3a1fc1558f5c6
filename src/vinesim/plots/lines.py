"""Line charts: a number along an axis, one line per series, in one or several panels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.plots.style import (
    COLORS,
    DASHES,
    MARKERS,
    PANEL_INCHES,
    PLAIN,
    Look,
    drawing,
    handles_of,
    hollow_among,
    legend_above,
    set_scale,
    stalled_entry,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

MANY_POINTS = 40  # lines with more points have no markers


@dataclass(frozen=True)
class Line:
    """One series: x and y [n], with ``low`` and ``high`` [n] as the bounds of a band, such as a confidence interval.

    A stepped line keeps each y until the next x.
    """

    label: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    is_stepped: bool = field(default=False, kw_only=True)
    is_hollow: np.ndarray | None = field(default=None, kw_only=True)  # [n] the points of stalled runs


@dataclass(frozen=True)
class Panel:
    """The lines that share axes."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Axis:
    """An axis: its label with the unit, its scale, and its limits.

    ``scale`` is linear, log, or log0: logarithmic with room for 0 at its left end.
    """

    label: str
    scale: str = "linear"
    limits: tuple[float | None, float | None] = (None, None)
    ticks: Sequence[float] | None = None


def line_figure(
    panels: Sequence[Panel],
    x: Axis,
    y: Axis | Sequence[Axis],
    *,
    columns: int = 3,
    share_y: bool = True,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the panels in rows of ``columns``, all with the same x axis, and one legend above them.

    With ``share_y`` the y axes are the same too; a sequence of ``y`` has one per panel, never shared. A label has the
    same colour, marker and dashes in every panel.
    """
    ys = [y] * len(panels) if isinstance(y, Axis) else list(y)
    share_y = share_y and isinstance(y, Axis)
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    size = (PANEL_INCHES[0] * max(columns, 1.4), PANEL_INCHES[1] * max(rows, 1.25) + 0.4)
    with drawing(look, size, columns, rows, sharex=True, sharey=share_y) as (figure, grid):
        for axes, panel, its_y in zip(grid, panels, ys, strict=False):
            for line in panel.lines:
                _draw(axes, line, labels.index(line.label), look.scale)
            axes.set_title(panel.title, loc="left")
            _set(axes, "x", x)
            if x.scale == "linear" and x.ticks is None and _are_whole(panels):
                axes.xaxis.get_major_locator().set_params(integer=True)
            _set(axes, "y", its_y)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for place, axes in enumerate(grid[: len(panels)]):
            is_new = place % columns == 0 or ys[place].label != ys[place - 1].label
            axes.set_ylabel(ys[place].label if is_new else "")
            is_lowest = place + columns >= len(panels)
            axes.set_xlabel(x.label if is_lowest else "")
            axes.tick_params(labelbottom=is_lowest)
        legend_above(figure, *handles_of(grid), look)
    return figure


def _draw(axes: Any, line: Line, number: int, scale: float) -> None:
    kind = number % len(COLORS)
    marker = MARKERS[kind] if len(line.x) <= MANY_POINTS and not line.is_stepped else None
    # Later lines are thinner, so that earlier ones stay visible around them where they coincide.
    width, size = scale * (2.2 - 0.25 * min(number, 4)), scale * (6.0 - 0.6 * min(number, 4))
    style = {"color": COLORS[kind], "marker": marker, "linestyle": DASHES[kind], "linewidth": width}
    style |= {"drawstyle": "steps-post"} if line.is_stepped else {}
    axes.plot(line.x, line.y, label=line.label, markersize=size, zorder=3 + number, **style)
    hollow = hollow_among(line.is_hollow, line.y)
    if hollow.any():
        style = {"color": COLORS[kind], "marker": MARKERS[kind], "linestyle": "", "markerfacecolor": "white"}
        axes.plot(line.x[hollow], line.y[hollow], markersize=size, zorder=4 + number, **style)
        stalled_entry(axes)
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=COLORS[kind], alpha=0.2, linewidth=0)


def _set(axes: Any, which: str, axis: Axis) -> None:
    """Set the scale, limits and ticks of an axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    limits = getattr(axes, f"set_{which}lim")
    if axis.scale == "log0":
        points = getattr(axes, f"{which}axis")
        data = np.concatenate([getattr(line, f"get_{which}data")() for line in axes.get_lines()])
        least = 10.0 ** math.floor(math.log10(data[data > 0].min()))
        most = math.ceil(math.log10(data.max()))
        getattr(axes, f"set_{which}scale")("symlog", linthresh=least, linscale=0.6)
        ticks = [0.0, *(10.0**power for power in range(round(math.log10(least)), most + 1))]
        points.set_major_locator(FixedLocator(ticks))
        points.set_minor_locator(FixedLocator([]))
        points.set_major_formatter(FuncFormatter(_power))
    else:
        set_scale(axes, which, axis.scale)
    if axis.ticks is not None:
        getattr(axes, f"set_{which}ticks")(axis.ticks, [f"{tick:g}" for tick in axis.ticks], minor=False)
    if axis.limits != (None, None):
        limits(*axis.limits)


def _are_whole(panels: Sequence[Panel]) -> bool:
    """Whether all x are whole numbers, so that no other should be marked on the axis."""
    return all(bool((np.asarray(line.x) == np.round(line.x)).all()) for panel in panels for line in panel.lines)


def _power(value: float, _: int) -> str:
    return "0" if value == 0 else f"$10^{{{round(math.log10(value))}}}$"
