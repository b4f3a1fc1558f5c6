"""Figure 9: total energy of the datacenter over 20 periods, for four sizes."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.papers.claim import Claim
from vinesim.papers.criteria import Alike, Between, Each, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.drawing import bars
from vinesim.papers.energy.measures import BF, BY_ENERGY, ENERGY, each
from vinesim.papers.energy.table2 import ROW, STUDY
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SCALE = 8  # the thesis' datacenter is so many times as large
RECOVERED = (2.19e8, 1.66e8, 1.6225e8, 1.6e8, 1.585e8, 1.58e8, 1.5625e8, 1.56e8)  # J, in the order of BY_ENERGY


def _energies(data: Data, size: int) -> dict[str, float]:
    return each(data, STUDY[size], ENERGY, BY_ENERGY, SCALE, size=size)


def _per_size(data: Data, scheduler: str) -> dict[str, float]:
    """Energy of each size over its multiple of N."""
    return {ROW[size]: _energies(data, size)[scheduler] / size for size in ROW}


def _order(data: Data) -> dict[str, str]:
    """The schedulers from most energy to least, for the sizes at which DCBF has larger blocks than ABF512."""
    found = {ROW[size]: _energies(data, size) for size in (2, 5, 10)}
    return {row: " > ".join(sorted(energy, key=energy.__getitem__, reverse=True)) for row, energy in found.items()}


def _deviations(data: Data) -> dict[str, float]:
    """The standard deviation over the repetitions, percent of the mean, at twice N."""
    found = {name: data.values("sizes", ENERGY, scheduler=name, size=2) for name in BY_ENERGY}
    return {name: float(100 * np.std(energy, ddof=1) / np.mean(energy)) for name, energy in found.items()}


def _draw(data: Data) -> dict[str, "Figure"]:
    energy = {ROW[size]: {name: joule / 1e8 for name, joule in _energies(data, size).items()} for size in ROW}
    return {"energy-fig9": bars(energy, "energy, $10^8$ J")}


ITEM = Item(
    id="energy-fig9",
    paper="energy",
    title="Total energy for four sizes (at an eighth of them, times 8)",
    source="section 4.1, Figure 9",
    studies={"sizes": "sizes.yaml", "sizes_large": "sizes_large.yaml"},
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
            statement="The energy of BF grows with the size of the datacenter in proportion",
            expected="equal for each N",
            measure=lambda data: _per_size(data, BF),
            judge=Alike(0.02),
            unit="J",
        ),
        Claim(
            id="EF9.4",
            source="section 4.1",
            statement="Repeated runs differ in energy by a standard deviation of 1 % or less",
            expected="1 % or less",
            measure=_deviations,
            judge=Each(Between(0, 1)),
            unit="%",
        ),
    ),
)
