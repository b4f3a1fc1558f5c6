"""Reservations: times, known before they begin, when nodes are only for certain users, or for nobody: maintenance.

Source: Slurm's reservations, with and without the flag MAINT.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from vinesim.model.arrays import as_column
from vinesim.model.attributes import TIME, attribute
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.outage import Running
from vinesim.model.scalars import as_found, is_number
from vinesim.model.workload import Workload

RUNNING = ("requeue", "finish")


@dataclass(frozen=True, eq=False)
class Reservation:
    """Nodes kept for the jobs of certain users from ``start_us`` until ``end_us``. Without users: maintenance.

    Any other task starts on these nodes only if it is expected to end before the reservation begins. A task that takes
    longer than expected may finish; maintenance interrupts it, unless ``running`` is finish, and it is pending again.
    """

    # fmt: off
    name: str = field(metadata=attribute("Its name."))
    start_us: float = field(metadata=attribute("When it starts.", TIME))
    end_us: float = field(default=math.inf, metadata=attribute("When it is over; by default never.", TIME))
    nodes: np.ndarray | None = None  # [n, 2] int32: rack, shelf; None: all nodes
    users: tuple[str, ...] = field(default_factory=tuple, metadata=attribute(
        "Whose jobs may use the nodes: the column user of the workload. By default nobody's: maintenance."))
    running: Running | None = field(default=None, metadata=attribute(
        "Tasks that still run there when maintenance starts because they take longer than expected: lost "
        "and pending again (requeue, the default), or allowed to end (finish). A reservation with users lets them end."
    ))
    # fmt: on

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", tuple(self.users))
        if self.nodes is not None:
            problems: list[Problem] = []
            flat = as_column(("nodes",), np.asarray(self.nodes).reshape(-1), np.int32, None, problems)
            if problems or len(flat) % 2:
                found = problems[0].found if problems else f"{len(flat)} numbers"
                raise InputError([Problem(("reservations", self.name, "nodes"), "rows of rack and shelf", found)])
            object.__setattr__(self, "nodes", flat.reshape(-1, 2))

    @property
    def interrupts(self) -> bool:
        """Whether what still runs on its nodes when it starts is pending again."""
        return (self.running or ("finish" if self.users else "requeue")) == "requeue"

    def has(self, rack: np.ndarray, shelf: np.ndarray) -> np.ndarray:
        """[n] bool: which of these places are among its nodes."""
        if self.nodes is None:
            return np.ones(len(rack), bool)
        own = set(map(tuple, self.nodes.tolist()))
        return np.array([place in own for place in zip(rack.tolist(), shelf.tolist(), strict=True)], bool)


def wrong_reservations(given: Sequence[Reservation], center: Datacenter, work: Workload) -> Iterator[Problem]:
    """Yield what is wrong with them: times, names, nodes and users that do not exist."""
    units = set(zip(center.rack.tolist(), center.shelf.tolist(), strict=True))
    names = [one.name for one in given]
    for i, one in enumerate(given):
        where = ("reservations", i)
        if one.name in names[:i]:
            yield Problem((*where, "name"), "a name that no other reservation has", repr(one.name))
        if not is_number(one.start_us) or not 0 <= one.start_us < math.inf:
            yield Problem((*where, "start"), "a finite time, 0 or more", as_found(one.start_us))
        elif not is_number(one.end_us) or not one.start_us < one.end_us:
            expected = f"a time after its start ({one.start_us:g} us)"
            yield Problem((*where, "end"), expected, as_found(one.end_us))
        if one.nodes is not None and not len(one.nodes):
            yield Problem((*where, "nodes"), "a node", "none")
        for place in [tuple(place) for place in ([] if one.nodes is None else one.nodes.tolist())]:
            if place not in units:
                found = f"rack {place[0]}, shelf {place[1]}, which has no unit"
                yield Problem((*where, "nodes"), "nodes of the datacenter", found)
        for user in one.users if work.user is None else [u for u in one.users if u not in work.user_names]:
            remedy = "Give the jobs a column user." if work.user is None else "Correct the name, or leave it out."
            yield Problem((*where, "users"), "users of the workload's jobs", repr(user), remedy)
        if one.running not in (None, *RUNNING):
            yield Problem((*where, "running"), "one of " + ", ".join(RUNNING), repr(one.running))
        elif one.running == "requeue" and one.users:
            remedy = "Leave it out: what still runs when a reservation for users starts may finish."
            yield Problem((*where, "running"), "finish, for a reservation with users", "requeue", remedy)


def reservation_columns(
    given: Sequence[Reservation], work: Workload, rack: np.ndarray, shelf: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the columns of the model about reservations; ``rack`` and ``shelf`` are those of its nodes."""
    if not given:
        return {}
    has = np.array([one.has(rack, shelf) for one in given])
    return {
        "reserved_first": np.cumsum([0, *has.sum(axis=0)]),
        "reserved": np.concatenate([np.flatnonzero(column) for column in has.T]),
        "reservation_start_us": np.array([one.start_us for one in given]),
        "reservation_end_us": np.array([one.end_us for one in given]),
        "reservation_admits": _admits(given, work),
    }


def admission_of_jobs(given: Sequence[Reservation], work: Workload) -> np.ndarray:
    """[J] a number for each set of reservations that admit a job; [0] if no reservation has users."""
    if work.user is None or not any(one.users for one in given):
        return np.empty(0, np.int64)
    of_user = np.unique(_admits(given, work), axis=1, return_inverse=True)[1]
    return of_user.reshape(-1)[work.user]


def _admits(given: Sequence[Reservation], work: Workload) -> np.ndarray:
    """[W, users] bool: whose jobs each reservation admits."""
    names = [] if work.user is None else list(work.user_names)
    return np.array([[name in one.users for name in names] for one in given], bool).reshape(len(given), len(names))
