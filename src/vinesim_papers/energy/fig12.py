"""Figure 12: execution times on the thesis' second computer."""

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Each, Equal
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.energy.measures import BLOCKS
from vinesim_papers.energy.speed import NO_THESIS_HARDWARE, TWO_BLOCKS, placement_s

ORDER = "BF > DCBF, 2 blocks > ABF > RR"


def _order(data: Data) -> dict[str, str]:
    """Order the times from longest to shortest, for each size; ABF by its slowest blocks."""
    found = {}
    for size, seconds in data.result("seconds").items():
        times = {name: seconds[name] for name in ("BF", TWO_BLOCKS, "RR")} | {"ABF": max(seconds[b] for b in BLOCKS)}
        found[size] = " > ".join(sorted(times, key=times.__getitem__, reverse=True))
    return found


ITEM = Item(
    id="energy-fig12",
    title="Execution times on system 2 (here those of this machine)",
    source="section 4.1, Figure 12 (its caption says 11)",
    runs={"seconds": placement_s},
    claims=(
        Claim(
            id="EF12.1",
            source="section 4.1, Figure 12",
            statement="On an old computer with a small GPU too, BF takes longest at every size, then DCBF, here in 2 "
            "blocks, then ABF whatever its blocks, then RR",
            expected=ORDER,
            measure=_order,
            judge=Each(Equal(ORDER)),
            note=NO_THESIS_HARDWARE,
        ),
    ),
)
