"""Table 6: demand beyond capacity (SLAV) under five loads."""

from typing import TYPE_CHECKING, Any

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Above, Each, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import over_commitment
from vinesim.papers.energy.measures import RR, SAVING, SLAV, each, printed
from vinesim.papers.energy.periods import EIGHTH
from vinesim.papers.energy.table5 import SCALE
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

ROUND_ROBIN = {
    "M, T": 17_500_000,
    "M, 0.5 T": 14_575_000,
    "1.5 M, T": 26_275_000,
    "1.5 M, 0.5 T": 33_075_000,
    "2 M, T": 40_850_000,
}
DENSEST = "1.5 M, 0.5 T"
HALF_T, TABLE_6_HALF_T, TABLE_8_HALF_T = "M, 0.5 T", 118_371, 35_007


def _round_robin(data: Data) -> dict[str, float]:
    return {load: each(data, "round_robin", SLAV, (RR,), EIGHTH, load=load)[RR] for load in ROUND_ROBIN}


def _overloading(data: Data, study: str, **where: Any) -> str:
    """The schedulers other than round robin that load servers beyond their capacity."""
    return ", ".join(name for name, slav in each(data, study, SLAV, SAVING, **where).items() if slav > 0) or "none"


def _small_blocks_only(data: Data) -> dict[str, str]:
    return {
        f"{HALF_T}, N = 20,000": _overloading(data, "periods", period_s=5),
        "2 M, T": _overloading(data, "loads", load="2 M, T"),
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table6": over_commitment(data, "loads", "load", SCALE)}


ITEM = Item(
    id="energy-table6",
    paper="energy",
    title="Demand beyond capacity under five loads (at a quarter of the size, times 4)",
    source="section 4.1, Table 6",
    studies={"loads": "loads.yaml", "round_robin": "round_robin_loads.yaml", "periods": "periods.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="ET6.1",
            source="section 4.1, Table 6",
            statement="RR: " + "; ".join(ROUND_ROBIN),
            expected=printed(ROUND_ROBIN.values()),
            measure=_round_robin,
            judge=Parts(*(Within(value, 0.02) for value in ROUND_ROBIN.values())),
        ),
        Claim(
            id="ET6.2",
            source="section 4.1, Table 6",
            statement="M, T: nobody but RR loads servers beyond their capacity",
            expected="none",
            measure=lambda data: _overloading(data, "loads", load="M, T"),
            judge=Equal("none"),
        ),
        Claim(
            id="ET6.3",
            source="section 4.1, Table 6",
            statement="M, 0.5 T and 2 M, T: only the smallest blocks do",
            expected="ABF32, ABF64",
            measure=_small_blocks_only,
            judge=Each(Equal("ABF32, ABF64")),
        ),
        Claim(
            id="ET6.4",
            source="section 4.1, Table 6",
            statement="1.5 M, T: only blocks of 32, by 5,592",
            expected="ABF32",
            measure=lambda data: _overloading(data, "loads", load="1.5 M, T"),
            judge=Equal("ABF32"),
            note="a matter of a few tasks in a datacenter of the thesis' size; there are none in two runs of a quarter",
        ),
        Claim(
            id="ET6.5",
            source="section 4.1",
            statement="At the densest load (1.5 M, 0.5 T) all schedulers do",
            expected="each above 0",
            measure=lambda data: each(data, "loads", SLAV, SAVING, SCALE, load=DENSEST),
            judge=Each(Above(0)),
        ),
        Claim(
            id="ET6.6",
            source="section 4.1, Table 6",
            statement="M, 0.5 T: blocks of 32, N = 20,000",
            expected=f"{TABLE_6_HALF_T:,}",
            measure=lambda data: each(data, "periods", SLAV, ("ABF32",), period_s=5)["ABF32"],
            judge=Within(TABLE_6_HALF_T, 0.5),
            note=f"Table 8 prints {TABLE_8_HALF_T:,} for the same configuration; the run is near that",
        ),
    ),
)
