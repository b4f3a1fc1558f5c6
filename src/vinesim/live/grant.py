"""The grant that an application gets: which of its requests start, consolidated, on which units, and for how long."""

from dataclasses import dataclass

from vinesim.model.datacenter import Datacenter


@dataclass(frozen=True)
class Place:
    """One unit of a grant; each is on a different node."""

    unit: int  # the unit's row in the datacenter
    rack: int
    shelf: int
    processor_type: str


def place_at(center: Datacenter, row: int) -> Place:
    """Return the unit at a row of the datacenter."""
    kind = center.processor_types[int(center.unit_type[row])]
    return Place(row, int(center.rack[row]), int(center.shelf[row]), kind.name)


@dataclass(frozen=True)
class Grant:
    """Requests of one application that start now, consolidated. Source: Symphony paper, Table I (canIssueRequests)."""

    id: int
    application: int
    requests: tuple[int, ...]  # the oldest first
    places: tuple[Place, ...]  # one per gang member
    issued_us: float
    lease_until_us: float  # unless completed by then, the grant loses its units
