"""One table of all arrays: the model's, which a run reads, and the state's, which it changes.

A row says the name, the dimensions, the dtype, what the array is for and what it means. From it follow the types that
kernels are compiled for, the allocation of the state, its reset between runs, and the pages of the reference.

Dimensions: U units, V nodes, R racks, P processor types, T task types, J jobs, N tasks, G groups of tasks, A
applications (0 if the scenario lists none), E serving engines, K times of their steps, Q resources that tasks request,
H units that tasks hold besides the one that they run on. Where tasks hold several units, T are the classes of tasks
that demand the same (``state/demand_classes.py``), L the distinct leads, S their shapes, and C the processor types of
companions. Units are in tie-break order: (rack, shelf), then position in the deployment. An array of the model that a
scenario does not need has no elements.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from vinesim.state.layout import PENDING, UNFIT


class Fixed(NamedTuple):
    """An array of the model. ``part`` is the function of ``state/build.py`` that makes it, with others."""

    name: str
    size: str
    dtype: Any
    part: str
    meaning: str


MODEL = (
    Fixed("unit_type", "U", "i4", "units", "processor type"),
    Fixed("unit_node", "U", "i4", "units", "node"),
    Fixed("unit_capacity", "U", "f8", "units", "upper limit on the sum of its tasks' demands"),
    Fixed("unit_parallelism", "U", "f8", "speeds", "demand up to which tasks run at full speed"),
    Fixed("unit_order", "U", "i8", "units", "this unit's row in the deployment"),
    Fixed("curve_length", "curves", "i8", "curves", "tasks that a curve knows, 0 = by parallelism, -1 = never slower"),
    Fixed("curve_throughput", "curves,K", "f8", "curves", "what n tasks get done together, by n - 1"),
    Fixed("type_curve", "P,T", "i4", "curves", "its curve for each task type, -1 = one for all, its own row"),
    Fixed("node_rack", "V", "i4", "nodes", ""),
    Fixed("node_shelf", "V", "i4", "nodes", ""),
    Fixed("node_first", "V+1", "i4", "nodes", "first unit of each node; all 0 if the policy orders the units itself"),
    Fixed("rack_first", "R+1", "i4", "nodes", "first unit of each rack; in the same way"),
    Fixed("rack_node", "R+1", "i4", "nodes", "first node of each rack"),
    Fixed("node_begin", "VP+1", "i4", "node_units", "where the units of each node and type begin in node_unit"),
    Fixed("node_unit", "U", "i4", "node_units", "the units by node, then by type, in order"),
    Fixed("affinity", "P,T", "f8", "types", "operations per us, 0 = cannot run"),
    Fixed("overhead_us", "P,T", "f8", "types", "us before a task computes"),
    Fixed("joined_us", "P,T,B", "f8", "joined", "us that n consolidated tasks compute, by n - 1"),
    Fixed("joined_most", "P,T", "i8", "joined", "the largest such n, 0 = the times of the tasks add up"),
    Fixed("ranking", "T,P", "i4", "types", "deployed types that can run the task type, fastest first, then -1"),
    Fixed("is_tied", "T,P", "?", "types", "the next type of the ranking is as fast"),
    Fixed("runs_everywhere", "T", "?", "types", "every deployed type can run the task type"),
    Fixed("type_resource", "P,Q", "f8", "resources", "what a unit of the type provides, -1 = it has no such resource"),
    Fixed("type_ahead", "P", "i4", "ahead", "tasks that a unit takes while it computes another; or [0] if none does"),
    Fixed("type_capacity", "P", "f8", "type_capacity", "the capacity of its units, 0 = there are none"),
    Fixed("type_is_cpu", "P", "?", "resources", "a CPU; else an accelerator"),
    Fixed("type_sms", "P", "f8", "resources", "its attribute sms (multiprocessors of a GPU), 0 if it has none"),
    Fixed("tier_bandwidth", "3", "f8", "network", "bytes per us; local, intra-rack, inter-rack"),
    Fixed("tier_latency_us", "3", "f8", "network", "us"),
    Fixed("unit_engine", "U", "i4", "engines", "which serving engine it is, -1 = none; or [0] if no unit is one"),
    Fixed("engine_unit", "E", "i4", "engines", "the unit of each serving engine"),
    Fixed("engine_first", "E+1", "i8", "engines", "where the running sequences of each begin in batch"),
    Fixed("engine_block", "E+1", "i8", "engines", "where those begin in block that it caches; none without caching"),
    Fixed("type_batching", "P,9", "i8", "engines", "the limits of its engines, as MAX_SEQUENCES to TOKEN_BYTES"),
    Fixed("step_coefficients", "K,4", "f8", "engines", "us: time of a step, by base, prefill, sequence, memory"),
    Fixed("step_tokens_us", "K,*", "f8", "engines", "profiled us of a step, by its tokens"),
    Fixed("step_sequences_us", "K,*", "f8", "engines", "profiled us of a step, by its sequences"),
    Fixed("step_axis_length", "K,4", "i8", "engines", "entries of the axes of attention; 0 = no profile"),
    Fixed("step_axis", "K,4,*", "f8", "engines", "the entries"),
    Fixed("step_attention_us", "K,*", "f8", "engines", "profiled us of attention, by the axes"),
    Fixed("job_arrival_us", "J", "f8", "jobs", "not decreasing"),
    Fixed("job_first", "J+1", "i8", "jobs", "first task of each job"),
    Fixed("job_deadline_us", "J", "f8", "jobs", "or [0] if no job has one"),
    Fixed("job_limit_us", "J", "f8", "jobs", "its tasks are killed after this time on a unit; or [0]"),
    Fixed("job_withdraw_us", "J", "f8", "withdrawn", "when it is withdrawn; or [0]"),
    Fixed("withdrawn_job", "withdrawn", "i4", "withdrawn", "the jobs that are withdrawn, in the order of time"),
    Fixed("job_predecessors", "J", "i4", "after", "how many jobs it waits for; or [0] if none waits for any"),
    Fixed("successor_first", "J+1", "i8", "after", "where the jobs that wait for each job begin in successor; or [0]"),
    Fixed("successor", "dependencies", "i4", "after", "the jobs that wait for each job, in order"),
    Fixed("job_priority", "J", "f8", "jobs", "higher is more urgent; or [0] if all are equal"),
    Fixed("job_user", "J", "i4", "jobs", "or [0] if there are no users"),
    Fixed("job_gang", "J", "i4", "gangs", "NO_GANG, within what its tasks start together, or OF_REQUEST; or [0]"),
    Fixed("job_spread", "J", "?", "gangs", "a gang's tasks are spread over the nodes, not packed; or [0]"),
    Fixed("job_per_node", "J", "i4", "gangs", "the most tasks of a gang at one node, 0 = any number; or [0]"),
    Fixed("job_nodes", "J", "i4", "gangs", "nodes of a gang, with job_per_node tasks on each, 0 = any number; or [0]"),
    Fixed("gang_types", "J,P", "?", "gang_types", "units of the type can hold its gang; [0,0]: there are no gangs"),
    Fixed("gang_order", "N", "i4", "gang_order", "the tasks of each job in the order of placing; [0]: by number"),
    Fixed("job_partition", "J", "i4", "partitions", "row of partition_node, 0 = all nodes; or [0]"),
    Fixed("partition_node", "partitions+1,V", "?", "partitions", "the nodes of each"),
    Fixed("job_account", "J", "i4", "partitions", "jobs of an account count against equal quotas, -1 = none; or [0]"),
    Fixed("account_first", "accounts+1", "i4", "partitions", "where the quotas of each account begin in account_quota"),
    Fixed("account_quota", "*", "i4", "partitions", "quotas, by account"),
    Fixed("quota_partition", "quotas", "i4", "partitions", "whose it is, a row of partition_node, 0 = of a user"),
    Fixed("quota_nominal", "quotas", "f8", "partitions", "what its accounts hold without borrowing"),
    Fixed("quota_kept", "quotas", "f8", "partitions", "what others of the cohort never use of that"),
    Fixed("quota_limit", "quotas", "f8", "partitions", "the most that the tasks of its accounts hold at once"),
    Fixed("quota_counts", "quotas", "i4", "partitions", "of what, a row of counted_type"),
    Fixed("quota_cohort", "quotas", "i4", "partitions", "the cohort whose quotas on the same types share, -1 = none"),
    Fixed("cohort_first", "cohorts+1", "i4", "partitions", "where the quotas of each cohort begin in cohort_quota"),
    Fixed("cohort_quota", "*", "i4", "partitions", "quotas, by cohort"),
    Fixed("cohort_lent", "cohorts", "f8", "partitions", "what all of them together lend if nothing is used"),
    Fixed("partition_cohort", "partitions+1", "i4", "partitions", "the number of its cohort, -1 = none"),
    Fixed("partition_weight", "partitions+1", "f8", "partitions", "of its share of what the cohort lends"),
    Fixed("counted_type", "K,P", "?", "partitions", "processor types that count together, for K sets of them"),
    Fixed("class_least", "T,K", "f8", "partitions", "the least that a task holds of these"),
    Fixed("reserved_first", "V+1", "i4", "reservations", "where those of each node begin in reserved; or [0]"),
    Fixed("reserved", "*", "i4", "reservations", "reservations, by node"),
    Fixed("reservation_start_us", "reservations", "f8", "reservations", "when it starts"),
    Fixed("reservation_end_us", "reservations", "f8", "reservations", "when it is over"),
    Fixed("reservation_admits", "reservations,users", "?", "reservations", "the users whose jobs it admits"),
    Fixed("cap_mw", "R+1", "i8", "caps", "the power cap of each rack, then of the datacenter, mW; or [0]"),
    Fixed("power_law", "P", "i1", "caps", "how a level of what is held of a unit gives its power: state/power.py"),
    Fixed("power_each", "P,T", "f8", "caps", "level of each amount of a unit that a task takes, or of each share"),
    Fixed("power_empty_mw", "P", "i8", "caps", "power of a unit of which nothing is held"),
    Fixed("power_held_mw", "P", "i8", "caps", "the least power of a unit of which something is held"),
    Fixed("power_curve_mw", "P,11", "f8", "caps", "power by utilisation, 0 % to 100 %"),
    Fixed("task_job", "N", "i4", "task_job", ""),
    Fixed("task_operations", "N", "f8", "tasks", ""),
    Fixed("task_data_bytes", "N", "f8", "data", "or [0] if no task has data"),
    Fixed("task_data_node", "N", "i4", "data", "or [0] if no task has data"),
    Fixed("task_demand", "N", "f8", "demands", "NaN = one slot, inf = the unit; or [0] if each takes all of any unit"),
    Fixed("task_group", "N", "i4", "groups", "or [0] if there is one group"),
    Fixed("task_next", "N", "i4", "groups", "next task of its group, N after the last; or [0] if there is one group"),
    Fixed("task_times_us", "N,P", "f8", "tasks", "measured times, or [0, 0] if operations / affinity applies"),
    Fixed("task_factor", "N", "f8", "tasks", "factor on the true time; or [0]"),
    Fixed("task_estimate_us", "N", "f8", "tasks", "the scheduler's estimates of the run times; or [0]"),
    Fixed("task_checkpoint_us", "N", "f8", "tasks", "work between checkpoints, inf = none; or [0] if no task has any"),
    Fixed("task_restart_us", "N", "f8", "tasks", "what resuming it takes; or [0]"),
    Fixed("task_input", "N", "i8", "engines", "tokens of the prompt; or [0] if no unit is a serving engine"),
    Fixed("task_output", "N", "i8", "engines", "tokens of the answer; or [0]"),
    Fixed("task_prefix", "N", "i4", "engines", "the prefix that it shares, from 0, -1 = none; or [0] if none does"),
    Fixed("task_prefix_tokens", "N", "i8", "engines", "how many of its first tokens are of it; or [0]"),
    Fixed("task_request", "N,Q", "f8", "resources", "minimum of each of the Q resources; or [0, 0]"),
    Fixed("task_held", "N+1", "i8", "class_columns", "where its units besides its own begin in held_unit"),
    Fixed("preemption", "1", "i8", "tasks", "what a preempted task keeps: RESUME, CHECKPOINT or RESTART"),
    Fixed("group_task_type", "G", "i4", "groups", ""),
    Fixed("group_preferred", "G", "i4", "groups", "preferred processor type, -1 = none; if the policy groups by it"),
    Fixed("group_application", "G", "i4", "groups", "if the policy groups by it"),
    Fixed("application_max_consolidated", "A", "i8", "applications", "requests that may start as one"),
    Fixed("application_load", "A", "f8", "applications", "expected requests per second"),
    Fixed("application_relative_deadline_us", "A", "f8", "applications", "us from arrival to deadline"),
    Fixed("application_gang_size", "A", "i8", "applications", "tasks of a request, each on its own node; 1 = no gang"),
    Fixed("application_nodes", "A,P", "i8", "applications", "nodes that hold its data and have a unit of the type"),
    Fixed("application_units", "A,U/64", "u8", "applications", "units of the nodes that hold its data, one bit each"),
    Fixed("class_task_type", "T", "i4", "types", "the scenario's own task type"),
    Fixed("class_units", "T", "i4", "class_columns", "units of the lead; or [0] if no task holds several units"),
    Fixed("class_share", "T", "f8", "class_columns", "of each of them, as task_demand"),
    Fixed("class_fills", "T,P", "?", "class_columns", "no unit of the type has room for two shares"),
    Fixed("class_companion", "T,P", "f8", "class_columns", "amount of one unit of each type at the node"),
    Fixed("class_named", "T,P", "?", "class_columns", "the lead may be of the type, if a node has the rest"),
    Fixed("class_lead", "T,P", "i4", "class_columns", "the lead, of L, on each type; -1: it cannot be of that type"),
    Fixed("class_shape", "T", "i4", "class_columns", "of the lead of each class"),
    Fixed("class_types", "T,P/64", "u8", "class_columns", "the types that it can be of, one bit each"),
    Fixed("class_rank", "T,max(C 1)", "i2", "class_columns", "rank of the amount of each companion, 0: none"),
    Fixed("class_n_amounts", "TC", "i4", "class_columns", "how many amounts of each companion are up to its own"),
    Fixed("lead_type", "L", "i4", "class_columns", "processor type; leads of one type and share follow one another"),
    Fixed("lead_units", "L", "i4", "class_columns", "how many at one node; fewer first, of one type and share"),
    Fixed("lead_end", "L", "i4", "class_columns", "the lead after the last of the same type and share"),
    Fixed("lead_share", "L", "f8", "class_columns", "of each of them, as task_demand"),
    Fixed("lead_shape", "L", "i4", "class_columns", "its number of units and share, of S pairs of these"),
    Fixed("type_lead", "P+1", "i4", "class_columns", "where the leads of each type begin"),
    Fixed("companion_type", "C", "i4", "class_columns", "processor types of companions, the most frequent first"),
    Fixed("node_sole", "VC", "i4", "class_columns", "each node's only unit of the type of a companion, else -1"),
    Fixed("amounts", "amounts", "f8", "class_columns", "of the companions that any class asks for, ascending for each"),
    Fixed("amount_rank", "amounts", "i2", "class_columns", "their ranks, from 1"),
    Fixed("first_amount", "C+1", "i4", "class_columns", "where those of each companion begin"),
)

RUN = np.dtype(  # the clock and the counters
    [
        ("now_us", "f8"),
        ("timer_us", "f8"),  # when the policy wants to be called again; inf = never
        ("next_job", "i8"),  # the next job to arrive; jobs that wait for others when it is their turn are passed over
        ("next_change", "i8"),  # the next row of the list of changes
        ("n_arrived", "i8"),  # tasks below this number have arrived, or are HELD
        ("n_entered", "i8"),  # tasks that have arrived, where jobs wait for others
        ("n_pending", "i8"),  # tasks that have arrived and not started
        ("n_with_room", "i8"),  # units whose load is below their capacity
        ("n_done", "i8"),
        ("n_events", "i8"),
        ("to_ask", "i8"),  # OUTAGE or TIMER: what was done between events, which the policy sees next; else 0
        ("sees_all", "i8"),  # whether the policy is called after every event
        ("overcommits", "i8"),  # whether it may load units beyond their capacity
        ("random", "u8"),  # state of the policy's random stream
        ("last", "u8"),  # calendar: bits of the time of the last event taken
        ("levels", "u8"),  # calendar: which levels hold events
        ("chained", "i8"),  # calendar: the slot chained to the last one taken; -1: none
        ("newest", "i8"),  # calendar: the slot queued last; -1: none
        ("ahead", "i8"),  # calendar: of the bucket that is spread next, the slot fetched last; -1: none
        ("n_slots", "i8"),  # slots that were used so far
        ("spare", "i8"),  # the slot that was given back last; -1: none
        ("n_undo", "i8"),  # rows of the undo log
        ("n_marks", "i8"),  # marks that are set
        ("n_ended", "i8"),  # rows of the log of early ends
        ("n_ended_held", "i8"),  # units that these held besides their own
        ("begin_us", "f8"),  # when a policy supposes that tasks begin, if that is later than now
        ("interrupted_us", "f8"),  # when the last outages interrupted tasks
        ("n_ready", "i8"),  # serving engines whose next step begins when all events of this instant are over
        ("n_stale", "i8"),  # nodes that have changed since the index of nodes was last used; -1: it was not yet
        ("n_changes", "i8"),  # changes of nodes so far, where they are noted
        ("n_changes_seen", "i8"),  # of these, up to which any score or number of tasks is known
        ("n_changes_counted", "i8"),  # of these, up to which the numbers of tasks on nodes are known
        ("found_task", "i8"),  # for which room was found since the policy was called, and where; -1 = none
        ("found_unit", "i8"),
        ("request_task", "i8"),  # a request for which there are nodes, on units of a type, at this event; -1 = none
        ("request_type", "i8"),
        ("refused_task", "i8"),  # a gang without a place on units of a type within some nodes, at this event; -1 = none
        ("refused_type", "i8"),
        ("refused_place", "i8"),
        ("error", "i8"),  # the rule that the policy broke, or OUT_OF_TIME; 0 = none
        ("error_task", "i8"),
        ("error_unit", "i8"),
        ("error_us", "f8"),  # for OUT_OF_TIME: how long the task takes
        ("n_answered", "i8"),  # live: rows of answered in this turn
    ],
    align=True,
)
UNIT = np.dtype(
    [
        ("load", "f8"),  # demand of what is held of it
        ("open", "f8"),  # its capacity; DOWN while its node is down
        ("tasks", "i4"),  # that run on it; consolidated tasks count as one
        ("holders", "i4"),  # tasks that hold any of it
        ("type", "i4"),
        ("node", "i4"),
    ]
)
BUCKET = np.dtype([("least_us", "f8"), ("head", "i4"), ("tail", "i4")])  # of the calendar: earliest time, its slots
UNDO = np.dtype([("load", "f8"), ("unit", "i4"), ("holders", "i4")])  # a change of a load: what was before
ENGINE = np.dtype(  # a serving engine, and the stretch of steps that it runs: see core/laws/batching.py
    [
        ("at_us", "f8"),  # when the last step ended that is known to have ended
        ("end_us", "f8"),  # when the stretch ends
        ("memory_us", "f8"),  # integral over time of the tokens in memory, up to at_us
        ("end_memory_us", "f8"),  # the same up to end_us
        ("n_steps", "i8"),  # of the stretch; 0: none runs
        ("n_ended", "i8"),  # those of them that ended up to at_us
        ("grows", "i8"),  # tokens that each of them adds to the memory
        ("memory", "i8"),  # tokens in memory when the stretch began
        ("peak", "i8"),  # the most tokens in memory so far
        ("to_prefill", "i8"),  # tokens that sequences that do not decode still had to compute then
        ("prefill", "i8"),  # those of them that the stretch computes
        ("n_used", "i8"),  # blocks of memory that are allocated
        ("n_touched", "i8"),  # with prefix caching: those that were ever allocated, which come first
        ("twice", "i8"),  # tokens in memory that several sequences share, counted for each of them but one
        ("n_running", "i4"),
        ("n_waiting", "i4"),
        ("n_done", "i4"),  # sequences that are done at the end of the stretch
        ("is_ready", "i4"),  # its next step begins when all events of this instant are over
        ("head", "i4"),  # first waiting slot
        ("tail", "i4"),
        ("oldest", "i4"),  # the first and the last of the free blocks that were allocated before
        ("newest", "i4"),
    ],
    align=True,
)
BLOCK = np.dtype(  # of the memory of an engine with prefix caching: see core/laws/blocks.py
    [
        ("holders", "i4"),  # sequences in the steps that have it; 0: it is free
        ("owner", "i4"),  # who may find it again: a waiting slot, NOBODY, or a prefix below that
        ("before", "i4"),  # the block of the tokens before its own; -1: none
        ("older", "i4"),  # free: the blocks before and after it in the queue
        ("newer", "i4"),
    ]
)
CHAIN = np.dtype([("n", "i4"), ("last", "i4")])  # blocks of a prefix that an engine has, and the last of them
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
CHANGE = np.dtype(  # a row of the list of changes of nodes and jobs
    [
        ("at_us", "f8"),
        ("step", "i8"),  # rows of one time and step happen together, later steps of a time after them
        ("what", "i8"),
        ("index", "i8"),  # of the node or the job
        ("why", "i8"),  # of GOES_DOWN: the outcome of the segments that it ends; 0: it ends none
        ("n_down", "i4"),  # of a node: how many of its outages there are then
        ("is_last", "?"),  # from this row on nodes can only fail, which starts nothing
    ],
    align=True,
)
UP, GOES_DOWN, WITHDRAWS, MORE = range(4)  # in this order in one step; MORE: further failures are to be drawn
ORDER = np.dtype([("what", "i8"), ("task", "i8"), ("unit", "i8")])  # what is carried out from outside the loop
ANSWERED = np.dtype([("kind", "i8"), ("task", "i8")])  # START, DROP, or NOTHING for a request that was withdrawn
ARRIVES, MOVES, STARTS = range(3)  # the next job, a running task, a pending task
SLOT = (  # a segment: a task on its units, from when it gets them until it leaves; each field with what needs it
    ("end_us", "f8", ""),  # when it ends, as currently known
    ("next", "i4", ""),  # calendar: of the same bucket; of those given back: the next one
    ("previous", "i4", "not CHAINS"),
    ("chain", "i4", "CHAINS"),  # the slot that was queued right after it, for the same time
    ("task", "i4", ""),  # -1: it was given back
    ("unit", "i4", "SLOTS"),
    ("killed", "i4", "LIMITS"),  # 1: its limit ends it
    ("event", "i8", "EARLY"),  # number of the event at which it began
    ("before_us", "f8", "EARLY"),  # transfer and restart, before its work
    ("work_us", "f8", "EARLY"),  # us of work, with that of its followers
    ("due", "f8", "SHARED"),  # shared speed: the service of the unit at which it is done, or what is left of it
    ("next_on_unit", "i4", "LINKS"),  # the next slot on the same unit; -1: none
    ("there_us", "f8", "AHEAD"),  # when its data is there
    ("prompt", "i4", "BATCHING"),  # of a sequence: tokens of its prompt
    ("total", "i4", "BATCHING"),  # tokens of its prompt and of its answer so far
    ("computed", "i4", "BATCHING"),  # those of them that are in memory
    ("left", "i4", "BATCHING"),  # tokens of its answer that are not there yet
    ("new", "i4", "BATCHING"),  # tokens that the next step computes
    ("blocks", "i4", "BATCHING"),  # blocks of memory that it has
    ("after", "i4", "BATCHING"),  # the next waiting slot
    ("last", "i4", "BATCHING"),  # with prefix caching: the last of its blocks; once put back, of those it may find
    ("shared", "i4", "BATCHING"),  # its first blocks, which are those of its prefix
    ("found", "i4", "BATCHING"),  # once put back: the blocks after these that were not used since
    ("sent", "i4", "DISAGGREGATED"),  # tokens that another engine computed, until it is in a step
)


class Changing(NamedTuple):
    """An array of the state. ``needs`` names the feature without which it has no elements (core/features.py);
    ``resets`` says when it is reset before another run of the same scenario."""

    name: str
    size: str
    dtype: Any
    needs: str
    fill: Any
    meaning: str
    resets: str = "always"


IF_CUT_OFF = "if cut off"  # a run that ends all its tasks leaves it as it was, or writes each element before it is read
NEVER = "never"  # each element is written before it is read

STATE = (
    Changing("run", "1", RUN, "", 0, "clock and counters"),
    Changing("task_init_us", "N", "f8", "LATER", np.nan, "when the unit was free for it", IF_CUT_OFF),
    Changing("task_start_us", "N", "f8", "", np.nan, "when its data was there too", IF_CUT_OFF),
    Changing("task_finish_us", "N", "f8", "", np.nan, "when it finishes, as far as known, or was dropped", IF_CUT_OFF),
    Changing("task_unit", "N", "i4", "", PENDING, "where the task runs or ran, or PENDING, ATTACHED, HELD, DROPPED"),
    Changing("task_granted_us", "N", "f8", "AHEAD", np.nan, "when it was given to the unit"),
    Changing("task_follower", "N", "i4", "CONSOLIDATES", -1, "the next follower of the same leader, -1 = none"),
    Changing("task_slot", "N", "i4", "TRACKS", -1, "its segment, -1 = it does not run, or as a follower"),
    Changing("task_left", "N", "f8", "EARLY", 1.0, "share of its work that was left when it was last given to a unit"),
    Changing("task_attained_us", "N", "f8", "EARLY", 0, "us on the units that it has left"),
    Changing("task_began", "N", "u1", "EARLY", 0, "it was given to a unit before"),
    Changing("task_killed", "N", "u1", "LIMITS", 0, "its limit has ended it"),
    Changing("cut", "1,N/64", "u8", "CHANGES", 0, "the tasks that the last outages interrupted, one bit each"),
    Changing("cut_1", "1,N/4096", "u8", "CHANGES", 0, "which words of these are not 0"),
    Changing("cut_2", "1,N/64^3", "u8", "CHANGES", 0, "which words of those are not 0"),
    Changing("job_waits", "J", "i4", "AFTER", 0, "how many jobs that are not over it waits for"),
    Changing("job_left", "J", "i8", "AFTER", 0, "how many of its tasks are not over"),
    Changing("job_eligible_us", "J", "f8", "AFTER", np.nan, "when it arrived, and no job that it waits for was left"),
    Changing("arrived", "N", "i4", "AFTER", 0, "the tasks in the order in which they arrived"),
    Changing("ready", "1,J/64", "u8", "AFTER", 0, "jobs that were passed over and wait no more, one bit each"),
    Changing("ready_1", "1,J/4096", "u8", "AFTER", 0, "which words of these are not 0"),
    Changing("ready_2", "1,J/64^3", "u8", "AFTER", 0, "which words of those are not 0"),
    Changing("running", "1,N/64", "u8", "LISTS_RUNNING", 0, "the running tasks, leaders only, one bit each"),
    Changing("running_1", "1,N/4096", "u8", "LISTS_RUNNING", 0, ""),
    Changing("running_2", "1,N/64^3", "u8", "LISTS_RUNNING", 0, ""),
    Changing("ended", "log", ENDED, "EARLY", None, "log of early ends; more room is made between calls of the loop"),
    Changing("ended_held", "log,2", "i8", "EARLY", None, "of these: row, and a unit that it held besides its own"),
    Changing("listed", "list", CHANGE, "CHANGES", None, "changes of nodes and jobs that are known so far, in order"),
    Changing("orders", "list", ORDER, "", None, "what is carried out before the next event, from outside the loop"),
    Changing("unit", "U", UNIT, "", 0, "load and what else changes of a unit", IF_CUT_OFF),
    Changing("free", "P+1,U/64", "u8", "", 0, "units with room, one bit each; row P is all types", IF_CUT_OFF),
    Changing("free_1", "P+1,U/4096", "u8", "", 0, "which words of these are not 0", IF_CUT_OFF),
    Changing("free_2", "P+1,U/64^3", "u8", "", 0, "which words of those are not 0", IF_CUT_OFF),
    Changing("lowest", "P+1", "i8", "", 0, "first unit with room of each row of free; U: there is none", IF_CUT_OFF),
    Changing("free_count", "P+1,U/4096", "i8", "COUNTS_FREE", 0, "units with room per block of 4096", IF_CUT_OFF),
    Changing("type_level", "P", "i8", "AHEAD", 0, "tasks that each unit of a type has, before any takes one more"),
    Changing("answered", "N", ANSWERED, "LIVE", None, "what was done with tasks in a turn"),
    Changing("unit_left_us", "U", "f8", "AHEAD", -np.inf, "live: when a task last left it"),
    Changing("heads", "1,heads/64", "u8", "", 0, "the first pending task of each group, one bit each"),
    Changing("heads_1", "1,heads/4096", "u8", "", 0, ""),
    Changing("heads_2", "1,heads/64^3", "u8", "", 0, ""),
    Changing("group_head", "G", "i8", "", 0, "first task that has not started (it may not have arrived)"),
    Changing("group_pending", "G", "i8", "", 0, "tasks that have arrived and not started"),
    Changing("bucket", "buckets", BUCKET, "", 0, "calendar: the slots in each bucket", IF_CUT_OFF),
    Changing("used", "buckets/64", "u8", "", 0, "calendar: which buckets of a level hold slots", IF_CUT_OFF),
    Changing("slot", "slots", "SLOT", "not LIVE", None, "segments", NEVER),
    Changing("work_done", "U", "f8", "SHARED", 0, "us of full-speed service that each task of a unit has had"),
    Changing("work_at_us", "U", "f8", "SHARED", 0, "the time of that figure"),
    Changing("work_first", "U", "i8", "LINKS", -1, "first slot on a unit, -1 = none"),
    Changing("work_event", "U", "i8", "SHARED", -1, "the slot whose end is in the calendar, -1 = none"),
    Changing("engine", "E", ENGINE, "BATCHING", 0, "serving engines"),
    Changing("engine_end_us", "2,ends", "f8", "BATCHING", np.inf, "ends of their stretches: trees of the least"),
    Changing("ready_engine", "E", "i4", "BATCHING", 0, "the first n_ready: engines whose next step is to begin"),
    Changing("batch", "batch", "i4", "BATCHING", None, "slots of the running sequences of each engine", NEVER),
    Changing("block_need", "blocks", "i8", "BATCHING", None, "sequences by their tokens in their last block", NEVER),
    Changing("block", "cached", BLOCK, "BATCHING", None, "blocks of the engines that cache prefixes", NEVER),
    Changing("chain", "chains", CHAIN, "BATCHING", 0, "what each engine has of each prefix, by prefix"),
    Changing("task_found", "N", "i8", "BATCHING", 0, "tokens that it found in memory when it was scheduled first"),
    Changing("task_scheduled_us", "N", "f8", "BATCHING", np.nan, "when an engine first computed something for it"),
    Changing("task_first_us", "N", "f8", "BATCHING", np.nan, "when its first token was there"),
    Changing("task_preempted", "N", "i8", "BATCHING", 0, "how often it was put back"),
    Changing("task_prefilled", "N", "i4", "DISAGGREGATED", -1, "the unit that only prefilled it, -1 = none"),
    Changing("held_unit", "H", "i4", "SEVERAL", -1, "units that each task holds, or held last, besides its own"),
    Changing("undo", "undos", UNDO, "TRIALS", None, "changes since the first mark", NEVER),
    Changing("quota_held", "quotas", "f8", "QUOTAS", 0, "what the tasks of its accounts hold"),
    Changing("quota_tasks", "quotas", "i8", "QUOTAS", 0, "how many tasks that is"),
    Changing("quota_noted", "quotas", "f8", "QUOTAS", None, "during a trial: what they held before", NEVER),
    Changing("quota_noted_tasks", "quotas", "i8", "QUOTAS", None, "in the same way: how many", NEVER),
    Changing("pool_mw", "pools", "i8", "CAPS", 0, "what the units of each rack draw, then those of the datacenter"),
    Changing("peak_mw", "pools", "i8", "CAPS", 0, "the most that each of these has drawn so far"),
    Changing("unit_level", "U", "i8", "CAPS", 0, "what the tasks that hold a unit add up to, for its power"),
    Changing("undo_level", "undos", "i8", "CAPS", None, "of each row of undo: that level before", NEVER),
    Changing("gang_unit", "members", "i4", "GANGS", -1, "by member of a gang: its unit in the place found last"),
    Changing("node_members", "V", "i4", "GANGS", 0, "while a place is looked for: items at each node"),
    Changing("gang_mark", "members", "i8", "GANGS", 0, "in the same way: where the undo log was before each item"),
    Changing("node_offer", "V", "i4", "GANGS", 0, "in the same way: members that each node could take"),
    Changing("node_change", "V", "i8", "NOTES_NODES", 0, "the number of its last change"),
    Changing("changed_node", "changes", "i4", "NOTES_NODES", 0, "the node of each of the last changes, a ring"),
    Changing("node_score", "T,V", "i4", "SCORES", 0, "score for a task type, UNFIT: none of its units has room"),
    Changing("node_score_1", "T,V/64", "i4", "SCORES", 0, "the highest of each 64 of these"),
    Changing("node_score_2", "T,V/4096", "i4", "SCORES", 0, "the highest of each 64 of those"),
    Changing("class_seen", "T", "i8", "SCORES", -1, "the change up to which its scores are known, -1: none is"),
    Changing("class_score", "T", "i8", "SCORES", 0, "the number of the function that these are of"),
    Changing("node_offers", "V',SP/64", "u8", "OFFERS", 0, "types of which a node has room for a lead of a shape"),
    Changing("node_fitting", "VC", "i4", "OFFERS", 0, "how many of the amounts of each companion it has room for"),
    Changing("node_class_tasks", "V,T", "i4", "COUNTS_CLASSES", 0, "tasks of each type that run on a node"),
    Changing("node_busy", "P,V", "i4", "COUNTS_TASKS", UNFIT, "its tasks, negated; UNFIT: no unit of the type has any"),
    Changing("node_busy_1", "P,V/64", "i4", "COUNTS_TASKS", UNFIT, "the highest of each 64 of these"),
    Changing("node_busy_2", "P,V/4096", "i4", "COUNTS_TASKS", UNFIT, "the highest of each 64 of those"),
    Changing("node_room", "room rows,L+C-1", "i2", "INDEX", 0, "index of nodes with room: core/node_index.py"),
    Changing("node_is_stale", "V", "u1", "INDEX", 0, "the node has changed, and node_room does not know"),
    Changing("stale_node", "V", "i4", "INDEX", 0, "the first n_stale are those nodes"),
)
FIELDS = (("unit_load", "load"), ("unit_open", "open"), ("unit_tasks", "tasks"))  # of unit, which policies read by name


def ndim(row: Fixed | Changing) -> int:
    """The number of dimensions of an array."""
    return row.size.count(",") + 1


ModelArrays = namedtuple("ModelArrays", [row.name for row in MODEL])  # type: ignore[misc]  # noqa: PYI024
StateArrays = namedtuple(  # type: ignore[misc]  # noqa: PYI024
    "StateArrays", [*(row.name for row in STATE), *(name for name, _ in FIELDS)]
)
