"""Step charts over time: one value per interval, such as sampled utilisation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vinesim.plots.style import (
    COLORS,
    DASHES,
    PANEL_INCHES,
    PLAIN,
    Look,
    drawing,
    handles_of,
    legend_above,
    set_scale,
    show_dates,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure


@dataclass(frozen=True)
class Series:
    """One step line: the edges of the intervals [n + 1] and the value in each [n]."""

    label: str
    edges: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class SeriesPanel:
    """The series that share axes."""

    title: str
    series: Sequence[Series]


def series_figure(
    panels: Sequence[SeriesPanel],
    x_label: str,
    y_label: str,
    *,
    limits: tuple[float, float] | None = None,
    x_scale: str = "linear",
    has_dates: bool = False,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the panels side by side with the same axes and one legend above them.

    ``limits`` are those of the y axis. With ``has_dates``, x is in days since 1970.
    """
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    size = (PANEL_INCHES[0] * max(len(panels), 1.4), PANEL_INCHES[1] + 0.4)
    with drawing(look, size, len(panels), sharex=True, sharey=True) as (figure, grid):
        for axes, panel in zip(grid, panels, strict=True):
            for series in panel.series:
                kind = labels.index(series.label) % len(COLORS)
                width = look.scale * (2.2 - 0.3 * min(kind, 4))
                style = {"color": COLORS[kind], "linestyle": DASHES[kind], "linewidth": width}
                axes.stairs(series.values, series.edges, baseline=None, label=series.label, zorder=3 + kind, **style)
            axes.set_title(panel.title, loc="left")
            set_scale(axes, "x", x_scale)
            if has_dates:
                show_dates(axes)
            axes.set_xlabel(x_label)
            if limits is not None:
                axes.set_ylim(*limits)
        grid[0].set_ylabel(y_label)
        legend_above(figure, *handles_of(grid), look)
    return figure
