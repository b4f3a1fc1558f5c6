"""The figures of the energy thesis' tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.data import Data
from vinesim_papers.energy.measures import BF, BLOCKS, BY_ENERGY, DCBF, RR, SAVING, SLAV, by_period, each

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

MEGA = 1e6
DIGITS = 2  # for the numbers above the bars


def over_periods(data: Data, study: str) -> "Figure":
    """Draw over-commitment along the batch period, for round robin and best fit, and for the blocks."""
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    periods = np.array([float(s) for s in data.labels(study, "period_s")])

    def panel(title: str, schedulers: Sequence[str]) -> Panel:
        lines = []
        for name in schedulers:
            values = np.array(list(by_period(data, study, name).values()))
            shown = values > 0
            lines.append(Line(name, periods[shown], values[shown]))
        return Panel(title, lines)

    panels = [panel("whole datacenter", (RR, BF, DCBF)), panel("blocks of servers", BLOCKS)]
    x, y = Axis("batch period, s", ticks=periods.tolist()), Axis("demand beyond capacity, demand x s", "log")
    return line_figure(panels, x, y, columns=2)


def bars(values: Mapping[str, Mapping[str, float]], y_label: str, schedulers: Sequence[str] = BY_ENERGY) -> "Figure":
    """Draw one group per scheduler and one bar per row of ``values``."""
    from vinesim.plots.bars import Bars, bar_figure

    series = [Bars(row, [round(of[name], DIGITS) for name in schedulers]) for row, of in values.items()]
    return bar_figure(list(schedulers), series, "", y_label)


def reductions(values: Mapping[str, Mapping[str, float]]) -> "Figure":
    """Draw the energy saved compared with round robin."""
    return bars(values, "energy saved against RR, %", SAVING)


def over_commitment(data: Data, study: str, column: str) -> "Figure":
    """Draw the over-commitment of every scheduler, one bar per label of ``column``."""
    labels, names = data.labels(study, column), (RR, *SAVING)
    found = {label: each(data, study, SLAV, names, **{column: label}) for label in labels}
    rows = {label: {name: slav / MEGA for name, slav in of.items()} for label, of in found.items()}
    return bars(rows, "demand beyond capacity, $10^6$ demand x s", names)
