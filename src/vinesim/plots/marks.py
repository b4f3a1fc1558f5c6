"""Marks at values of the x axis of a figure, such as a limit or a threshold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vinesim.plots.style import RC, SMALL, matplotlib

if TYPE_CHECKING:
    from vinesim.plots.style import Figure


def mark_x(figure: "Figure", panel: int, marks: Mapping[str, float]) -> None:
    """Draw a thin vertical line at each x of the panel, with its name along the upper end of the line."""
    with matplotlib().rc_context(dict(RC)):
        axes = figure.axes[panel]
        for name, x in marks.items():
            axes.axvline(x, color="#555555", linewidth=0.9, linestyle=(0, (6, 2)), zorder=2)
            axes.annotate(
                name,
                (x, 0.98),
                xycoords=("data", "axes fraction"),
                xytext=(2, 0),
                textcoords="offset points",
                rotation=90,
                horizontalalignment="left",
                verticalalignment="top",
                fontsize=SMALL,
                color="#444444",
            )
