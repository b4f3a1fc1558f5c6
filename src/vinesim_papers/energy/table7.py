"""Table 7: speed-ups on the thesis' second computer, with two blocks; here those of this machine, and the energy."""

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import About, Alike, Each, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.measures import BLOCKS, ENERGY
from vinesim_papers.energy.speed import (
    NO_THESIS_HARDWARE,
    SIZES,
    TWO_BLOCKS,
    over_printed,
    placement_s,
)

TWO, EIGHT = TWO_BLOCKS, "DCBF, 8 blocks"
COLUMNS = ("RR", *BLOCKS, TWO_BLOCKS)
PRINTED = {  # None: the time of RR was too short for the thesis' clock
    "N, M": (4892, 467, 578, 338, 517, 207, 2.89),
    "2N, 2M": (None, 1078, 1099, 1082, 598, 338, 3.01),
    "5N, 5M": (None, 3812, 3197, 3082, 2070, 850, 3.02),
    "10N, 10M": (232_966, 7186, 6397, 6495, 3666, 1662, 3.04),
}


def _two_to_eight(data: Data) -> dict[str, float]:
    """The processor time with 2 blocks divided by that with 8, at each size."""
    seconds = data.result("seconds")
    return {size: seconds[size][TWO_BLOCKS] / seconds[size]["DCBF"] for size in SIZES}


ITEM = Item(
    id="energy-table7",
    title="Speed-ups against best fit on system 2 (here those of this machine)",
    source="section 4.1, Table 7",
    studies={"blocks": "blocks.yaml"},
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="ET7.1",
            source="section 4.1",
            statement="With 2 blocks DCBF has four times as much work as with 8, at every size",
            expected="4",
            measure=_two_to_eight,
            judge=Each(Within(4, 0.5)),
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET7.2",
            source="section 4.1, Table 7",
            statement="Speed-up over BF by brute force: RR, ABF and DCBF at " + "; ".join(SIZES),
            expected="2.9 (DCBF), 207 (ABF512, N, M) to 7,186 (ABF32, 10N, 10M), RR up to 232,966",
            measure=lambda data: over_printed(data, PRINTED, COLUMNS),
            judge=Each(About(1)),
            unit="of what is printed",
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET7.3",
            source="section 4.1",
            statement="The energy with 2 blocks is nearly the same as with 8",
            expected="equal",
            measure=lambda data: {name: data.mean("blocks", ENERGY, scheduler=name) for name in (TWO, EIGHT)},
            judge=Alike(0.01),
            unit="J",
        ),
    ),
)
