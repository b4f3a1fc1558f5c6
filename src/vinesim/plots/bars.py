"""Bar charts: one group per category, one bar per series."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.plots.style import (
    COLORS,
    HATCHES,
    PANEL_INCHES,
    PLAIN,
    SMALL,
    Look,
    drawing,
    handles_of,
    hollow_among,
    legend_above,
    name_places,
    stalled_entry,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

GROUP_WIDTH = 0.8  # width of a group's bars relative to the distance between groups
CHART_SHARE = 0.5  # the least share of a figure's height that is the chart
FREE_SHARE = 0.85  # share of a figure's width without the labels of the y axis
SMALL_SHARE = 0.833  # relative size of text that Matplotlib calls small
CROWDED = 24  # with more bars than this, bars are narrow and their values vertical


@dataclass(frozen=True)
class Bars:
    """One series: a value for each category [n], with ``low`` and ``high`` [n] as the ends of error bars.

    Values of stalled runs are drawn hollow.
    """

    label: str
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    is_hollow: np.ndarray | None = None


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
    n_bars = len(categories) * len(bars)
    is_crowded = n_bars > CROWDED
    width = max(PANEL_INCHES[0] * 1.4, (0.22 if is_crowded else 0.45) * n_bars)
    size = look.size(width, PANEL_INCHES[1] * (1.5 if is_crowded else 1.25))
    letters = max((len(_value(value)) for series in bars for value in series.values), default=0)
    turned = _turned(FREE_SHARE * GROUP_WIDTH * size[0] / n_bars, letters, look)
    with drawing(look, size) as (figure, (axes,)):
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
            hollow = hollow_among(series.is_hollow, series.values)
            if hollow.any():
                style = {"facecolor": "white", "edgecolor": COLORS[kind], "hatch": HATCHES[kind]}
                axes.bar(places[hollow], np.asarray(series.values)[hollow], each, **style)
                stalled_entry(axes)
            if turned is not None:
                axes.bar_label(drawn, fmt=_value, fontsize=SMALL, padding=2, rotation=turned)
        name_places(axes, categories, FREE_SHARE * size[0] / len(categories), look)
        axes.tick_params(axis="x", length=0)
        axes.grid(visible=False, axis="x")
        axes.margins(y=max(0.12, letters * _letter(look) / (CHART_SHARE * size[1]) if turned else 0))
        if is_crowded:
            axes.margins(x=0.02)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        legend_above(figure, *handles_of([axes]), look)
    return figure


def _turned(inches: float, letters: int, look: Look) -> int | None:
    """Return the angle of the values above bars, degrees, at which none is wider than its bar; None if none fits.

    A wider value would run into the next bar, which may be higher.
    """
    if inches > letters * _letter(look):
        return 0
    return 90 if inches > 2 * _letter(look) else None


def _letter(look: Look) -> float:
    """Return the width of a digit above a bar, inches; a line of text is about twice as high."""
    return 0.6 * SMALL_SHARE * look.points / 72


def _value(value: float) -> str:
    """Format a value with three digits; a chart shows no finer differences."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
