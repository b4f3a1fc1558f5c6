"""Table 5: energy saved against round robin under five loads."""

from typing import TYPE_CHECKING

from vinesim.papers.claim import Claim, OtherReading
from vinesim.papers.criteria import Between, Each, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import reductions
from vinesim.papers.energy.measures import BF, BY_ENERGY, ENERGY, RR, SAVING, each, points, printed, saved
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SCALE = 4  # the thesis' datacenter is so many times as large
POINTS = 0.8  # percentage points: the thesis kept three digits of each energy, worth half a point here
PRINTED = {
    "M, T": (24.20091, 25.91324, 26.94064, 27.62557, 27.85388, 28.76712, 28.65297),
    "M, 0.5 T": (25.05837, 26.84825, 27.93774, 28.48249, 28.71595, 29.2607, 29.18288),
    "1.5 M, T": (15.11111, 15.55556, 16.44444, 16.88889, 16.88889, 17.77778, 17.55556),
    "1.5 M, 0.5 T": (15.11111, 15.55556, 16.44444, 16.88889, 16.88889, 17.77778, 17.55556),
    "2 M, T": (21.20292, 22.661, 24.36209, 25.33414, 25.82017, 26.79222, 26.54921),
}
MISLABELLED_RR_J = 3.2125e8  # the energy of RR of which the quotients in the row "M, 0.5 T" are


def _row(data: Data, load: str) -> dict[str, float]:
    return saved(data, "loads", load=load)


def _round_robin(data: Data, load: str) -> float:
    return each(data, "loads", ENERGY, (RR,), SCALE, load=load)[RR]


def _order(data: Data) -> dict[str, str]:
    """The schedulers from most energy to least."""
    found = {load: each(data, "loads", ENERGY, BY_ENERGY, load=load) for load in PRINTED}
    return {load: " > ".join(sorted(energy, key=energy.__getitem__, reverse=True)) for load, energy in found.items()}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {"energy-table5": reductions({load: _row(data, load) for load in PRINTED})}


def _statement(load: str) -> str:
    return f"{load}: percent of energy that {', '.join(SAVING)} save against RR"


ITEM = Item(
    id="energy-table5",
    paper="energy",
    title="Energy saved against round robin under five loads (at a quarter of the size)",
    source="section 4.1, Table 5",
    studies={"loads": "loads.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="ET5.1",
            source="section 4.1, Table 5",
            statement=_statement("M, T"),
            expected=printed(PRINTED["M, T"]),
            measure=lambda data: _row(data, "M, T"),
            judge=points(PRINTED["M, T"], POINTS),
            unit="%",
        ),
        Claim(
            id="ET5.2",
            source="section 4.1, Table 5",
            statement=_statement("M, 0.5 T"),
            expected=printed(PRINTED["M, 0.5 T"]),
            measure=lambda data: _row(data, "M, 0.5 T"),
            judge=points(PRINTED["M, 0.5 T"], POINTS),
            unit="%",
            other_reading=OtherReading("as the row 1.5 M, T", lambda data: _row(data, "1.5 M, T")),
        ),
        Claim(
            id="ET5.3",
            source="section 4.1, Table 5 (the quotients of three-digit energies tell the energy of RR)",
            statement="M, 0.5 T: RR takes the energy that this row is reckoned from",
            expected=f"{MISLABELLED_RR_J:,.0f} J",
            measure=lambda data: _round_robin(data, "M, 0.5 T"),
            judge=Within(MISLABELLED_RR_J, 0.02),
            unit="J",
            note="the row is mislabelled: it is that of 1.5 M, T, and the row of M, 0.5 T is not in the table",
            other_reading=OtherReading("as the row 1.5 M, T", lambda data: _round_robin(data, "1.5 M, T")),
        ),
        Claim(
            id="ET5.4",
            source="section 4.1, Table 5",
            statement=_statement("1.5 M, T"),
            expected=printed(PRINTED["1.5 M, T"]),
            measure=lambda data: _row(data, "1.5 M, T"),
            judge=points(PRINTED["1.5 M, T"], POINTS),
            unit="%",
            note="the row is a copy of the one below it, digit by digit; this load's own values stand in the row "
            "M, 0.5 T",
            other_reading=OtherReading("as the row it copies, 1.5 M, 0.5 T", lambda data: _row(data, "1.5 M, 0.5 T")),
        ),
        Claim(
            id="ET5.5",
            source="section 4.1, Table 5",
            statement=_statement("1.5 M, 0.5 T"),
            expected=printed(PRINTED["1.5 M, 0.5 T"]),
            measure=lambda data: _row(data, "1.5 M, 0.5 T"),
            judge=points(PRINTED["1.5 M, 0.5 T"], POINTS),
            unit="%",
        ),
        Claim(
            id="ET5.6",
            source="section 4.1, Table 5",
            statement=_statement("2 M, T"),
            expected=printed(PRINTED["2 M, T"]),
            measure=lambda data: _row(data, "2 M, T"),
            judge=points(PRINTED["2 M, T"], POINTS),
            partly=points(PRINTED["2 M, T"], 1.5),
            unit="%",
            note="the smallest blocks save 1.3 points less in the thesis than here; the others agree",
        ),
        Claim(
            id="ET5.7",
            source="section 4.1",
            statement="The fuller the datacenter the less BF saves: from 29 % to 17.5 %",
            expected="M, T: 29; 1.5 M, 0.5 T: 17.5 %",
            measure=lambda data: {load: _row(data, load)[BF] for load in ("M, T", "1.5 M, 0.5 T")},
            judge=Parts(Between(28.3, 29.7), Between(16.8, 18.2)),
            unit="%",
        ),
        Claim(
            id="ET5.8",
            source="section 4.1, Table 5 and Figure 11",
            statement="Under every load RR takes the most energy, then ABF from the smallest blocks to the largest, "
            "DCBF, BF",
            expected=" > ".join(BY_ENERGY),
            measure=_order,
            judge=Each(Equal(" > ".join(BY_ENERGY))),
        ),
    ),
)
