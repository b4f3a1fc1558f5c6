"""The scenario file's section about reservations: times when nodes are for certain users, or for nobody."""

from typing import Any

from vinesim.formats.scenario.declared import declared_by, part_of
from vinesim.formats.scenario.partition_parts import NodeChoice, NodesPart
from vinesim.formats.scenario.values import Name, Time
from vinesim.model.reservation import Reservation

_OfReservation: Any = part_of(  # mypy takes no call as a base class
    Reservation, NodesPart, name=Name, end=Time | None, users=list[Name]
)


class ReservationPart(_OfReservation):
    """A time, known before it begins, when nodes are for the jobs of certain users; without users for none."""


def reservations(parts: list[ReservationPart] | None, choice: NodeChoice | None) -> tuple[Reservation, ...]:
    """Build the reservations; what is wrong with their groups and racks is added to the source of the choice."""
    if choice is None:
        return ()
    return tuple(
        Reservation(nodes=choice.of(("reservations", i), part), **declared_by(part, Reservation))
        for i, part in enumerate(parts or [])
    )
