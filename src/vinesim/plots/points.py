"""Scatter charts of single runs: one point per run, to show what a mean would hide."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vinesim.plots.style import (
    COLORS,
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


@dataclass(frozen=True)
class Points:
    """The runs of one series: x and y [n], and which of them stalled and are drawn hollow."""

    label: str
    x: np.ndarray
    y: np.ndarray
    is_hollow: np.ndarray | None = None


@dataclass(frozen=True)
class PointsPanel:
    """Points that share axes; ``scale`` of the y axis is linear or log."""

    title: str
    y_label: str
    points: Sequence[Points]
    scale: str = "linear"


def points_figure(
    panels: Sequence[PointsPanel], x_label: str, *, x_scale: str = "linear", look: Look = PLAIN
) -> "Figure":
    """Draw the panels side by side with the same x axis, and one legend above them."""
    size = (PANEL_INCHES[0] * max(len(panels), 1.4), PANEL_INCHES[1] + 0.4)
    with drawing(look, size, len(panels), sharex=True) as (figure, grid):
        for axes, panel in zip(grid, panels, strict=True):
            for kind, points in enumerate(panel.points):
                style = {"color": COLORS[kind], "marker": MARKERS[kind], "markersize": 3.5 * look.scale, "alpha": 0.75}
                hollow = hollow_among(points.is_hollow, points.x + points.y)
                for rows, look_of in ((~hollow, {}), (hollow, {"markerfacecolor": "white"})):
                    own = style | look_of | ({} if look_of else {"label": points.label})
                    axes.plot(points.x[rows], points.y[rows], linestyle="", zorder=3 + kind, **own)
                if hollow.any():
                    stalled_entry(axes)
            axes.set_title(panel.title, loc="left")
            set_scale(axes, "x", x_scale)
            set_scale(axes, "y", panel.scale)
            axes.set_xlabel(x_label)
            axes.set_ylabel(panel.y_label)
        legend_above(figure, *handles_of(grid[:1]), look)
    return figure
