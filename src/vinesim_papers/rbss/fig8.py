"""Figure 8: the energy that OCL saves over the best other heuristic."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Between, Each
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.rbss.drawing import ocl_figure
from vinesim_papers.rbss.measures import (
    ENERGY,
    SYSTEMS,
    TIME,
    IntervalAbove,
    Mean,
    by_assumptions,
    in_part,
    ocl_gains,
)

if TYPE_CHECKING:
    from vinesim.plots.style import Figure


def _correlation(data: Data) -> dict[str, float]:
    """The correlation of the savings in energy and in time, over all assumptions and workloads."""
    found = {}
    for system in SYSTEMS:
        energy, time = (
            np.concatenate([ocl_gains(data, number, system, name) for name in data.labels("a", "assumptions")])
            for number in (ENERGY, TIME)
        )
        found[system] = float(np.corrcoef(energy, time)[0, 1])
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"rbss-fig8": ocl_figure(data, ENERGY, "energy saved by OCL, %")}


def _claim(number: int, system: str) -> Claim:
    return Claim(
        id=f"RF8.{number}",
        source=f"section 5.3, Figure 8{'ab'[number - 1]}",
        statement=f"System {system[1]}: OCL takes less energy than the best other heuristic",
        expected="above 0, under all assumptions",
        measure=lambda data: by_assumptions(data, "a", lambda name: Mean.of(ocl_gains(data, ENERGY, system, name))),
        judge=Each(IntervalAbove(0)),
        partly=in_part(IntervalAbove(0)),
        unit="%",
        note="powers are assumed. Idle devices draw power as long as a workload lasts, so energy goes with time, and "
        "is saved where time is",
    )


ITEM = Item(
    id="rbss-fig8",
    title="Energy saved by running accelerator jobs on CPUs (assumed powers)",
    source="section 5.3, Figure 8",
    studies={"a": "group_a.yaml"},
    draw=_draw,
    claims=(
        _claim(1, "S1"),
        _claim(2, "S2"),
        Claim(
            id="RF8.3",
            source="section 3.2.2",
            statement="Less execution time is less energy: what OCL saves of the two goes together",
            expected="a correlation of 0.5 or more on both systems",
            measure=_correlation,
            judge=Each(Between(0.5, 1)),
        ),
    ),
)
