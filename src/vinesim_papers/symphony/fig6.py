"""Figure 6: the diagonal of Figure 5, m nodes with m + 1 applications."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Each, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.fig5 import THIS_MACHINE
from vinesim_papers.symphony.speed import DIAGONAL, PRINTED, growth

if TYPE_CHECKING:
    from vinesim.plots.style import Figure


def _diagonal(data: Data) -> dict[int, float]:
    grid = data.result("growth")
    return {n: grid[n, n + 1] for n in DIAGONAL}


def _over_the_line(data: Data) -> dict[str, float]:
    """Each time divided by that of a straight line from 1 at 3 nodes to Figure 5's 1.22 at 16."""
    line = {n: 1 + (PRINTED - 1) * (n - DIAGONAL[0]) / (DIAGONAL[-1] - DIAGONAL[0]) for n in DIAGONAL}
    return {f"{n} nodes": value / line[n] for n, value in _diagonal(data).items() if n > DIAGONAL[0]}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    found = _diagonal(data)
    line = Line("Symphony", np.array(DIAGONAL), np.array(list(found.values())))
    x = Axis("nodes, with one application more", ticks=DIAGONAL)
    y = Axis("time for a request, normalized", limits=(0, 1.2 * max(found.values())))
    return {"symphony-fig6": line_figure([Panel("", [line])], x, y)}


ITEM = Item(
    id="symphony-fig6",
    title="Symphony's own time on m nodes with m + 1 applications (on this machine)",
    source="section V-F, Figure 6",
    runs={"growth": growth},
    draw=_draw,
    claims=(
        Claim(
            id="SF6.1",
            kind=Kind.GIVEN,
            source="section V-F, Fig. 6",
            statement="It scales nearly linearly, with a small slope: at every point of the diagonal, over the "
            "straight line to 22 % more",
            expected="1",
            measure=_over_the_line,
            judge=Each(Within(1, 0.1)),
            partly=Each(Within(1, 0.25)),
            note=THIS_MACHINE,
        ),
    ),
)
