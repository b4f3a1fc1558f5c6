"""Dot plots: every run of several cases, with the mean and its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from vinesim.plots.style import COLORS, PANEL_INCHES, PLAIN, SMALL, drawing

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SPREAD = 0.22  # how far the dots of a row lie from its middle, relative to the distance between rows


@dataclass(frozen=True)
class Dots:
    """One row: the value of each run [n], their mean, and the interval of the mean."""

    label: str
    values: np.ndarray
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class DotsPanel:
    """Rows from top to bottom on one x axis; ``marks`` names values of x to point out."""

    title: str
    rows: Sequence[Dots]
    x_label: str
    marks: Mapping[str, float] = field(default_factory=dict)


def dots_figure(panels: Sequence[DotsPanel]) -> "Figure":
    """Draw the panels side by side. Neighbours with equal rows share row names; equal x labels share an axis."""
    labels = [[row.label for row in panel.rows] for panel in panels]
    n_named = 1 + sum(after != before for before, after in pairwise(labels))
    size = (PANEL_INCHES[0] * len(panels) + 1.3 * n_named, 0.27 * max(map(len, labels)) + 1.2)
    has_marks = any(panel.marks for panel in panels)
    is_one_axis = len({panel.x_label for panel in panels}) == 1
    with drawing(PLAIN, size, len(panels), sharex=is_one_axis) as (figure, grid):
        for number, (axes, panel) in enumerate(zip(grid, panels, strict=True)):
            for place, row in enumerate(panel.rows):
                heights = place + np.linspace(-SPREAD, SPREAD, len(row.values))
                first = place == number == 0
                dots = {"color": COLORS[5], "markersize": 3.5 * PLAIN.scale, "label": "a workload" * first}
                axes.plot(row.values, heights, "o", **dots)
                axes.errorbar(
                    row.mean,
                    place,
                    xerr=[[row.mean - row.low], [row.high - row.mean]],
                    fmt="D",
                    color=COLORS[1],
                    markersize=5 * PLAIN.scale,
                    capsize=3,
                    zorder=4,
                    label="mean, 95 % interval" * first,
                )
            for name, x in panel.marks.items():
                axes.axvline(x, color="#555555", linewidth=0.9, linestyle=(0, (6, 2)), zorder=2)
                axes.annotate(name, (x, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), ha="center",
                              textcoords="offset points", fontsize=SMALL, color="#444444")  # fmt: skip
            if min(row.values.min() for row in panel.rows) < 0:
                axes.axvline(0, color="#555555", linewidth=0.9, zorder=2)
            same = number > 0 and labels[number] == labels[number - 1]
            axes.set_yticks(range(len(panel.rows)), [""] * len(panel.rows) if same else labels[number])
            axes.set_ylim(len(panel.rows) - 0.5, -0.5)
            axes.tick_params(axis="y", length=0)
            axes.set_title(panel.title, loc="left", pad=14 if has_marks else 6)
            axes.set_xlabel(panel.x_label)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
