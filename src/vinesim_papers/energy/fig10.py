"""Figure 10: execution times on the thesis' first computer; here those of this machine."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Above, Each
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.speed import NO_THESIS_HARDWARE, POLICIES, SIZES, placement_s

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

MS = 1e3


def _falls(data: Data) -> dict[str, float]:
    """How many times shorter each time is than the one before, for each size."""
    found = {}
    for size, seconds in data.result("seconds").items():
        for longer, shorter in pairwise(("BF", "DCBF", "ABF32")):
            found[f"{longer} / {shorter}, {size}"] = seconds[longer] / seconds[shorter]
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.bars import Bars, bar_figure

    seconds = data.result("seconds")
    series = [Bars(size, [MS * seconds[size][name] for name in POLICIES]) for size in SIZES]
    figure = bar_figure(list(POLICIES), series, "policy; here all on the CPU", "one batch, ms", scale="log")
    return {"energy-fig10": figure}


ITEM = Item(
    id="energy-fig10",
    title="Execution times on system 1 (here those of this machine)",
    source="section 4.1, Figure 10",
    runs={"seconds": placement_s},
    draw=_draw,
    claims=(
        Claim(
            id="EF10.1",
            source="section 4.1, Figure 10",
            statement="Execution times fall by orders of magnitude from BF over DCBF to ABF, at every size",
            expected="each step at least half an order of magnitude",
            measure=_falls,
            judge=Each(Above(math.sqrt(10))),
            note=NO_THESIS_HARDWARE,
        ),
    ),
)
