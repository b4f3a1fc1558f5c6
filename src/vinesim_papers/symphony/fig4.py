"""Figure 4: requests that miss their deadline against the height and the width of the spikes, on seven nodes."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import About, Above, Below, Each, Parts, Some, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.drawing import MISSED_LABEL
from vinesim_papers.symphony.measures import EDF, FCFS, MISSED, SCHEDULERS, SYMPHONY, missed

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

HEIGHTS, WIDTHS = (1.25, 2.0, 4.0), (5, 10, 20)
NUMBERS = (
    "the ranges of Figure 4's axes and the share of the time that spikes fill are not given; here an application's "
    "spikes fill up to 11 % of it"
)
DURING = "while all applications have a spike"


def _grid(data: Data, scheduler: str) -> np.ndarray:
    """[widths, heights]."""
    rows = [[missed(data, "fig4", scheduler=scheduler, height=h, width_min=w) for h in HEIGHTS] for w in WIDTHS]
    return np.array(rows)


def _during(data: Data, scheduler: str) -> np.ndarray:
    return np.array([missed(data, "during", scheduler=scheduler, height=h) for h in HEIGHTS])


def _means(data: Data) -> dict[str, float]:
    return {name: float(_grid(data, name).mean()) for name in SCHEDULERS}


def _most(data: Data) -> dict[str, float]:
    return {name: float(_grid(data, name).max()) for name in SCHEDULERS}


def _with_height(data: Data) -> dict[str, float]:
    """Ratio of the highest to the lowest spikes, by width."""
    return {
        f"{name}, {width} min": float(row[-1] / row[0])
        for name in (FCFS, EDF)
        for width, row in zip(WIDTHS, _grid(data, name), strict=True)
    }


def _with_height_during(data: Data) -> dict[str, float]:
    found = {name: _during(data, name) for name in (FCFS, EDF)}
    return {name: float(of[-1] / of[0]) for name, of in found.items()}


def _ranges(data: Data) -> dict[str, float]:
    """Difference between the best and the worst spikes, in points."""
    return {name: float(np.ptp(_grid(data, name))) for name in SCHEDULERS}


def _with_width(data: Data) -> dict[str, float]:
    """Difference between the best and the worst width, in points, at the height where it is largest."""
    return {name: float(np.ptp(_grid(data, name), axis=0).max()) for name in SCHEDULERS}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    panels = []
    for width in WIDTHS:
        lines = []
        for name in SCHEDULERS:
            curve = data.curve("fig4", MISSED, along="height", scheduler=name, width_min=width)
            lines.append(Line(name, curve.x, curve.mean, np.maximum(curve.low, 0), curve.high))
        panels.append(Panel(f"{width} minutes wide", lines))
    lines = []
    for name in SCHEDULERS:
        curve = data.curve("during", MISSED, along="height", scheduler=name)
        lines.append(Line(name, curve.x, curve.mean))
    panels.append(Panel(f"{DURING}", lines))
    x = Axis("height of the spikes, times the normal load", ticks=HEIGHTS)
    y = [*(Axis(MISSED_LABEL, limits=(0, _top(data))) for _ in WIDTHS), Axis(MISSED_LABEL, limits=(0, None))]
    return {"symphony-fig4": line_figure(panels, x, y, columns=2)}


def _top(data: Data) -> float:
    return 1.15 * max(_most(data).values())


ITEM = Item(
    id="symphony-fig4",
    title="Missed requests by height and width of the spikes, 7 nodes (40 minutes, widths a ninth, 3 times)",
    source="section V-E, Figure 4",
    studies={"fig4": "fig4.yaml", "during": "during.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="SF4.1",
            source="section V-E",
            statement="Over all spikes FCFS, EDF and Symphony miss on average",
            expected="9.2, 7.2, 0.7 %",
            measure=_means,
            judge=Parts(Within(9.2, 0.25), Within(7.2, 0.25), Within(0.7, 0.25)),
            partly=Parts(About(9.2), About(7.2), About(0.7)),
            unit="%",
            note=NUMBERS,
            other_reading=OtherReading(
                DURING, lambda data: {name: float(_during(data, name).mean()) for name in SCHEDULERS}
            ),
        ),
        Claim(
            id="SF4.2",
            source="section V-E",
            statement="At most they miss",
            expected="20.5, 18, 2.15 %",
            measure=_most,
            judge=Parts(Within(20.5, 0.25), Within(18, 0.25), Within(2.15, 0.25)),
            partly=Parts(About(20.5), About(18), About(2.15)),
            unit="%",
            note=NUMBERS,
            other_reading=OtherReading(
                DURING, lambda data: {name: float(_during(data, name).max()) for name in SCHEDULERS}
            ),
        ),
        Claim(
            id="SF4.3",
            source="section V-E, Fig. 4",
            statement="FCFS and EDF deteriorate sharply with the height: misses at 4 against those at 1.25, by width",
            expected="sharply: twice or more",
            measure=_with_height,
            judge=Each(Above(2)),
            partly=Some(Above(2)),
            note=NUMBERS,
            other_reading=OtherReading(DURING, _with_height_during),
        ),
        Claim(
            id="SF4.4",
            source="section V-E, Fig. 4",
            statement="Symphony is not very sensitive to spikes: points between the best and the worst are a fifth of "
            "those of FCFS and EDF, or less",
            expected="FCFS, EDF: 5 times Symphony's",
            measure=lambda data: _times_symphony(_ranges(data)),
            judge=Each(Above(5)),
            partly=Each(Above(2)),
        ),
        Claim(
            id="SF4.5",
            kind=Kind.FINDING,
            source="section V-E, Fig. 4",
            statement="For Symphony the width matters little, for FCFS and EDF more: points between the best and the "
            "worst width, at any height",
            expected="FCFS, EDF: above 0.5, Symphony: below 0.1 points",
            measure=_with_width,
            judge=Parts(Above(0.5), Above(0.5), Below(0.1)),
            unit="points",
            note="with FCFS and EDF wider spikes mean more requests at the high rate, so more misses",
        ),
    ),
)


def _times_symphony(found: dict[str, float]) -> dict[str, float]:
    return {name: found[name] / found[SYMPHONY] for name in (FCFS, EDF)}
