"""Heat maps in small multiples: a number and its uncertainty over two axes, one panel per case."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vinesim.plots.style import PANEL_INCHES, RC, matplotlib

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

COLORS = "PuOr_r"  # orange above 0, purple below: distinguishable with colour blindness
DARK = 0.62  # above this share of the largest absolute value, the text is white


@dataclass(frozen=True)
class HeatPanel:
    """One map: ``values`` [rows, columns], and half the width of each value's interval."""

    title: str
    values: np.ndarray
    half_widths: np.ndarray


def heat_figure(
    panels: Sequence[HeatPanel],
    columns: Sequence[str],
    rows: Sequence[str],
    x_label: str,
    y_label: str,
    value_label: str,
) -> "Figure":
    """Draw the panels side by side on one colour scale centred on 0; each cell shows value +- half width.

    Values whose interval excludes 0 are bold.
    """
    mpl = matplotlib()
    largest = max(float(np.nanmax(np.abs(panel.values))) for panel in panels) or 1.0
    with mpl.rc_context(dict(RC) | {"axes.grid": False}):
        from matplotlib.figure import Figure

        width, height = 0.78 * len(columns), 0.5 * len(rows)
        size = (max(width * len(panels) + 2.6, 2 * PANEL_INCHES[0]), height + 1.25)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=True):
            image = axes.imshow(panel.values, cmap=COLORS, vmin=-largest, vmax=largest, aspect="auto")
            for (row, column), value in np.ndenumerate(panel.values):
                half = panel.half_widths[row, column]
                axes.text(
                    column,
                    row,
                    f"{_whole(value)}\n± {half:.0f}",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    fontweight="bold" if abs(value) > half else "normal",
                    color="white" if abs(value) > DARK * largest else "black",
                )
            axes.set_title(panel.title, loc="left")
            axes.set_xticks(range(len(columns)), columns)
            axes.set_yticks(range(len(rows)), rows)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        grid[0].set_ylabel(y_label)
        figure.supxlabel(f"{x_label}\nbold: the 95 % interval excludes 0", fontsize=RC["axes.labelsize"])
        figure.colorbar(image, ax=grid.tolist(), label=value_label, pad=0.01, aspect=14)
    return figure


def _whole(value: float) -> str:
    """Round, with a sign and a true minus; 0 has no sign."""
    rounded = round(value)
    return "0" if rounded == 0 else f"{rounded:+d}".replace("-", "\N{MINUS SIGN}")
