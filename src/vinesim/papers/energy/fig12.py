"""Figure 12: execution times on the thesis' second computer."""

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import About
from vinesim.papers.energy.speed import NO_THESIS_HARDWARE, placement_s
from vinesim.papers.item import Item

ITEM = Item(
    id="energy-fig12",
    paper="energy",
    title="Execution times on system 2 (here those of this machine)",
    source="section 4.1, Figure 12 (its caption says 11)",
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="EF12.1",
            source="section 4.1, Figure 12",
            statement="On an old computer with a small GPU, ABF is again far faster than BF",
            expected="ABF32: 467 times as fast as BF",
            measure=lambda data: data.result("seconds")["N, M"]["BF"] / data.result("seconds")["N, M"]["ABF32"],
            judge=About(467),
            note=NO_THESIS_HARDWARE,
        ),
    ),
)
