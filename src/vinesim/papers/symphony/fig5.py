"""Figure 5: the time that Symphony itself takes, by nodes and applications; here what this machine needs."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Below, Between, Each
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.symphony.speed import APPLICATIONS, NODES, event_ns, normalized

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

THIS_MACHINE = (
    "a time of the paper's manager node, which is not simulated; measured is the event loop with its decisions on this "
    "machine, where a decision costs less than what else there is to do for a request"
)
CORNERS = {"3 nodes, 20 applications": (3, 20), "19 nodes, 4 applications": (19, 4), "both": (19, 20)}


def _corners(data: Data) -> dict[str, float]:
    grid = normalized(data.result("event_ns"))
    return {name: grid[place] for name, place in CORNERS.items()}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    grid = normalized(data.result("event_ns"))
    nodes = np.array(NODES)
    lines = [Line(f"{a} applications", nodes, np.array([grid[n, a] for n in NODES])) for a in APPLICATIONS]
    y = Axis("overhead, normalized", limits=(0, 1.2 * max(grid.values())))
    return {"symphony-fig5": line_figure([Panel("", lines)], Axis("nodes", ticks=NODES), y)}


ITEM = Item(
    id="symphony-fig5",
    paper="symphony",
    title="Symphony's own time by nodes and applications (on this machine)",
    source="section V-F, Figure 5",
    runs={"event_ns": event_ns},
    draw=_draw,
    claims=(
        Claim(
            id="SF5.1",
            source="section V-F, Fig. 5",
            statement="Symphony's own time grows by 22 % from 3 nodes with 4 applications to 16 nodes with 18; here "
            "between not at all and twice, on this machine, at 15 with 20",
            expected="1.22",
            measure=lambda data: normalized(data.result("event_ns"))[15, 20],
            judge=Between(1.0, 2.0),
            note=THIS_MACHINE,
        ),
        Claim(
            id="SF5.2",
            source="section V-F",
            statement="It grows no faster than the number of applications, whatever the number of nodes",
            expected="at most 5 for 5 times the applications and 6 times the nodes",
            measure=_corners,
            judge=Each(Below(5)),
        ),
    ),
)
