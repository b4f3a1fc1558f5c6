"""Figure 6: the diagonal of Figure 5, m nodes with m + 1 applications."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Between
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.symphony.speed import NODES, event_ns, normalized

if TYPE_CHECKING:
    from vinesim.plots.style import Figure


def _diagonal(data: Data) -> dict[int, float]:
    grid = normalized(data.result("event_ns"))
    return {n: grid[n, n + 1] for n in NODES}


def _slope(data: Data) -> float:
    """Growth for each node with its application, as a share of the time at 3 nodes: least squares."""
    found = _diagonal(data)
    return float(np.polyfit(list(found), list(found.values()), 1)[0])


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    found = _diagonal(data)
    line = Line("Symphony", np.array(NODES), np.array(list(found.values())))
    x = Axis("nodes, with one application more", ticks=NODES)
    return {
        "symphony-fig6": line_figure(
            [Panel("", [line])], x, Axis("overhead, normalized", limits=(0, 1.2 * max(found.values())))
        )
    }


ITEM = Item(
    id="symphony-fig6",
    paper="symphony",
    title="Symphony's own time on m nodes with m + 1 applications (on this machine)",
    source="section V-F, Figure 6",
    runs={"event_ns": event_ns},
    draw=_draw,
    claims=(
        Claim(
            id="SF6.1",
            source="section V-F, Fig. 6",
            statement="It scales nearly linearly, with a small slope: growth for a node and an application more, as a "
            "share of the time at 3 nodes",
            expected="small: less than 0.25, proportion to the applications",
            measure=_slope,
            judge=Between(-0.05, 0.25),
        ),
    ),
)
