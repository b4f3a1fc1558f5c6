"""Figure 11: total energy under five loads."""

from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.drawing import bars
from vinesim_papers.energy.measures import BF, BY_ENERGY, ENERGY, RR, each
from vinesim_papers.energy.table5 import PRINTED

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

RECOVERED = {  # J; each row under the load that it is of; M, T is that of Figure 9
    RR: {"1.5 M, T": 3.2125e8, "1.5 M, 0.5 T": 2.25e8, "2 M, T": 4.115e8},
    BF: {"1.5 M, T": 2.2725e8, "1.5 M, 0.5 T": 1.85e8, "2 M, T": 3.0125e8},
}


def _energies(data: Data, scheduler: str) -> dict[str, float]:
    return {load: data.mean("loads", ENERGY, scheduler=scheduler, load=load) for load in RECOVERED[scheduler]}


def _draw(data: Data) -> dict[str, "Figure"]:
    found = {load: each(data, "loads", ENERGY, BY_ENERGY, load=load) for load in PRINTED}
    energy = {load: {name: joule / 1e8 for name, joule in of.items()} for load, of in found.items()}
    return {"energy-fig11": bars(energy, "energy, $10^8$ J")}


def _claim(number: int, scheduler: str) -> Claim:
    rows = RECOVERED[scheduler]
    return Claim(
        id=f"EF11.{number}",
        source="section 4.1, Figure 11 (the values follow from Table 5; its row M, 0.5 T is that of 1.5 M, T)",
        statement=f"Energy of {scheduler}: " + "; ".join(rows),
        expected=", ".join(f"{joule:,.0f}" for joule in rows.values()) + " J",
        measure=lambda data: _energies(data, scheduler),
        judge=Parts(*(Within(joule, 0.015) for joule in rows.values())),
        unit="J",
    )


ITEM = Item(
    id="energy-fig11",
    title="Total energy under five loads",
    source="section 4.1, Figure 11",
    studies={"loads": "loads.yaml"},
    draw=_draw,
    claims=(_claim(1, RR), _claim(2, BF)),
)
