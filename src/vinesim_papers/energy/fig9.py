"""Figure 9: total energy of the datacenter over 20 periods, for four sizes."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Below, Between, Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.drawing import bars
from vinesim_papers.energy.measures import BY_ENERGY, ENERGY, each, order
from vinesim_papers.energy.table2 import ROW

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

RECOVERED = (2.19e8, 1.66e8, 1.6225e8, 1.6e8, 1.585e8, 1.58e8, 1.5625e8, 1.56e8)  # J, in the order of BY_ENERGY


def _energies(data: Data, size: int) -> dict[str, float]:
    return each(data, "sizes", ENERGY, BY_ENERGY, size=size)


def _spread(data: Data) -> dict[str, float]:
    """By how many percent the largest energy relative to size exceeds the smallest, over the four sizes."""
    found = {name: [_energies(data, size)[name] / size for size in ROW] for name in BY_ENERGY}
    return {name: 100 * (max(energy) / min(energy) - 1) for name, energy in found.items()}


def _order(data: Data) -> dict[str, str]:
    return {ROW[size]: order(data, "sizes", size=size) for size in ROW}


def _deviations(data: Data) -> dict[str, float]:
    """Standard deviation over the repetitions, in percent of the mean, for each scheduler under each load."""
    found = {
        f"{name}, {load}": data.values("loads", ENERGY, scheduler=name, load=load)
        for load in data.labels("loads", "load")
        for name in BY_ENERGY
    }
    return {at: float(100 * np.std(energy, ddof=1) / np.mean(energy)) for at, energy in found.items()}


def _draw(data: Data) -> dict[str, "Figure"]:
    energy = {ROW[size]: {name: joule / 1e8 for name, joule in _energies(data, size).items()} for size in ROW}
    return {"energy-fig9": bars(energy, "energy, $10^8$ J")}


ITEM = Item(
    id="energy-fig9",
    title="Total energy for four sizes",
    source="section 4.1, Figure 9",
    studies={"sizes": "sizes.yaml", "loads": "loads.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="EF9.1",
            source="section 4.1, Figure 9 (the values follow from Table 2, whose quotients are of energies of three "
            "digits)",
            statement="N, M, T: energy of " + ", ".join(BY_ENERGY),
            expected=", ".join(f"{joule:,.0f}" for joule in RECOVERED) + " J",
            measure=lambda data: _energies(data, 1),
            judge=Parts(*(Within(joule, 0.01) for joule in RECOVERED)),
            unit="J",
        ),
        Claim(
            id="EF9.2",
            source="section 4.1, Figure 9",
            statement="RR takes the most energy, then ABF from the smallest blocks to the largest, DCBF, BF",
            expected=" > ".join(BY_ENERGY),
            measure=_order,
            judge=Each(Equal(" > ".join(BY_ENERGY))),
        ),
        Claim(
            id="EF9.3",
            source="section 4.1",
            statement="The energy of each scheduler grows with the size of the datacenter in proportion",
            expected="energy / size equal for the four sizes",
            measure=_spread,
            judge=Each(Below(2)),
            unit="%",
            note="Table 4 has the same of RR's over-commitment (ET4.1)",
        ),
        Claim(
            id="EF9.4",
            source="section 4.1",
            statement="Repeated runs differ, under each load, in energy by a standard deviation of 1 % or less",
            expected="1 % or less",
            measure=_deviations,
            judge=Each(Between(0, 1)),
            unit="%",
        ),
    ),
)
