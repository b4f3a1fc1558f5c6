"""The compiled arrays: Model (read-only), State (the only thing that changes), View (what a policy sees).

Dimensions: U units, V nodes, R racks, P processor types, T task types, J jobs, N tasks, G groups of tasks,
A applications (0 if the scenario lists none), H units that tasks hold beside the one that they run on. Where tasks hold
several units, T are the classes of tasks that demand the same (``state/demand_classes.py``), L the distinct leads and C
the processor types of companions; else L, C and H are 0, and what is of these dimensions has no rows.
Units are in tie-break order: (rack, shelf), then position in the deployment.
"""

from typing import Any, NamedTuple

import numpy as np

FULL, OVERFULL = 1.0 - 1e-9, 1.0 + 1e-9  # tolerance on a capacity: demands such as 0.1 do not add up exactly
SLACK = 1e-12  # of a capacity, added to rooms in the index of nodes: they are rounded otherwise than loads are
COLUMNS = 8  # of the index of nodes that are compared at once; their number is a multiple of it
FAN, ROOT = 4, 3  # of its rows: those below a row, and the number of the first (state/node_tree.py)
PENDING, DROPPED = -1, -2  # as a task's unit: not started, or dropped by the policy
ATTACHED = -3  # as a task's unit: not started, and starts with the pending task of its gang
MOST_DEAD_ENDS = 1000  # in the search for the place of a gang; after that it counts as having none there
OF_REQUEST = 4  # as a job's gang: of an application's request, each task on a node of its own, the least busy first
DOWN = -1.0  # as a unit's capacity, while its node is down: below any load, also one that rounding left just below 0
UNFIT = -(2**31)  # as the score of a node: the task cannot start there
MOST_SCORE = 2**31 - 1
FINISH, ARRIVAL, PERIOD, SAMPLING, TIMER, OUTAGE = range(6)  # events, in the order in which equal times are handled
NOTHING, START, DROP, PREEMPT, MOVE = range(5)  # kinds of actions; from PREEMPT on they end a segment
RESUME, CHECKPOINT, RESTART = range(3)  # what a preempted task keeps: all, all up to its last checkpoint, nothing
SOLES = 2  # companions that are held without looking for their units, where a node has just one unit of each
ASKED = np.dtype(  # what a class asks for beside the unit that it runs on
    [
        ("first", "f8"),  # the amounts of the first two companions, 0: nothing
        ("second", "f8"),
        ("n_first", "i8"),  # 1 where it asks for any, else 0
        ("n_second", "i8"),
        ("has_more", "i8"),  # whether it asks for more than these: of other companions, or further units of the lead
    ],
    align=True,
)


class Model(NamedTuple):
    """A scenario as read-only arrays."""

    unit_type: np.ndarray  # [U] int32: processor type
    unit_node: np.ndarray  # [U] int32: node
    unit_capacity: np.ndarray  # [U] float64: upper limit on the sum of its tasks' demands
    unit_parallelism: np.ndarray  # [U] float64: demand up to which tasks run at full speed
    curve_length: np.ndarray  # [C] int64: tasks that a speed curve knows, 0 = by parallelism, -1 = never slower; or [0]
    curve_throughput: np.ndarray  # [C, K] float64: what so many tasks get done together, by their number - 1; or [0, 0]
    type_curve: np.ndarray  # [P, T] int32: its curve for each task type, -1 = one for all, its own row; or [0, 0] int8
    unit_order: np.ndarray  # [U] int64: this unit's row in the deployment
    node_rack: np.ndarray  # [V] int32
    node_shelf: np.ndarray  # [V] int32
    node_first: np.ndarray  # [V + 1] int32: first unit of each node
    rack_first: np.ndarray  # [R + 1] int32: first unit of each rack
    rack_node: np.ndarray  # [R + 1] int32: first node of each rack
    affinity: np.ndarray  # [P, T] float64: operations per us, 0 = cannot run
    overhead_us: np.ndarray  # [P, T] float64: us before a task computes
    joined_us: np.ndarray  # [P, T, B] float64: us that n consolidated tasks compute, by n - 1; or [0, 0, 0]
    joined_most: np.ndarray  # [P, T] int64: the largest such n, 0 = the times of the tasks add up; or [0, 0]
    ranking: np.ndarray  # [T, P] int32: deployed types that can run the task type, fastest first, -1 after the last
    runs_everywhere: np.ndarray  # [T] bool: every deployed type can run the task type
    tier_bandwidth: np.ndarray  # [3] float64: bytes per us; local, intra-rack, inter-rack
    tier_latency_us: np.ndarray  # [3] float64: us
    job_arrival_us: np.ndarray  # [J] float64: not decreasing
    job_first: np.ndarray  # [J + 1] int64: first task of each job
    job_deadline_us: np.ndarray  # [J] float64, or [0] if no job has one
    job_limit_us: np.ndarray  # [J] float64: its tasks are killed after so long on a unit; or [0] if no job has one
    job_withdraw_us: np.ndarray  # [J] float64: when it is withdrawn; or [0] if no job is
    withdrawn_job: np.ndarray  # int32: the jobs that are withdrawn, in the order of time
    job_priority: np.ndarray  # [J] float64: higher is more urgent; or [0] if all are equal
    job_user: np.ndarray  # [J] int32, or [0] if there are no users
    job_gang: np.ndarray  # [J] int32: NO_GANG, within what its tasks start together, or OF_REQUEST; [0] int8 without
    job_spread: np.ndarray  # [J] bool: a gang's tasks are spread over the nodes, not packed; or [0]
    job_per_node: np.ndarray  # [J] int32: the most tasks of a gang at one node, 0 = any number; or [0]
    job_nodes: np.ndarray  # [J] int32: nodes of a gang, with job_per_node tasks on each, 0 = any number of them; or [0]
    gang_order: np.ndarray  # [N] int32: the tasks of each job in the order in which they are placed; [0]: by number
    job_partition: np.ndarray  # [J] int32: row of partition_node, 0 = all nodes; [0] int8 without partitions
    partition_node: np.ndarray  # [partitions + 1, V] bool: the nodes of each; or [0, 0]
    job_account: np.ndarray  # [J] int32: jobs of one account count against the same quotas, -1 = against none; or [0]
    account_first: np.ndarray  # [accounts + 1] int32: where the quotas of each account begin in account_quota
    account_quota: np.ndarray  # int32: quotas, by account
    quota_limit: np.ndarray  # [quotas] float64: the most that the tasks of its accounts hold at once
    quota_counts: np.ndarray  # [quotas] int32: of what, a row of counted_type
    counted_type: np.ndarray  # [K, P] bool: processor types that count together, for K sets of them
    kind_least: np.ndarray  # [T, K] float64: the least that a task holds of these; or [0, 0]
    task_checkpoint_us: np.ndarray  # [N] float64: work between checkpoints, inf = none; or [0] if no task has any
    task_restart_us: np.ndarray  # [N] float64: what resuming it takes, or [0]
    preemption: np.ndarray  # [1] int64: what a preempted task keeps: RESUME, CHECKPOINT or RESTART
    task_job: np.ndarray  # [N] int32
    task_operations: np.ndarray  # [N] float64
    task_data_bytes: np.ndarray  # [N] float64, or [0] if no task has data
    task_data_node: np.ndarray  # [N] int32, or [0] if no task has data
    task_demand: np.ndarray  # [N] float64, NaN = one slot, inf = the unit; or [0] if each takes all of any unit
    task_group: np.ndarray  # [N] int32, or [0] if there is one group
    task_next: np.ndarray  # [N] int32: next task of the same group, N after the last; or [0] if there is one group
    task_times_us: np.ndarray  # [N, P] float64: measured times, or [0, 0] if operations / affinity applies
    task_factor: np.ndarray  # [N] float64: factor on the true time, or [0]
    task_estimate_us: np.ndarray  # [N] float64: the scheduler's estimates of the run times, or [0]
    task_request: np.ndarray  # [N, Q] float64: minimum of each of the Q resources, or [0, 0]
    type_resource: np.ndarray  # [P, Q] float64: what a unit of the type provides, -1 = it does not have the resource
    type_is_cpu: np.ndarray  # [P] bool: a CPU; else an accelerator
    type_sms: np.ndarray  # [P] float64: its attribute sms (multiprocessors of a GPU), 0 if it has none
    group_task_type: np.ndarray  # [G] int32
    group_preferred: np.ndarray  # [G] int32: preferred processor type, -1 = none; if the policy groups by it
    group_application: np.ndarray  # [G] int32: if the policy groups by it
    application_max_consolidated: np.ndarray  # [A] int64: requests that may start as one
    application_load: np.ndarray  # [A] float64: expected requests per second
    application_relative_deadline_us: np.ndarray  # [A] float64: us from arrival to deadline
    application_gang_size: np.ndarray  # [A] int64: tasks of a request, each on a node of its own; 1 = no gang
    application_nodes: np.ndarray  # [A, P] int64: nodes that hold its data and have a unit of the type
    application_units: np.ndarray  # [A, U / 64] uint64: units of the nodes that hold its data, one bit each
    kind_task_type: np.ndarray  # [T] int32: the scenario's own task type
    kind_units: np.ndarray  # [T] int32: units of the lead; or [0] int8 if no task holds several units
    kind_share: np.ndarray  # [T] float64: of each of them, as task_demand; or [0]
    kind_companion: np.ndarray  # [T, P] float64: amount of one unit of each type at the node, or [0, 0]
    kind_named: np.ndarray  # [T, P] bool: the lead may be of the type, if a node has all that is demanded; or [0, 0]
    kind_lead: np.ndarray  # [T, P] int32: the lead, of L, on each type; -1: it cannot be of that type; or [0, 0]
    task_held: (
        np.ndarray
    )  # [N + 1] int64: where the units that each task holds beside its own begin in held_unit; or [0]
    node_begin: np.ndarray  # [V P + 1] int32: where the units of each node and type begin in node_unit; or [0]
    node_unit: np.ndarray  # [U] int32: the units by node, then by type, in order; or [0]
    node_sole: np.ndarray  # [V C] int32: each node's unit of the type of each companion if it has just one, else -1
    lead_type: np.ndarray  # [L] int32: processor type; leads of one type and share follow one another
    lead_units: np.ndarray  # [L] int32: how many at one node; fewer first, of one type and share
    lead_end: np.ndarray  # [L] int32: the lead after the last of the same type and share
    lead_share: np.ndarray  # [L] float64: of each of them, as task_demand
    lead_shape: np.ndarray  # [L] int32: its number of units and share, of S pairs of these; or [0]
    type_lead: np.ndarray  # [P + 1] int32: where the leads of each type begin; or [0]
    kind_shape: np.ndarray  # [T] int32: of the lead of each class; or [0]
    kind_types: np.ndarray  # [T, P / 64] uint64: the types that it can be of, one bit each; or [0, 0]
    companion_type: np.ndarray  # [C] int32: processor types of companions, the most frequent first
    kind_beside: np.ndarray  # [T] of ASKED, or [0]
    kind_with_more: np.ndarray  # int32: the classes that ask for more than that
    kind_rank: np.ndarray  # [T, max(C, 1)] int16: rank of the amount of each companion, 0: none; or [0, 0]
    kind_asks: np.ndarray  # [T C] int32: how many of the amounts asked of each companion are up to its own; or [0]
    asked: np.ndarray  # amounts of the companions that any class asks for, ascending for each; or [0]
    asked_rank: np.ndarray  # [amounts] int16: their ranks, from 1
    asked_first: np.ndarray  # [C + 1] int32: where those of each companion begin; or [0]


RUN = np.dtype(
    [
        ("now_us", "f8"),  # the clock
        ("timer_us", "f8"),  # when the policy wants to be asked again; inf = never
        ("next_job", "i8"),  # the next job to arrive
        ("n_arrived", "i8"),  # tasks that have arrived: all below this number
        ("n_pending", "i8"),  # tasks that have arrived and not started
        ("n_with_room", "i8"),  # units whose load is below their capacity
        ("n_done", "i8"),
        ("n_ended", "i8"),  # rows of the log of early ends
        ("n_ended_held", "i8"),  # units that these held beside their own
        ("to_ask", "i8"),  # OUTAGE or TIMER: something was done between events, of which the policy hears next; else 0
        ("interrupted", "i8"),  # first task that the last outages interrupted; -1 = none
        ("n_events", "i8"),
        ("n_stale", "i8"),  # nodes that have changed since the index of nodes was last asked; -1: it was not yet
        ("n_tried", "i8"),  # units whose loads are changed for the time of a trial
        ("n_changes", "i8"),  # changes of nodes so far, where they are noted
        ("n_changes_seen", "i8"),  # of these, up to which any score or number of tasks is known
        ("n_changes_counted", "i8"),  # of these, up to which the numbers of tasks on nodes are known
        ("random", "u8"),  # state of the policy's random stream
        ("queue_last", "u8"),  # event queue: bits of the time of the last event taken
        ("queue_levels", "u8"),  # event queue: which levels hold events
        ("queue_now", "i8"),  # event queue: the task after the last one taken, if it finishes at the same time; else -1
        ("queue_newest", "i8"),  # event queue: the task queued last, -1 = none
        ("queue_ahead", "i8"),  # event queue: of the bucket that is spread next, the event fetched last; -1 = none
        ("found_task", "i8"),  # for which a query has found room since the policy was asked, and where; -1 = none
        ("found_unit", "i8"),
        ("gang_task", "i8"),  # the gang of the last place that was found, by its pending task, and where; -1 = none
        ("gang_anchor", "i8"),
        ("gang_type", "i8"),  # of a request: any unit of this type with room would do
        ("gang_refused", "i8"),  # a gang for which there is no place, on units of a type in some place
        ("gang_refused_type", "i8"),
        ("gang_refused_place", "i8"),
        ("gang_event", "i8"),  # the event at which both were found
        ("error", "i8"),  # the rule that the policy broke, or OUT_OF_TIME; 0 = none
        ("error_task", "i8"),
        ("error_unit", "i8"),
        ("error_us", "f8"),  # for OUT_OF_TIME: how long the task takes
    ],
    align=True,
)


ENDED = np.dtype(  # a row of the log of early ends; see model.result.EarlyEnds
    [
        ("task", "i8"),
        ("unit", "i8"),
        ("init_us", "f8"),
        ("start_us", "f8"),
        ("end_us", "f8"),
        ("left", "f8"),
        ("why", "i8"),
        ("is_follower", "i8"),
    ],
    align=True,
)


BESIDE = np.dtype(  # the first two companions at a node; where there are fewer, a unit of which nothing is asked
    [
        ("are_sole", "i4"),  # whether the node has just one unit of the type of each
        ("first", "i4"),  # these units, else 0
        ("second", "i4"),
        ("first_full", "f8"),  # the load from which on a unit has no room; -1: not known, infinite: nothing is asked
        ("second_full", "f8"),
        ("first_ample", "f8"),  # the load up to which it has room for any amount that a class asks for; in the same way
        ("second_ample", "f8"),
    ],
    align=True,
)


class State(NamedTuple):
    """What a run changes; all of it is allocated before the run."""

    run: np.ndarray  # [1] of RUN: clock and counters
    task_unit: np.ndarray  # [N] int32: where the task runs or ran, or PENDING, or DROPPED
    task_init_us: np.ndarray  # [N] float64: when it was given to the unit
    task_start_us: np.ndarray  # [N] float64: when its data was there
    task_finish_us: np.ndarray  # [N] float64: when it finishes, as currently known
    task_follower: np.ndarray  # [N] int32: the next follower of the same leader, -1 = none
    task_interrupted: np.ndarray  # [N] int32: the next such task, -1 = none; [0] where none ends early, as the next
    task_left: np.ndarray  # [N] float64: share of its work that was left when it was last given to a unit
    task_before_us: np.ndarray  # [N] float64: on its unit now: us of transfer and restart, before its work
    task_work_us: np.ndarray  # [N] float64: on its unit now: us of work, with that of its followers
    task_attained_us: np.ndarray  # [N] float64: us on the units that it has left
    task_event: np.ndarray  # [N] int64: number of the event at which it was given to a unit; -1: never
    task_killed: np.ndarray  # [N] uint8: its limit ends it, not its finish; [0] without limits
    running: np.ndarray  # [1, N / 64] uint64: the running tasks, leaders only, one bit each
    running_1: np.ndarray
    running_2: np.ndarray
    ended: np.ndarray  # [L] of ENDED: the log of early ends; more room is made between calls of the loop
    ended_held: np.ndarray  # [M, 2] int64: of these, row and a unit that it held beside its own
    unit_open: np.ndarray  # [U] float64: its capacity, DOWN while its node is down
    unit_load: np.ndarray  # [U] float64: demand of the tasks that run on it
    unit_tasks: np.ndarray  # [U] int32: number of tasks running on it; consolidated tasks count as one
    free: np.ndarray  # [P + 1, W] uint64: units with room, one bit each; row P is all types
    free_1: np.ndarray  # [P + 1, W / 64] uint64: which words of `free` are not 0
    free_2: np.ndarray  # [P + 1, W / 4096] uint64: which words of `free_1` are not 0
    free_count: np.ndarray  # [P + 1, U / 4096] int64: units with room per block of 4096; [P + 1, 0]: not counted
    heads: np.ndarray  # [1, N / 64] uint64: the first pending task of each group, one bit each; 1 word if one group
    heads_1: np.ndarray
    heads_2: np.ndarray
    group_head: np.ndarray  # [G] int64: first task of the group that has not started (it may not have arrived)
    group_pending: np.ndarray  # [G] int64: tasks of the group that have arrived and not started
    queue_head: np.ndarray  # [8 * 256] int64: first event of a bucket, -1 = none
    queue_tail: np.ndarray  # [8 * 256] int64
    queue_min_us: np.ndarray  # [8 * 256] float64: earliest time in a bucket
    queue_used: np.ndarray  # [8 * 4] uint64: which buckets of a level hold events
    queue_next: np.ndarray  # [N] int32: next event of the same bucket, -1 = none; FOLLOWS: attached to the task before
    queue_previous: np.ndarray  # [N] int32; [0] if no event is ever cancelled
    work_done: np.ndarray  # [U] float64: shared units: us of full-speed service given to each task so far
    work_at_us: np.ndarray  # [U] float64: shared units: the time of that figure
    work_due: np.ndarray  # [N] float64: shared units: work_done at which the task finishes; [0] if none is shared
    work_first: np.ndarray  # [U] int64: shared units: first running task, -1 = none
    work_next: np.ndarray  # [N] int32: shared units: next running task of the same unit; [0] if none is shared
    work_event: np.ndarray  # [U] int64: shared units: the task whose finish event is in the queue, -1 = none
    held_unit: np.ndarray  # [H] int32: the units that each task holds beside its own since its last start; -1: none yet
    unit_held: np.ndarray  # [U] int32: how many tasks that run on other units hold part of it; or [0]
    held_before: np.ndarray  # [H] float64: during a trial: the loads before; or [0] without gangs and early ends
    quota_held: np.ndarray  # [quotas] float64: what the tasks of its accounts hold
    quota_tasks: np.ndarray  # [quotas] int64: how many tasks that is
    gang_unit: np.ndarray  # [M] int32: by member of a gang, M of the largest: its unit in the place found; or [0]
    gang_before: np.ndarray  # [M] float64: while a place is looked for: the loads of these units before
    node_members: np.ndarray  # [V] int32: while a place is looked for: members at each node; or [0]
    node_offer: np.ndarray  # [V] int32: in the same way: members that each node could take; or [0]
    tried_unit: np.ndarray  # [U] int32: the first n_tried are those units; or [0] where no segment ends early
    load_before: np.ndarray  # [U] float64: their loads before the trial, NaN for other units; or [0]
    node_change: np.ndarray  # [V] int64: the number of its last change; or [0] int8: changes of nodes are not noted
    node_score: np.ndarray  # [T, V] int32: score of each node for a task type, UNFIT: no unit of it has room; or [0, 0]
    node_score_1: np.ndarray  # [T, V / 64] int32: the highest of each 64 of these; or [0, 0]
    node_score_2: np.ndarray  # [T, V / 4096] int32: the highest of each 64 of those; or [0, 0]
    changed_node: np.ndarray  # [V or more, a power of 2] int32: the node of each of the last changes; or [0]
    kind_seen: np.ndarray  # [T] int64: the change up to which its scores are known, -1: none is; or [0]
    kind_score: np.ndarray  # [T] int64: the number of the function that these are of; or [0]
    node_busy: (
        np.ndarray
    )  # [P, V] int32: how many tasks run on each node that has a unit of the type with room, negated;
    # UNFIT: it has none; state/least_busy.py; or [0, 0]
    node_busy_1: np.ndarray  # [P, V / 64] int32: the highest of each 64 of these; or [0, 0]
    node_busy_2: np.ndarray  # [P, V / 4096] int32: the highest of each 64 of those; or [0, 0]
    node_beside: np.ndarray  # [V] of BESIDE, or [0]; it does not change
    node_offers: np.ndarray  # [V, S P / 64] uint64: types of which a node has room for such a lead, as kind_types;
    # state/node_offers.py; or [0, 0]
    node_fitting: np.ndarray  # [V C] int32: how many of the amounts asked of each companion it has room for; or [0]
    node_kinds: np.ndarray  # [V, T] int32: tasks of each type that run on the units of a node; or [0, 0]
    node_room: np.ndarray  # [R, at least L + C - 1] int16: state/node_index.py; or [0, 0] without it
    node_is_stale: np.ndarray  # [V] uint8: the node has changed, and node_room does not know; or [0]
    stale_node: np.ndarray  # [V] int32: the first n_stale are those nodes; or [0]


def has_shared_speed(model: Model) -> bool:
    """Whether any unit's tasks may share its speed."""
    return bool((model.unit_parallelism < model.unit_capacity).any())


class View(NamedTuple):
    """What a policy sees besides the model and the state when it is asked."""

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
