"""What the manager keeps of the work that waits and runs."""

from dataclasses import dataclass, field
from typing import Any

from vinesim.live.grant import Grant


@dataclass
class Served:
    """An application: how its requests are processed."""

    name: str
    kernel: str  # empty: the client processes the grants itself, through ``issue``
    deadline_us: float
    per_size: bool
    client: str = ""  # which asks for the grants, if there is no kernel


@dataclass
class Item:
    """A request or a job that was accepted and has not ended."""

    application: int
    size: float
    arrived_us: float
    client: str = ""  # of a request; jobs belong to nobody
    key: str = ""  # the client's own name of the request
    payload: Any = None
    job: int = 0  # 0: a request
    n_attempts: int = 0
    is_cancelled: bool = False
    is_found: bool = False  # it ran when the manager was started again; its client has not sent it again
    number: int = -1  # in the decision component, while it waits there


@dataclass
class Attempt:
    """Work on one device: the requests of a grant, or a job."""

    id: int
    node: str
    unit: int
    epoch: int
    run: "Run"
    member: int = 0  # of a gang
    is_over: bool = False
    is_killed: bool = False  # the manager has asked for its end
    result: Any = None
    execution_us: float = 0.0


@dataclass
class Run:
    """A grant that the manager carries out: its items, and an attempt per place. Without a grant: found again after
    the manager was restarted, so that its unit is closed until it ends."""

    items: list[Item]
    issued_us: float
    grant: Grant | None = None
    attempts: list[Attempt] = field(default_factory=list)
    why: str = ""  # it fails, but its attempts are not all over
    is_final: bool = False  # the failure will not be tried again
    is_offered: bool = False  # to a client that has not issued it


@dataclass
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
