"""The scenario file's section about reservations: times when nodes are for certain users, or for nobody."""

import math

from pydantic import Field

from vinesim.formats.scenario.partition_parts import NodeChoice, NodesPart
from vinesim.formats.scenario.values import Name, Time
from vinesim.model.outage import Running
from vinesim.model.reservation import Reservation


class ReservationPart(NodesPart):
    """A time, known before it begins, when nodes are for the jobs of certain users; without users for none."""

    name: Name = Field(description="Its name.")
    start: Time = Field(description="When it starts.")
    end: Time | None = Field(None, description="When it is over; by default never.")
    users: list[Name] = Field(
        default_factory=list,
        description="Whose jobs may use the nodes: the column user of the workload. By default nobody's: maintenance.",
    )
    running: Running | None = Field(
        None,
        description="Tasks that still run there when maintenance starts because they take longer than expected: lost "
        "and pending again (requeue, the default), or allowed to end (finish). A reservation with users lets them end.",
    )


def reservations(parts: list[ReservationPart] | None, choice: NodeChoice | None) -> tuple[Reservation, ...]:
    """Build the reservations; what is wrong with their groups and racks is added to the source of the choice."""
    if choice is None:
        return ()
    found = []
    for i, part in enumerate(parts or []):
        nodes = choice.of(("reservations", i), part)
        end_us = math.inf if part.end is None else part.end
        found.append(Reservation(part.name, part.start, end_us, nodes, tuple(part.users), part.running))
    return tuple(found)
