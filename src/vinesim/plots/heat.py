"""Heat maps in small multiples: a number and its uncertainty over two axes, one panel per case."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vinesim.plots.style import PANEL_INCHES, PLAIN, SMALL, Look, drawing, name_places

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

DIVERGING = "PuOr_r"  # orange above 0, purple below: distinguishable with colour blindness
SEQUENTIAL = "Blues"
DARK = 0.62  # above this share of the largest absolute value, the text is white
WIDTH_OF_LETTER = 0.6  # relative to the size of the font


@dataclass(frozen=True)
class HeatPanel:
    """One map: ``values`` [rows, columns], half widths of their intervals (NaN: none), and which runs stalled."""

    title: str
    values: np.ndarray
    half_widths: np.ndarray
    is_stalled: np.ndarray | None = None


def heat_figure(
    panels: Sequence[HeatPanel],
    columns: Sequence[str],
    rows: Sequence[str],
    x_label: str,
    y_label: str,
    value_label: str,
    *,
    is_difference: bool = True,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the panels side by side on one colour scale; each cell shows value +- half width.

    The scale of differences is centred on 0, and those whose interval excludes 0 are bold.
    """
    values = np.concatenate([panel.values.ravel() for panel in panels])
    largest = float(np.nanmax(np.abs(values))) or 1.0
    low, high = (-largest, largest) if is_difference else (float(np.nanmin(values)), float(np.nanmax(values)))
    colors = DIVERGING if is_difference else SEQUENTIAL
    width, height = 0.78 * len(columns), 0.5 * len(rows)
    size = (max(width * len(panels) + 2.6, 2 * PANEL_INCHES[0]), height + 1.25)
    with drawing(look, size, len(panels), has_grid=False, sharey=True) as (figure, grid):
        for axes, panel in zip(grid, panels, strict=True):
            stalled = np.zeros(panel.values.shape, bool) if panel.is_stalled is None else panel.is_stalled
            image = axes.imshow(panel.values, cmap=colors, vmin=low, vmax=high, aspect="auto")
            for (row, column), value in np.ndenumerate(panel.values):
                if np.isnan(value):
                    continue
                half = float(panel.half_widths[row, column])
                is_dark = abs(value) > DARK * largest if is_difference else value - low > DARK * (high - low)
                axes.text(
                    column,
                    row,
                    f"{value:,.4g}\nstalled" if stalled[row, column] else _text(value, half, is_difference),
                    ha="center",
                    va="center",
                    fontsize=SMALL,
                    fontweight="bold" if is_difference and abs(value) > half else "normal",
                    color="white" if is_dark else "black",
                )
            axes.set_title(panel.title, loc="left")
            name_places(axes, columns, 0.65 * figure.get_figwidth() / (len(panels) * len(columns)), look)
            axes.set_yticks(range(len(rows)), rows)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        grid[0].set_ylabel(y_label)
        note = "\nbold: the 95 % interval excludes 0" if is_difference else ""
        figure.supxlabel(f"{x_label}{note}", fontsize=look.rc["axes.labelsize"])
        bar = figure.colorbar(image, ax=grid.tolist(), pad=0.01, aspect=14)
        is_short = WIDTH_OF_LETTER * len(value_label) * float(look.rc["axes.labelsize"]) / 72 <= height
        bar.set_label(value_label, loc="center" if is_short else "top")  # a longer one would extend beyond the figure
    return figure


def _text(value: float, half: float, is_difference: bool) -> str:
    if is_difference:
        return f"{_whole(value)}\n± {half:.0f}"
    return f"{value:,.4g}" if np.isnan(half) else f"{value:,.4g}\n± {half:.2g}"


def _whole(value: float) -> str:
    """Format a rounded value with a sign, and with a true minus; 0 has no sign."""
    rounded = round(value)
    return "0" if rounded == 0 else f"{rounded:+d}".replace("-", "\N{MINUS SIGN}")
