"""The gains of Figures 7 and 9 over a map of what the paper leaves open: spread of durations, load, kind of jobs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Between, Each, Equal, Parts
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import scenario
from vinesim_papers.rbss.measures import BA, FIFO, OCL, OTHERS, TIME, gains, interval

if TYPE_CHECKING:
    from vinesim.plots.style import Figure
    from vinesim.studies.statistics import Interval

HERE = Path(__file__).parent
STUDIES = {"ocl": "gain_map_ocl.yaml", "ba": "gain_map_ba.yaml"}
COMPARED = {"ocl": (OCL, OTHERS), "ba": (BA, (FIFO,))}
PRINTED = {"ocl": 12.0, "ba": 50.0}  # percent
MANY = 20  # copies of the jobs, for the spread of their durations
ALIKE = (10, 40)  # s: fixed costs at which durations differ little
Spreads = dict[str, dict[float, float]]


def _cells(data: Data, study: str, **where: Any) -> dict[tuple[str, str, float], "Interval"]:
    """Return the mean gain with its interval at each point of the map that matches ``where``."""
    of, against = COMPARED[study]
    axes = [data.labels(study, name) for name in ("jobs", "load", "fixed_s")]
    points = [{"jobs": j, "load": load, "fixed_s": s} for j in axes[0] for load in axes[1] for s in axes[2]]
    chosen = [p for p in points if all(p[k] in (v if isinstance(v, tuple) else (v,)) for k, v in where.items())]
    return {tuple(p.values()): interval(gains(data, study, TIME, of, against, **p)) for p in chosen}


def _signs(data: Data, study: str, **where: Any) -> dict[str, int]:
    """Count the cells whose interval of the gain is above 0, contains 0, and is below 0."""
    cells = _cells(data, study, **where).values()
    above, below = sum(cell.low > 0 for cell in cells), sum(cell.high < 0 for cell in cells)
    return {"gain": above, "neither": len(cells) - above - below, "loss": below}


def _with_printed(data: Data, study: str) -> dict[str, int]:
    """Count the cells with a gain whose interval contains the paper's number, is above it, and is below it."""
    printed, cells = PRINTED[study], [cell for cell in _cells(data, study).values() if cell.low > 0]
    less, more = sum(cell.high < printed for cell in cells), sum(cell.low > printed for cell in cells)
    return {"less": less, "as printed": len(cells) - less - more, "more": more}


def spreads(changes: Changes) -> Spreads:
    """The standard deviation of the jobs' mean durations over their mean, by study and fixed cost."""
    found: Spreads = {}
    for name, file in STUDIES.items():
        found[name] = {}
        for fixed_s in (1, 3, 10, 40):
            many = {"workload.options.fixed_s": fixed_s, "workload.options.copies": MANY}
            times_us = scenario(HERE / file, changes, many).workload.times_us
            durations = np.asarray(times_us).mean(axis=1)
            found[name][fixed_s] = float(durations.std() / durations.mean())
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.heat import HeatPanel, heat_figure

    figures = {}
    labels = {"ocl": "time saved by OCL against\nthe best of the others, %", "ba": "time saved by BA\nagainst FIFO, %"}
    for study, value_label in labels.items():
        loads, fixed = data.labels(study, "load"), data.labels(study, "fixed_s")
        panels = []
        for jobs in data.labels(study, "jobs"):
            cells = list(_cells(data, study, jobs=jobs).values())
            values, halves = (
                np.array([getattr(cell, part) for cell in cells]).reshape(len(loads), len(fixed))
                for part in ("estimate", "half_width")
            )
            panels.append(HeatPanel(jobs, values, halves))
        spread = data.result("spreads")[study]
        columns = [f"{s:g} s\n{spread[s]:.2f}" for s in fixed]
        x_label = "fixed cost of an execution, and below the spread of the durations (standard deviation / mean)"
        figures[f"rbss-gain-map-{study}"] = heat_figure(panels, columns, loads, x_label, "load", value_label)
    return figures


ITEM = Item(
    id="rbss-gain-map",
    title="Where moving jobs to CPUs and avoiding bottlenecks pay",
    source="section 5.3, Figures 7 and 9, over what they leave open",
    studies=STUDIES,
    runs={"spreads": spreads},
    draw=_draw,
    claims=(
        Claim(
            id="RGM.1",
            kind=Kind.FINDING,
            source="section 5.3, Figure 7",
            statement="A gain of OCL over the best other heuristic is the exception: in most of the 48 cells of the "
            "map (system 1) its interval holds 0",
            expected="fewer cells with a gain than with neither",
            measure=lambda data: _signs(data, "ocl"),
            judge=Parts(Between(1, 23), Between(25, 47), Between(0, 23)),
            note="it pays where jobs wait, have durations alike, and are for accelerators; with one of the three "
            "missing the interval holds 0, or is below it",
        ),
        Claim(
            id="RGM.2",
            kind=Kind.FINDING,
            source="section 5.3, Figure 7a",
            statement="12 % is one line through the map, not its typical value: of the cells with a gain some have "
            "less, some have more",
            expected="cells of each kind",
            measure=lambda data: _with_printed(data, "ocl"),
            judge=Each(Between(1, 48)),
        ),
        Claim(
            id="RGM.3",
            kind=Kind.FINDING,
            source="section 5.3, Figure 9",
            statement="BA takes less time than FIFO in more than half of the 48 cells of the map (system 2), and more "
            "in a good part of the others",
            expected="more gains than losses, and several losses",
            measure=lambda data: _signs(data, "ba"),
            judge=Parts(Between(25, 48), Between(0, 20), Between(5, 23)),
            note="a loss where durations differ much: a very long job ends up on a weak GPU",
        ),
        Claim(
            id="RGM.4",
            kind=Kind.FINDING,
            source="section 5.3, Figure 9",
            statement="Where durations are alike (fixed cost 10 s and 40 s) BA never loses, and nearly always gains",
            expected="a gain in nearly all of 24 cells, a loss in none",
            measure=lambda data: _signs(data, "ba", fixed_s=ALIKE),
            judge=Parts(Between(20, 24), Between(0, 4), Equal(0)),
            note="at light load FIFO's queue is short, and there is nothing to avoid",
        ),
    ),
)
