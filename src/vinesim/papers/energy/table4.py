"""Table 4: demand beyond capacity (SLAV) at the base load, for four sizes of the datacenter."""

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Alike, Each, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.fig9 import SCALE
from vinesim.papers.energy.measures import RR, SAVING, SLAV, each, printed
from vinesim.papers.energy.table2 import ROW, STUDY
from vinesim.papers.item import Item

PRINTED = {1: 17_475_000, 2: 35_050_000, 5: 87_700_000, 10: 175_000_000}


def _round_robin(data: Data) -> dict[str, float]:
    return {ROW[size]: each(data, STUDY[size], SLAV, (RR,), SCALE, size=size)[RR] for size in ROW}


def _per_size(data: Data) -> dict[str, float]:
    found = _round_robin(data)
    return {row: found[row] / size for size, row in ROW.items()}


def _others(data: Data) -> dict[str, float]:
    """The most that any other scheduler has in any size."""
    return {
        name: max(each(data, STUDY[size], SLAV, (name,), SCALE, size=size)[name] for size in ROW) for name in SAVING
    }


ITEM = Item(
    id="energy-table4",
    paper="energy",
    title="Demand beyond capacity at the base load, for four sizes (at an eighth of them, times 8)",
    source="section 4.1, Table 4",
    studies={"sizes": "sizes.yaml", "sizes_large": "sizes_large.yaml"},
    claims=(
        Claim(
            id="ET4.1",
            source="section 4.1, Table 4",
            statement="RR loads servers beyond their capacity: N, 2N, 5N and 10N",
            expected=printed(PRINTED.values()),
            measure=_round_robin,
            judge=Parts(*(Within(value, 0.02) for value in PRINTED.values())),
        ),
        Claim(
            id="ET4.2",
            source="section 4.1, Table 4",
            statement="BF, DCBF and ABF never do",
            expected="0",
            measure=_others,
            judge=Each(Equal(0)),
        ),
        Claim(
            id="ET4.3",
            source="section 4.1, Table 4",
            statement="RR's over-commitment grows with N in proportion, so that a datacenter of an eighth tells it",
            expected="equal for each N",
            measure=_per_size,
            judge=Alike(0.03),
        ),
    ),
)
