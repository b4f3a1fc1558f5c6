"""Why the loop stops, and the rules that a policy's actions must follow."""

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
