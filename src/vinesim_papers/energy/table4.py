"""Table 4: demand beyond capacity (SLAV) at the base load, for four sizes of the datacenter."""

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.measures import RR, SAVING, SLAV, printed
from vinesim_papers.energy.table2 import ROW

PRINTED = {1: 17_475_000, 2: 35_050_000, 5: 87_700_000, 10: 175_000_000}


def _round_robin(data: Data) -> dict[str, float]:
    return {ROW[size]: data.mean("sizes", SLAV, scheduler=RR, size=size) for size in ROW}


def _others(data: Data) -> dict[str, float]:
    """The maximum over all other schedulers and sizes."""
    return {name: max(data.mean("sizes", SLAV, scheduler=name, size=size) for size in ROW) for name in SAVING}


ITEM = Item(
    id="energy-table4",
    title="Demand beyond capacity at the base load, for four sizes",
    source="section 4.1, Table 4",
    studies={"sizes": "sizes.yaml"},
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
    ),
)
