"""What the manager keeps of the work that waits and runs."""

from dataclasses import dataclass, field
from typing import Any

from vinesim.live.grant import Grant

OF_JOBS = "jobs of "  # begins the names of the applications that stand for jobs


@dataclass
class Served:
    """An application: how its requests are processed."""

    name: str
    kernel: str  # empty: clients process the grants of their requests themselves, through ``issue``
    deadline_us: float
    per_size: bool


@dataclass(eq=False)
class Item:
    """A request or a job that was accepted and has not ended."""

    application: int
    size: float
    arrived_us: float
    client: str = ""  # of a request; jobs belong to nobody
    key: str = ""  # the client's own name of the request
    payload: bytes | list[int] | None = None  # or its place at its client; None: it comes with ``issue``
    job: int = 0  # 0: a request
    n_attempts: int = 0
    is_cancelled: bool = False
    is_unwanted: bool = False  # a request that its client has cancelled, which the journal is to say
    is_found: bool = False  # it ran when the manager was started again; its client has not sent it again
    is_lost: bool = False  # the answer of a node to its client may not have arrived
    number: int = -1  # in the decision component, while it waits there
    run: "Run | None" = None  # what carries it out, until it waits again


@dataclass(eq=False)
class Attempt:
    """Work on one device: the requests of a grant, or a job."""

    id: int
    node: str
    unit: int
    epoch: int
    run: "Run"
    member: int = 0  # of a gang
    begun_us: float = 0.0
    is_over: bool = False
    is_killed: bool = False  # its agent is to end it
    awaited: set[int] = field(default_factory=set)  # payloads, by place in its order, that clients are to send
    results: list[dict[str, Any]] = field(default_factory=list)  # of each item: see results.py
    execution_us: float = 0.0


@dataclass(eq=False)
class Run:
    """A grant that the manager carries out: its items, and an attempt per place. Without a grant: found again after
    the manager was restarted, so that its unit is closed until it ends. If ``why`` is not empty it fails, and its
    attempts are ended."""

    items: list[Item]
    issued_us: float
    grant: Grant | None = None
    attempts: list[Attempt] = field(default_factory=list)
    why: str = ""
    is_final: bool = False  # the failure will not be tried again
    is_offered: bool = False  # to a client that has not issued it


@dataclass(eq=False)
class Node:
    """What the manager knows of a node."""

    name: str
    units: range
    epoch: int = 0
    state: str = "absent"  # up, silent (no connection, lease still runs), draining, lost, absent
    is_draining: bool = False
    is_open: bool = False  # it may get work, as the journal says
    fence_us: float = 0.0  # when its lease and the grace have ended: its devices are no longer alive
    peer: Any = None  # its connection
    facts: dict[str, Any] = field(default_factory=dict)  # cores, memory, GPUs as the agent found them
    attempts: dict[int, Attempt] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)  # units whose device process has loaded its kernels
    blocked: set[int] = field(default_factory=set)  # units whose work was found again after a restart
    known_ends: list[int] = field(default_factory=list)  # attempts whose end its agent need not say again
