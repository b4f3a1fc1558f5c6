"""Table 11: demand beyond capacity (SLAV) along the batch period; N = 200,000 in the thesis; from smaller ones."""

from typing import TYPE_CHECKING

from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import over_periods
from vinesim.papers.energy.measures import BF
from vinesim.papers.energy.periods import EIGHTH, failed, onsets, round_robin
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SCALE = 10  # of this N against the one of Table 8
ROUND_ROBIN = (161_000_000, 153_000_000, 144_000_000, 145_000_000, 133_000_000, 106_000_000, 61_967_200)
ONSETS = {"ABF32": 6, "ABF64": 5, "ABF128": 4, BF: 2}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table11": over_periods(data, "periods", SCALE)}


ITEM = Item(
    id="energy-table11",
    paper="energy",
    title="Demand beyond capacity over the batch period, N = 200,000 (from N = 20,000 and 2,500)",
    source="section 4.1, Table 11",
    studies={"periods": "periods.yaml", "round_robin": "round_robin.yaml"},
    draw=_draw,
    claims=(
        round_robin(11, ROUND_ROBIN, SCALE * EIGHTH),
        onsets(11, ONSETS, "where it begins is a matter of a few tasks, and there are fewer at N = 20,000"),
        failed(11, "ABF from 3 s on: 2.22e13, 2.58e13, 1.74e13, whatever the blocks", 2, 2.58e13, SCALE),
    ),
)
