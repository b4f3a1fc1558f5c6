"""Table 10: demand beyond capacity (SLAV) along the batch period; N = 100,000 in the thesis; from smaller ones."""

from typing import TYPE_CHECKING

from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import over_periods
from vinesim.papers.energy.measures import BF
from vinesim.papers.energy.periods import EIGHTH, failed, onsets, round_robin
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SCALE = 5  # of this N against the one of Table 8
ROUND_ROBIN = (80_317_425, 76_221_800, 72_278_525, 72_626_700, 66_742_350, 53_032_700, 30_912_250)
ONSETS = {"ABF32": 6, "ABF64": 5, "ABF128": 4, BF: 2}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table10": over_periods(data, "periods", SCALE)}


ITEM = Item(
    id="energy-table10",
    paper="energy",
    title="Demand beyond capacity over the batch period, N = 100,000 (from N = 20,000 and 2,500)",
    source="section 4.1, Table 10",
    studies={"periods": "periods.yaml", "round_robin": "round_robin.yaml"},
    draw=_draw,
    claims=(
        round_robin(10, ROUND_ROBIN, SCALE * EIGHTH),
        onsets(10, ONSETS, "where it begins is a matter of a few tasks, and there are fewer at N = 20,000"),
        failed(10, "ABF from 3 s on: 5.56e12, 6.44e12, 4.35e12, whatever the blocks", 2, 6.44e12, SCALE),
    ),
)
