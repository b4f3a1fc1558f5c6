"""Bar charts: one group per category, one bar per series."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.plots.style import COLORS, HATCHES, PANEL_INCHES, PLAIN, SMALL, Look, matplotlib

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

GROUP_WIDTH = 0.8  # relative to the distance between groups
CROWDED = 24  # with more bars than this, bars are narrow and their values vertical


@dataclass(frozen=True)
class Bars:
    """One series: a value for each category [n]; ``low`` and ``high`` [n] bound its error bars."""

    label: str
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def bar_figure(
    categories: Sequence[str],
    bars: Sequence[Bars],
    x_label: str,
    y_label: str,
    *,
    scale: str = "linear",
    look: Look = PLAIN,
) -> "Figure":
    """Draw bars grouped by category, each with its value above it; ``scale`` of the y axis is linear or log."""
    mpl = matplotlib()
    n_bars = len(categories) * len(bars)
    is_crowded = n_bars > CROWDED
    with mpl.rc_context(look.rc):
        from matplotlib.figure import Figure

        width = max(PANEL_INCHES[0] * 1.4, (0.22 if is_crowded else 0.45) * n_bars)
        size = look.size(width, PANEL_INCHES[1] * (1.5 if is_crowded else 1.25))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.set_yscale(scale)
        each = GROUP_WIDTH / len(bars)
        for number, series in enumerate(bars):
            places = np.arange(len(categories)) + (number - (len(bars) - 1) / 2) * each
            kind = number % len(COLORS)
            style: dict[str, Any] = {"color": COLORS[kind], "hatch": HATCHES[kind], "edgecolor": "white"}
            if series.low is not None and series.high is not None:
                values = np.asarray(series.values)
                style["yerr"] = np.array([values - np.asarray(series.low), np.asarray(series.high) - values])
                style["error_kw"] = {"ecolor": "black", "capsize": 2}
            drawn = axes.bar(places, series.values, each, label=series.label, **style)
            axes.bar_label(drawn, fmt="{:,.4g}", fontsize=SMALL, padding=2, rotation=90 if is_crowded else 0)
        axes.set_xticks(range(len(categories)), categories)
        axes.tick_params(axis="x", length=0)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.15 if is_crowded else 0.12)
        if is_crowded:
            axes.margins(x=0.02)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        if len(bars) > 1:
            figure.legend(loc="outside upper center", ncols=len(bars))
    return figure
