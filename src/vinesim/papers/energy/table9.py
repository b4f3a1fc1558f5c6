"""Table 9: demand beyond capacity (SLAV) along the batch period; N = 40,000 in the thesis; from smaller ones."""

from typing import TYPE_CHECKING

from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import over_periods
from vinesim.papers.energy.measures import BF
from vinesim.papers.energy.periods import EIGHTH, failed, onsets, round_robin
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SCALE = 2  # of this N against the one of Table 8
ROUND_ROBIN = (33_400_000, 32_100_000, 30_600_000, 29_000_000, 29_200_000, 26_600_000, 21_200_000, 12_400_000)
ONSETS = {"ABF32": 7, "ABF64": 5, "ABF128": 4, "ABF256": 4, "ABF512": 3, BF: 2}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table9": over_periods(data, "periods", SCALE)}


ITEM = Item(
    id="energy-table9",
    paper="energy",
    title="Demand beyond capacity over the batch period, N = 40,000 (from N = 20,000 and 2,500)",
    source="section 4.1, Table 9",
    studies={"periods": "periods.yaml", "round_robin": "round_robin.yaml"},
    draw=_draw,
    claims=(
        round_robin(9, ROUND_ROBIN, SCALE * EIGHTH),
        onsets(9, ONSETS, "where it begins is a matter of a few tasks, and there are fewer at N = 20,000"),
        failed(9, "ABF at 2 s: 1.56e10 to 1.07e11", 2, 6.71e10, SCALE),
    ),
)
