"""The grant that an application gets: which of its requests start, consolidated, on which units, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One unit of a grant; each is on a different node."""

    unit: int  # the unit's row in the datacenter
    rack: int
    shelf: int
    processor_type: str


@dataclass(frozen=True)
class Grant:
    """Requests of one application that start now, consolidated. Source: Symphony paper, Table I (canIssueRequests)."""

    id: int
    application: int
    requests: tuple[int, ...]  # the oldest first
    places: tuple[Place, ...]  # one per gang member
    issued_us: float
    lease_until_us: float  # unless completed by then, the grant loses its units
