"""Table 3: speed-ups on the thesis' first computer; here what this machine does."""

from vinesim.papers.claim import Claim, Kind
from vinesim.papers.criteria import About, Equal, Parts
from vinesim.papers.data import Data
from vinesim.papers.energy.speed import NO_THESIS_HARDWARE, evaluations, placement_s, speed_ups
from vinesim.papers.item import Item

N_SERVERS, N_TASKS, N_BLOCKS = 20_000, 2_000, 8
PRINTED = {"RR": 3751, "ABF32": 879, "ABF64": 402, "ABF128": 599, "ABF256": 255, "ABF512": 100, "DCBF": 33}


def _speed_ups(data: Data) -> dict[str, float]:
    found = speed_ups(data.result("seconds")["N, M"])
    return {name: found[name] for name in PRINTED}


def _work(_data: Data) -> float:
    """Costs that BF compares, over those that it compares in 8 blocks."""
    return evaluations(N_SERVERS, N_TASKS, 1) / evaluations(N_SERVERS, N_TASKS, N_BLOCKS)


ITEM = Item(
    id="energy-table3",
    paper="energy",
    title="Speed-ups against best fit on system 1 (here those of this machine)",
    source="section 4.1, Table 3",
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="ET3.1",
            source="section 4.1, Table 3",
            statement="N, M: so many times as fast as BF by brute force",
            expected=", ".join(f"{name}: {times}" for name, times in PRINTED.items()),
            measure=_speed_ups,
            judge=Parts(*(About(times) for times in PRINTED.values())),
            note=NO_THESIS_HARDWARE + "; the index needs neither blocks nor a GPU, and finds what BF finds",
        ),
        Claim(
            id="ET3.2",
            kind=Kind.GIVEN,
            source="section 4.1",
            statement="In 8 blocks BF has an eighth of the work",
            expected="8",
            measure=_work,
            judge=Equal(8.0),
        ),
        Claim(
            id="ET3.3",
            kind=Kind.GIVEN,
            source="section 4.1",
            statement="Twice the servers and twice the tasks are four times the work of BF (3.78 times the time)",
            expected="4",
            measure=lambda _: evaluations(2 * N_SERVERS, 2 * N_TASKS, 1) / evaluations(N_SERVERS, N_TASKS, 1),
            judge=Equal(4.0),
        ),
    ),
)
