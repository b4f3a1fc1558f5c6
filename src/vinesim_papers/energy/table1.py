"""Table 1: the four types of servers."""

from vinesim.model.catalog import SERVER_TYPES
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Equal, Parts
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item

PRINTED = {"A": (6, 1.05, 2, 20), "B": (60, 1.4, 3, 60), "C": (76.8, 1.3, 4, 100), "D": (79, 1.2, 5, 200)}


def _types(_data: Data) -> dict[str, str]:
    return {p.name: _row(p.idle_power_w, p.dynamic_power_w, p.sleep_power_w, p.capacity) for p in SERVER_TYPES}


def _row(*numbers: float | None) -> str:
    return ", ".join(f"{number:g}" for number in numbers if number is not None)


ITEM = Item(
    id="energy-table1",
    title="The four types of servers",
    source="section 4, Table 1",
    claims=(
        Claim(
            id="ET1.1",
            kind=Kind.GIVEN,
            source="section 4, Table 1",
            statement="alpha, beta, idle (W; idle is the power of a server asleep) and sumax of the types A to D",
            expected="; ".join(_row(*row) for row in PRINTED.values()),
            measure=_types,
            judge=Parts(*(Equal(_row(*row)) for row in PRINTED.values())),
        ),
    ),
)
