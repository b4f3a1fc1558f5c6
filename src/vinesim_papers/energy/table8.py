"""Table 8: demand beyond capacity (SLAV) along the batch period; N = 20,000."""

from itertools import pairwise

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Each, Equal, Some
from vinesim.reproduction.data import Data
from vinesim_papers.energy.measures import BLOCKS, SLAV, each
from vinesim_papers.energy.periods import FEW_TASKS, table

CELLS = {
    7: (16_060_625, 132, 0, 0, 0, 0, 0, 0),
    6: (15_257_475, 4285.75, 0, 0, 0, 0, 0, 0),
    5: (14_444_025, 35_006.75, 526.75, 0, 0, 0, 0, 0),
    4: (14_562_750, 153_484.3, 27_679.75, 1897.25, 0, 0, 0, 0),
    3: (13_303_725, 362_418.8, 165_637.8, 63_727.75, 15_971.5, 4817, 0, 0),
    2: (10_637_525, 2.73e8, 1.24e10, 1.24e10, 1.24e10, 1.24e10, 1.08e8, 17_307_850),
    1: (6_199_158, 839_420, 453_727.5, 331_377, 242_154, 184_618.3, 4.95e8, 67_544_800),
}


def _falls(data: Data) -> dict[str, bool]:
    """Whether larger blocks have less, or none like the smaller ones, at each period at which any blocks have some."""
    found = {}
    for s in CELLS:
        slav = list(each(data, "periods", SLAV, BLOCKS, period_s=s).values())
        if any(slav):
            found[f"{s} s"] = all(b < a or a == b == 0 for a, b in pairwise(slav))
    return found


ITEM = table(
    8,
    CELLS,
    "periods.yaml",
    20_000,
    FEW_TASKS + ": blocks of 32 begin at 7 s in one run of eight here, in none of the first four",
    more=(
        Claim(
            id="ET8.6",
            source="section 4.1, Table 8",
            statement="The smaller the blocks the more over-commitment, at each batch period",
            expected="yes",
            measure=_falls,
            judge=Each(Equal(True)),
            partly=Some(Equal(True)),
            note="only while the datacenter has room: at 2 s and 1 s large blocks have more, as what fits nowhere goes "
            "to one server of the block",
        ),
    ),
)
