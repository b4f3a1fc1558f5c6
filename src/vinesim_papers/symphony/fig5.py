"""Figure 5: the time that Symphony itself takes, by nodes and applications; here that on this machine."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Between, Each, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.speed import APPLICATIONS, NODES, PRINTED, REPEATS, growth

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

THIS_MACHINE = (
    "no result of the model, so not counted among the claims: times of this machine over that of 3 nodes with 4 "
    f"applications in the same run, each the least of {REPEATS}; what is timed is the event loop with its decisions, "
    "not the paper's middleware with its messages"
)
MOST = (NODES[-1], APPLICATIONS[-1])


def _over_the_largest(data: Data) -> dict[str, float]:
    """The time at the largest corner divided by that at each other point of the surface."""
    grid = data.result("growth")
    return {f"{n} nodes, {a}": grid[MOST] / grid[n, a] for n in NODES for a in APPLICATIONS if (n, a) != MOST}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    grid = data.result("growth")
    nodes = np.array(NODES)
    lines = [Line(f"{a} applications", nodes, np.array([grid[n, a] for n in NODES])) for a in APPLICATIONS]
    y = Axis("time for a request, normalized", limits=(0, 1.2 * max(grid.values())))
    return {"symphony-fig5": line_figure([Panel("", lines)], Axis("nodes", ticks=NODES), y)}


ITEM = Item(
    id="symphony-fig5",
    title="Symphony's own time by nodes and applications (on this machine)",
    source="section V-F, Figure 5",
    runs={"growth": growth},
    draw=_draw,
    claims=(
        Claim(
            id="SF5.1",
            kind=Kind.GIVEN,
            source="section V-F, Fig. 5",
            statement="With 16 nodes and 18 applications Symphony takes 22 % longer than with 3 and 4: quotient",
            expected=f"{PRINTED:g}",
            measure=lambda data: data.result("growth")[MOST],
            judge=Within(PRINTED, 0.1),
            partly=Between(1.0, 1.5),
            note=THIS_MACHINE,
        ),
        Claim(
            id="SF5.2",
            kind=Kind.GIVEN,
            source="section V-F, Fig. 5",
            statement="It takes longest where both nodes and applications are most: quotients of that time and those "
            "at all other points",
            expected="above 1",
            measure=_over_the_largest,
            judge=Each(Between(1.0, 1.5)),
            partly=Each(Between(0.95, 1.5)),
            note=THIS_MACHINE,
        ),
    ),
)
