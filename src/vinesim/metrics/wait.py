"""Why a job waited, as plain data: the wait of its task that started last."""

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

TERMINAL = ("killed", "withdrawn")  # ends after which the task never runs again
LOSSES = ("preempted", "interrupted", "failed", "prefilled")  # ends after which a task is pending again


@dataclass(frozen=True)
class LostRun:
    """A run of the waiting task that ended before the task was done, or its prefill on another engine."""

    unit: int
    begin_us: float
    end_us: float
    outcome: str  # why it ended, of model.result.OUTCOMES
    for_jobs: tuple[int, ...] = ()  # jobs in other partitions of its cohort that started when it was preempted


@dataclass
class Waiting:
    """The wait of one task of a job: the one that started last."""

    job: int
    job_id: int | None  # its original id; None: it has none other than ``job``
    expected_us: float | None  # how long its policy expected it to run, by estimate and limit; None: not recorded
    start_date: str | None  # the date of the run's time 0; None: unknown
    task: int
    n_tasks: int  # of the job
    task_type: str
    demand: float | str  # of each unit that it runs on: a number, "one slot" or "whole"
    n_units: int  # the number of units that it runs on, at one node
    lead_types: list[str]  # the types of these units; empty: any that can run it
    companions: dict[str, float]  # what it also holds of one unit of each other type at the node
    requests: dict[str, float]
    partition: str | None
    arrival_us: float
    after: list[int]  # the jobs that it waited for before it was eligible
    eligible_us: float | None  # on arrival, or when these jobs were over; None: they never were
    start_us: float | None  # its last start; None: it never started, or not again
    finish_us: float | None
    waited_us: float  # until it started, was withdrawn, or the run ended; without the lost runs
    is_withdrawn: bool  # before its last start
    is_dropped: bool  # the policy dropped it while it was pending
    unit: int | None  # on which it started
    unit_type: str | None
    rack: int | None
    shelf: int | None
    moves: int  # moves to other units after its start
    lost_runs: list[LostRun]  # before its last start, in order
    cut_off: LostRun | None  # the last run, if the time limit or the withdrawal of the job ended it
    policy: str
    exit_reason: str
    types: list[TypeOfUnit] = field(default_factory=list)  # of the units that its partition and node list allow
    openings: list[Opening] = field(default_factory=list)  # intervals in which units that can run it had room, by time;
    # for a task that holds several units: nodes, named by the first of these units
    fragmentation: Fragmentation | None = None  # of the same units
    shortage: Shortage | None = None  # at the nodes of these units, for a task that holds several units
    gang: Gang | None = None  # the tasks that start with it
    gang_rooms: list[GangRoom] = field(default_factory=list)  # for how many of them there was room, by time
    waits: list[tuple[float, float]] = field(default_factory=list)  # start and end; several if it had lost runs
    quotas: list[QuotaWait] = field(default_factory=list)  # when they left too little for it, by time
    power: list[PowerWait] = field(default_factory=list)  # when power caps left too little, by time
    reservations: list[ReservationWait] = field(default_factory=list)  # that kept it from free places, by time
    reserved: list[Span] = field(default_factory=list)  # when reservations left it no place with room
    able_racks: list[int] = field(default_factory=list)  # racks with units that it could use; only with power caps
    # The wait by the state of the units that can run it, or by whether there was room for the whole gang; empty if
    # nothing can run it.
    spans: list[Span] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)  # the jobs for which the policy kept room free, by time
    job_ids: dict[int, int] = field(default_factory=dict)  # the original ids of the other jobs above
    # The names of the nodes above, by "rack/shelf"; empty if they have none.
    places: dict[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> Clock:
        """The clock of the run."""
        return Clock.of(self.start_date)

    @property
    def since_us(self) -> float:
        """When it began to wait for units, us."""
        return self.arrival_us if self.eligible_us is None else self.eligible_us

    @property
    def holds_several(self) -> bool:
        """Whether it starts on a node that has all of several units, instead of on one unit."""
        return self.n_units > 1 or bool(self.companions)

    @property
    def on_nodes(self) -> bool:
        """Whether its places are nodes instead of units: it holds several units or belongs to a gang."""
        return self.holds_several or self.gang is not None

    def place(self, rack: int | None, shelf: int | None) -> str:
        """Return the name of a node for people."""
        return self.places.get(f"{rack}/{shelf}", f"rack {rack}, shelf {shelf}")
