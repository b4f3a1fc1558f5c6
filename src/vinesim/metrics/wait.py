"""Why a job waited, as plain values: the wait of the task that started last."""

from dataclasses import dataclass, field

from vinesim.formats.source.clock import Clock
from vinesim.metrics.blockers import Blocker
from vinesim.metrics.gang_shortages import Gang, GangRoom
from vinesim.metrics.openings import Opening
from vinesim.metrics.power_waits import PowerWait
from vinesim.metrics.quota_waits import QuotaWait
from vinesim.metrics.reservation_waits import ReservationWait
from vinesim.metrics.shortages import Fragmentation, Shortage, Span
from vinesim.metrics.types_of_units import TypeOfUnit

TERMINAL = ("killed", "withdrawn")  # the task never runs again
LOSSES = ("preempted", "interrupted", "failed", "prefilled")  # ends after which a task is pending again


@dataclass(frozen=True)
class LostRun:
    """A run of the waiting task that ended before the task was done; or its prefill on another engine."""

    unit: int
    begin_us: float
    end_us: float
    outcome: str  # why it ended, of model.result.OUTCOMES
    for_jobs: tuple[int, ...] = ()  # of other partitions of its cohort that started as it was preempted


@dataclass
class Waiting:
    """The wait of one task of a job: the one that started last."""

    job: int
    job_id: int | None  # its number in its source; None: it has none other than ``job``
    expected_us: float | None  # how long its policy took it to run, by its estimate and its limit; None: not recorded
    start_date: str | None  # when the run's time 0 was; None: not known
    task: int
    n_tasks: int  # of the job
    task_type: str
    demand: float | str  # a number, "one slot" or "whole"; of each unit that it runs on
    n_units: int  # that it runs on, at one node
    lead_types: list[str]  # of which these may be; empty: any that can run it
    companions: dict[str, float]  # what it holds besides them of one unit of other types at the node
    requests: dict[str, float]
    partition: str | None
    arrival_us: float
    after: list[int]  # the jobs that it waited for before it was eligible
    eligible_us: float | None  # its arrival, or when these were over; None: they never were
    start_us: float | None  # the last time; None: it never started, or not again
    finish_us: float | None
    waited_us: float  # until it started, was withdrawn, or the run ended; without the lost runs
    is_withdrawn: bool  # before it started
    is_dropped: bool  # the policy dropped it while it was pending
    unit: int | None  # on which it started
    unit_type: str | None
    rack: int | None
    shelf: int | None
    moves: int  # to other units after its start
    lost_runs: list[LostRun]  # before the start above
    cut_off: LostRun | None  # the last one, if its limit ended it or the withdrawal of its job
    policy: str
    exit_reason: str
    types: list[TypeOfUnit] = field(default_factory=list)  # of the units where it may be
    openings: list[Opening] = field(default_factory=list)  # of units that can run it and meet its requests, by time;
    # of nodes, named by the first of these units, for a task that holds several units
    fragmentation: Fragmentation | None = None  # of the same units
    shortage: Shortage | None = None  # at the nodes of the same units, for a task that holds several units
    gang: Gang | None = None  # the tasks that start with it
    gang_rooms: list[GangRoom] = field(default_factory=list)  # for how many of them there was room meanwhile, by time
    waits: list[tuple[float, float]] = field(default_factory=list)  # begin and end: apart if it had lost runs
    quotas: list[QuotaWait] = field(default_factory=list)  # when they left too little for it, by time
    power: list[PowerWait] = field(default_factory=list)  # when power caps left too little, by time
    reservations: list[ReservationWait] = field(default_factory=list)  # that kept it from room, by time
    reserved: list[Span] = field(default_factory=list)  # when these left it no place with room
    able_racks: list[int] = field(default_factory=list)  # with units that it could use; only with power caps
    # The wait by the state of the same units, or by whether there was room for all of the gang; empty if nothing can
    # run it.
    spans: list[Span] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)  # for whom the policy kept room free meanwhile, by time
    job_ids: dict[int, int] = field(default_factory=dict)  # numbers in their source of the other jobs above
    # What people call the nodes above, by "rack/shelf"; empty if they have no names.
    places: dict[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> Clock:
        """The clock of the run."""
        return Clock.of(self.start_date)

    @property
    def since_us(self) -> float:
        """From when it waited for units."""
        return self.arrival_us if self.eligible_us is None else self.eligible_us

    @property
    def holds_several(self) -> bool:
        """Whether it starts on a node that has all of several units, instead of on one unit."""
        return self.n_units > 1 or bool(self.companions)

    @property
    def on_nodes(self) -> bool:
        """Whether it is nodes that have room for it: it holds several units or is of a gang."""
        return self.holds_several or self.gang is not None

    def place(self, rack: int | None, shelf: int | None) -> str:
        """Return a node in words."""
        return self.places.get(f"{rack}/{shelf}", f"rack {rack}, shelf {shelf}")
