"""Table 3: speed-ups on the thesis' first computer; here those of this machine."""

import math

import numpy as np

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import About, Above, Between, Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.measures import BLOCKS, printed
from vinesim_papers.energy.speed import (
    NO_THESIS_HARDWARE,
    SIZES,
    evaluations,
    over_printed,
    placement_s,
    speed_ups,
)

N_SERVERS, N_TASKS, N_BLOCKS = 20_000, 2_000, 8
COLUMNS = ("RR", *BLOCKS, "DCBF")
PRINTED: dict[str, tuple[float | None, ...]] = {  # None: the time of RR was too short for the thesis' clock
    "N, M": (3751, 879, 402, 599, 255, 100, 32.6),
    "2N, 2M": (None, 1456, 826, 566, 621, 225, 29.3),
    "5N, 5M": (None, 3649, 2606, 2353, 1438, 657, 29.3),
    "10N, 10M": (None, 6986, 5802, 5021, 2808, 1245, 28.8),
}

GROWTH = (7.9, 14.4, 8.4, 11, 12.5)  # of ABF from the first row to the last


def _exponent(data: Data) -> float:
    """The exponent of the size in the time of BF: the slope of a line through the logarithms of both."""
    seconds = [data.result("seconds")[size]["BF"] for size in SIZES]
    servers = [n_servers for n_servers, _ in SIZES.values()]
    return float(np.polyfit(np.log(servers), np.log(seconds), 1)[0])


def _in_blocks(data: Data) -> dict[str, float]:
    """How many times as much processor time BF takes as DCBF, at each size."""
    return {size: speed_ups(data.result("seconds")[size])["DCBF"] for size in SIZES}


def _growth(data: Data) -> dict[str, float]:
    """The speed-up of ABF at ten times the size divided by that at N."""
    small, large = (speed_ups(data.result("seconds")[size]) for size in ("N, M", "10N, 10M"))
    return {name: large[name] / small[name] for name in BLOCKS}


def _work(_data: Data) -> dict[str, float]:
    """Ratios of the numbers of costs that BF compares."""

    def work(n_blocks: int, times: int = 1) -> float:
        return evaluations(times * N_SERVERS, times * N_TASKS, n_blocks)

    return {
        "all against 8 blocks": work(1) / work(N_BLOCKS),
        "2 against 8 blocks": work(2) / work(N_BLOCKS),
        "2N, 2M against N, M": work(1, 2) / work(1),
    }


ITEM = Item(
    id="energy-table3",
    title="Speed-ups against best fit on system 1 (here those of this machine)",
    source="section 4.1, Table 3",
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="ET3.1",
            source="section 4.1, Table 3",
            statement="Speed-up over BF by brute force: RR, ABF and DCBF at " + "; ".join(SIZES),
            expected="29 (DCBF), 100 (ABF512, N, M) to 6,986 (ABF32, 10N, 10M)",
            measure=lambda data: over_printed(data, PRINTED, COLUMNS),
            judge=Each(About(1)),
            unit="of what is printed",
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET3.2",
            kind=Kind.GIVEN,
            source="sections 3.6 and 4.1",
            statement="In 8 blocks BF has an eighth of the work, in 2 blocks four times that, and for twice the "
            "servers and tasks four times",
            expected="8, 4, 4",
            measure=_work,
            judge=Parts(Equal(8.0), Equal(4.0), Equal(4.0)),
        ),
        Claim(
            id="ET3.3",
            source="section 4.1",
            statement="The time of BF grows with the square of the size (3.78 times the time from 5N, 5M to 10N, 10M, "
            "an exponent of 1.92)",
            expected="2",
            measure=_exponent,
            judge=Between(1.7, 2.3),
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET3.4",
            source="section 4.1",
            statement="At every size DCBF in 8 blocks does an eighth of the work of BF: the first of two reasons for "
            "its speed-up of 29, the other being the cores that share the work",
            expected="8",
            measure=_in_blocks,
            judge=Each(Within(8, 0.5)),
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET3.5",
            source="section 4.1 and chapter 5",
            statement="The larger the datacenter, the larger the speed-up of ABF: its factor from N, M to 10N, 10M",
            expected=printed(GROWTH),
            measure=_growth,
            judge=Each(Above(math.sqrt(10))),
            note=NO_THESIS_HARDWARE,
        ),
    ),
)
