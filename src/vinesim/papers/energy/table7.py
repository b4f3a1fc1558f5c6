"""Table 7: speed-ups on the thesis' second computer, with two blocks; here what this machine does, and the energy."""

from vinesim.papers.claim import Claim, Kind
from vinesim.papers.criteria import Alike, Equal, Within
from vinesim.papers.data import Data
from vinesim.papers.energy.measures import ENERGY
from vinesim.papers.energy.speed import NO_THESIS_HARDWARE, evaluations, placement_s, speed_ups
from vinesim.papers.item import Item

N_SERVERS, N_TASKS = 20_000, 2_000
TWO, EIGHT = "DCBF, 2 blocks", "DCBF, 8 blocks"


def _speed_up(data: Data) -> float:
    return speed_ups(data.result("seconds")["N, M"])["DCBF, 2 blocks"]


ITEM = Item(
    id="energy-table7",
    paper="energy",
    title="Speed-ups against best fit on system 2 (here those of this machine)",
    source="section 4.1, Table 7",
    studies={"blocks": "blocks.yaml"},
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="ET7.1",
            source="section 4.1, Table 7",
            statement="N, M: DCBF with 2 blocks is so many times as fast as BF by brute force",
            expected="2.9",
            measure=_speed_up,
            judge=Within(2.9, 0.5),
            note=NO_THESIS_HARDWARE,
        ),
        Claim(
            id="ET7.2",
            kind=Kind.GIVEN,
            source="section 4.1",
            statement="With 2 blocks DCBF has 4 times the work that it has with 8",
            expected="4",
            measure=lambda _: evaluations(N_SERVERS, N_TASKS, 2) / evaluations(N_SERVERS, N_TASKS, 8),
            judge=Equal(4.0),
        ),
        Claim(
            id="ET7.3",
            source="section 4.1",
            statement="The energy with 2 blocks is nearly that with 8",
            expected="equal",
            measure=lambda data: {name: data.mean("blocks", ENERGY, scheduler=name) for name in (TWO, EIGHT)},
            judge=Alike(0.01),
            unit="J",
        ),
    ),
)
