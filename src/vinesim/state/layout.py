"""The constants in the arrays of a run, the reasons for which its loop stops, the rules that actions must follow, what
a policy sees besides arrays, and what it answers."""

from typing import Any, NamedTuple

FULL, OVERFULL = 1.0 - 1e-9, 1.0 + 1e-9  # tolerance on a capacity: demands such as 0.1 do not add up exactly
COLUMNS = 8  # of the index of nodes that are compared at once; their number is a multiple of it
FAN, ROOT = 4, 3  # of its rows: those below a row, and the number of the first (core/node_tree.py)
PENDING, DROPPED = -1, -2  # as a task's unit: not started, or dropped by the policy
ATTACHED = -3  # as a task's unit: not started, and starts with the pending task of its gang
HELD = -4  # as a task's unit: its job waits for others, or has not arrived since these are over
MOST_DEAD_ENDS = 1000  # in the search for the place of a gang; after that it counts as having none there
OF_REQUEST = 4  # as a job's gang: of an application's request, each task on its own node, the least busy first
DOWN = -1.0  # as a unit's capacity, while its node is down: below any load, also one that rounding left just below 0
UNFIT = -(2**31)  # as the score of a node: the task cannot start there
MOST_SCORE = 2**31 - 1
FINISH, ARRIVAL, PERIOD, SAMPLING, TIMER, OUTAGE = range(6)  # events, in the order in which equal times are handled
MAX_SEQUENCES, MAX_TOKENS, BLOCKS, BLOCK_TOKENS, RESUMES, CACHES, STEP, ROLE, TOKEN_BYTES = range(9)  # of type_batching
BOTH, PREFILL, DECODE = range(3)  # roles of serving engines
ANY_NUMBER = 2.0**40  # as the capacity of a serving engine: of requests, each of which counts as 1
NOTHING, START, DROP, PREEMPT, MOVE = range(5)  # kinds of actions; from PREEMPT on they end a segment
RESUME, CHECKPOINT, RESTART = range(3)  # what a preempted task keeps: all, all up to its last checkpoint, nothing


def has_shared_speed(model: Any) -> bool:
    """Whether any unit's tasks may share its speed."""
    return bool((model.unit_parallelism < model.unit_capacity).any())


class View(NamedTuple):
    """What a policy sees besides the model and the state when it is called."""

    now_us: float
    event: int  # what happened: FINISH, ARRIVAL, TIMER or OUTAGE
    unit: int  # the unit of a FINISH, else -1
    job: int  # the job of an ARRIVAL, else -1
    task: int  # the task of a FINISH, a leader if tasks were consolidated; else -1
    options: Any  # the policy's options, by name; a choice has one field per word, true for the chosen one
    scratch: Any  # the policy's own arrays, by name


class Action(NamedTuple):
    """What a policy wants: to start ``n_tasks`` tasks on a unit, to drop, preempt or move a task, or nothing before
    ``until_us``."""

    kind: int  # NOTHING, START, DROP, PREEMPT or MOVE
    task: int
    n_tasks: int
    unit: int
    until_us: float


# Why an engine stopped handling events; ABANDONED: it did not stop, the waiting thread has abandoned it.
# NEED_ROOM: the log of early ends may become too short in the next event. NEED_CHANGES: so may the list of changes.
GO_ON, NO_EVENTS, AT_HORIZON, AT_PAUSE, BROKEN, ABANDONED, NEED_ROOM, NEED_CHANGES = range(8)

# The rules that a policy may break; RULES has their words.
UNKNOWN_TASK, NOT_PENDING, UNKNOWN_UNIT, CANNOT_RUN, NO_ROOM, NOT_A_HEAD, WAIT_NOT_LATER = range(1, 8)
SHARES_SPEED, IS_DOWN, NO_ROOM_FOR_THE_REST, NOT_RUNNING, JUST_STARTED, IS_CONSOLIDATED = range(8, 14)
IS_ATTACHED, IS_GANG, OUTSIDE_PARTITION, OVER_QUOTA, OVER_CAP, ON_ENGINE, IS_RESERVED, OTHER_ROLE = range(14, 22)
OUT_OF_TIME = -1  # in place of a rule: the clock cannot represent the time of a task, whatever the policy did

RULES = (
    "",
    "a policy may start only tasks that exist and have arrived",
    "a policy may start a task only once",
    "a policy may start a task only on a unit of the datacenter",
    "a policy may start a task only on a unit whose type can run it (affinity above 0)",
    "the unit has no room for it: call first_free or can_start before start, or declare may_overcommit",
    "a policy may consolidate only the first pending tasks of one group, from its oldest on, and as many as joinable",
    "wait_until needs a time later than now",
    "a batch policy may move a task only between units whose tasks do not share their speed",
    "a policy may start a task only on a unit whose node is up, not in an outage",
    "a policy may start a task only where its other units and its companions fit, even if it declares may_overcommit",
    "a policy may preempt or move only a running task; of consolidated tasks, only the leader",
    "a policy may not preempt or move a task at the event at which it started it",
    "a policy may not move tasks that are consolidated",
    "a policy may start or drop a gang only by its first task, the only one that is pending",
    "a policy may not move the tasks of a gang",
    "a policy may start a task only on a node of its partition",
    "a policy may start a task only if its quotas leave room for what it holds",
    "a policy may start a task only if the power caps of the rack and of the datacenter leave power for it",
    "a policy may not consolidate requests on a serving engine, which batches them itself: start each with start",
    "a policy may start a task only where no reservation that does not admit it begins before its expected end",
    "a policy may start a request only on an engine with a role for its stage: prefill or decode",
    "a batch policy must return one unit for each task, -1 to leave it as it is",
)
