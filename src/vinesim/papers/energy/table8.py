"""Table 8: demand beyond capacity (SLAV) along the batch period; N = 20,000, as in the thesis."""

from typing import TYPE_CHECKING

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Equal, Falling, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import over_periods
from vinesim.papers.energy.measures import BF, BLOCKS, DCBF, SLAV, each, first
from vinesim.papers.energy.periods import EIGHTH, failed, onsets, round_robin
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

ROUND_ROBIN = (16_060_625, 15_257_475, 14_444_025, 14_562_750, 13_303_725, 10_637_525, 6_199_158)
OVERLOAD = {(BF, 2): 1.08e8, (BF, 1): 4.95e8, (DCBF, 2): 17_307_850, (DCBF, 1): 67_544_800}


def _overload(data: Data) -> dict[str, float]:
    return {f"{name}, {s} s": each(data, "periods", SLAV, (name,), period_s=s)[name] for name, s in OVERLOAD}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table8": over_periods(data, "periods", 1)}


ITEM = Item(
    id="energy-table8",
    paper="energy",
    title="Demand beyond capacity over the batch period, N = 20,000",
    source="section 4.1, Table 8",
    studies={"periods": "periods.yaml", "first": "first.yaml", "round_robin": "round_robin.yaml"},
    draw=_draw,
    claims=(
        round_robin(8, ROUND_ROBIN, EIGHTH),
        onsets(8, {"ABF64": 5, "ABF128": 4, "ABF256": 3, "ABF512": 3, BF: 2, DCBF: 2}),
        failed(8, "ABF64 to ABF512 at 2 s are a hundred times what they are at 3 s and 1 s", 2, 1.24e10, 1),
        Claim(
            id="ET8.4",
            source="section 4.1, Table 8",
            statement="In blocks of 32 over-commitment first appears at 7 s: a few tasks in one run of eight",
            expected="7 s",
            measure=lambda data: first(data, "first"),
            judge=Equal(7),
            unit="s",
        ),
        Claim(
            id="ET8.5",
            source="section 4.1, Table 8",
            statement="The smaller the blocks the more over-commitment (at 3 s, before BF has any)",
            expected="falling from ABF32 to ABF512",
            measure=lambda data: each(data, "periods", SLAV, BLOCKS, period_s=3),
            judge=Falling(),
        ),
        Claim(
            id="ET8.6",
            source="section 4.1, Table 8",
            statement="Beyond the capacity of the datacenter BF has far more than DCBF, as it sends all to one server",
            expected="BF: 108,000,000; 495,000,000; DCBF: 17,307,850; 67,544,800",
            measure=_overload,
            judge=Parts(*(Within(value, 0.25) for value in OVERLOAD.values())),
        ),
    ),
)
