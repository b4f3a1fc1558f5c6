"""What a manager asks of its decision component: operations in, grants out, in one call per turn of its loop.

:class:`SchedulerDecisions` answers with :class:`~vinesim.live.scheduler.Scheduler`, the plain code;
:class:`~vinesim.live.compiled.CompiledDecisions` with the same code, compiled. The manager only knows
:class:`Decisions`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vinesim.live.grant import Grant
from vinesim.live.registration import Cluster
from vinesim.live.scheduler import Scheduler
from vinesim.model.application import Application
from vinesim.policies.contract import OnlinePolicy


@dataclass(frozen=True)
class Arrive:
    """A request is waiting since ``arrived_us``; ``job`` is its number if it is one, which no policy sees."""

    application: int
    size: float
    arrived_us: float
    job: int = 0


@dataclass(frozen=True)
class Complete:
    """The work of a grant is done on one of its units."""

    grant: int
    unit: int


@dataclass(frozen=True)
class Lose:
    """A grant ends without a result; those of its units that it still holds become free."""

    grant: int


@dataclass(frozen=True)
class SetUp:
    """Units go down or come up."""

    units: tuple[int, ...]
    is_up: bool


@dataclass(frozen=True)
class Withdraw:
    """A request, by its number, need not start any more."""

    request: int


Operation = Arrive | Complete | Lose | SetUp | Withdraw


def in_order(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations of a turn in the order in which a run handles the events of one instant: what ends, in the
    order in which it was started, before what arrives. Units close before anything can start on them, and open last;
    of several changes of a unit the last one counts."""
    if len(operations) < 2:
        return list(operations)
    of: dict[type, list[Any]] = {kind: [] for kind in (Withdraw, Complete, Lose, Arrive, SetUp)}
    for one in operations:
        of[type(one)].append(one)
    of[Complete].sort(key=lambda one: one.grant)
    closed, opened = _set_up(of[SetUp]) if of[SetUp] else ([], [])
    return [*of[Withdraw], *closed, *of[Complete], *of[Lose], *of[Arrive], *opened]


def _set_up(changes: Sequence[SetUp]) -> list[list[SetUp]]:
    """Return what closes, and what opens."""
    is_up = {unit: one.is_up for one in changes for unit in one.units}
    by_value = [(sorted(unit for unit, value in is_up.items() if value == wanted), wanted) for wanted in (False, True)]
    return [[SetUp(tuple(units), value)] if units else [] for units, value in by_value]


@dataclass
class Outcome:
    """What follows from a turn."""

    numbers: list[int] = field(default_factory=list)  # of the requests that arrived, in order
    grants: list[Grant] = field(default_factory=list)
    dropped: tuple[int, ...] = ()  # requests that the policy gave up
    withdrawn: tuple[int, ...] = ()  # requests that waited, and do not any more; also of grants lost before given
    ask_again_us: float = math.inf  # when to call again if nothing happens


class Decisions(Protocol):
    """A policy at work; ``engine`` is compiled or reference, and ``engine_why`` says why it is not compiled."""

    engine: str
    engine_why: str

    @property
    def running(self) -> list[int]:
        """The grants that have not ended."""

    def register(
        self, application: Application, task_type: str, demand: float, requests: Mapping[str, float] | None = None
    ) -> int:
        """Add an application. Returns its number. Raises :class:`~vinesim.model.errors.InputError`."""

    def turn(self, now_us: float, operations: Sequence[Operation], may_grant: bool = True) -> Outcome:
        """Tell what has happened, in order, and return what starts now."""

    def save(self) -> bytes:
        """Return everything that it knows, for ``restore`` of one that was made with the same arguments."""

    def restore(self, data: bytes) -> None:
        """Continue where ``save`` was called. Raises :class:`~vinesim.model.errors.InputError` for other data."""


class SchedulerDecisions:
    """The policy's plain code, called by :class:`~vinesim.live.scheduler.Scheduler`."""

    engine = "reference"

    def __init__(self, cluster: Cluster, policy: OnlinePolicy, engine_why: str = ""):
        self.engine_why = engine_why
        self._scheduler = Scheduler(
            cluster.datacenter,
            policy,
            affinity=cluster.affinity,
            overhead_us=cluster.overhead_us,
            task_types=cluster.task_types,
            seed=cluster.seed,
            lease_factor=0.0,
            lease_floor_us=1e15,  # leases are between the manager and the devices
        )
        self.register = self._scheduler.register_application
        self.save, self.restore = self._scheduler.save, self._scheduler.restore

    @property
    def running(self) -> list[int]:
        """The grants that have not ended."""
        return self._scheduler.running

    def turn(self, now_us: float, operations: Sequence[Operation], may_grant: bool = True) -> Outcome:
        """Tell the scheduler, then ask it until it grants nothing more."""
        scheduler, outcome = self._scheduler, Outcome()
        withdrawn: list[int] = []
        for operation in in_order(operations):
            if isinstance(operation, Arrive):
                arrived_us = min(operation.arrived_us, now_us)
                number = scheduler.new_request(operation.application, now_us, operation.size, arrived_us=arrived_us)
                outcome.numbers.append(number)
            elif isinstance(operation, Complete):
                scheduler.complete(operation.grant, now_us, operation.unit)
            elif isinstance(operation, Lose):
                withdrawn += scheduler.lost_unreported(operation.grant)
                scheduler.lose(operation.grant, now_us)
            elif isinstance(operation, SetUp):
                scheduler.set_up(operation.units, operation.is_up, now_us)
            elif scheduler.cancel(operation.request, now_us):
                withdrawn.append(operation.request)
            if not may_grant:
                scheduler.close_event()
        while may_grant and (grant := scheduler.can_issue(now_us)) is not None:
            outcome.grants.append(grant)
        outcome.dropped, outcome.withdrawn = scheduler.dropped(), tuple(withdrawn)
        outcome.ask_again_us = scheduler.ask_again_us
        return outcome
