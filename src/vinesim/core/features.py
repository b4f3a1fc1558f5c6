"""What a run needs of the core: facts about its scenario, and about the queries that its policy calls.

Kernels test these names like constants: ``if GANGS: ...``. ``core/special.py`` binds them before it compiles a loop, so
a branch that is not needed costs nothing and is not even typed. A feature is a fact, never a tuning knob: a loop with
more features than a run needs gives the same results. With the values in this file, nothing is left out.

This module also says which kernels remain calls. The others are inlined where they are called: short steps, and steps
that most tasks go through.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_GANG
from vinesim.state.layout import OF_REQUEST, has_shared_speed

# Facts about a scenario
SLOTS = True  # several tasks may run on a unit: each segment has its own slot; else it has that of its unit
SEVERAL = True  # tasks hold several units
GANGS = True  # tasks of a job start together
REQUESTS = True  # ... as tasks of a request, each on its own node
QUOTAS = True  # jobs have partitions, and accounts with quotas
CAPS = True  # racks or the datacenter have power caps
RESERVED = True  # nodes are reserved for a time
SHARED = True  # tasks may share the speed of a unit
CURVES = True  # ... each task type by its own speed curve
BATCHING = True  # some units are serving engines
DISAGGREGATED = True  # ... that only prefill, or only decode
EARLY = True  # a segment may end before its task is done, or never
LIMITS = True  # ... by the limit of its job
CHANGES = True  # ... as nodes go down or jobs are withdrawn
PLACED = True  # some tasks run from the beginning
AFTER = True  # jobs wait for others
AHEAD = True  # units take tasks ahead while they compute others
DATA = True  # tasks transfer data
TIMES = True  # execution times are measured, not operations / affinity
FACTORS = True  # true times differ from what the policy sees
OVERHEAD = True  # there are times before a task computes
GROUPS = True  # pending tasks are of more than one group

# Facts about a policy
PREEMPTS = True  # it preempts or moves running tasks
TRIALS = True  # loads are changed for a while, and put back
CONSOLIDATES = True  # it starts several tasks as one
OVERCOMMITS = True  # it may load units beyond their capacity
REFUSES = True  # it drops tasks
BATCH = True  # its answers come from outside the loop
SEES_ALL = True  # it is called after every event
SCORES = True  # it scores nodes
COUNTS_CLASSES = True  # it asks how many tasks of a type run on a node
COUNTS_TASKS = True  # it looks for the least busy of many nodes
COUNTS_FREE = True  # it draws one of the units with room
LISTS_RUNNING = True  # it goes through the running tasks
EVERYWHERE = True  # it asks for units with room of any type
SEARCHES = True  # it searches for units, not only for nodes

# What follows
WHOLE = False  # tasks take whole units and leave them when they are done: a unit is idle or full, whatever its load is
CHAINS = False  # no end is ever cancelled: segments that end at one time are chained
TRACKS = True  # each running task knows its slot
LINKS = True  # the slots of a unit are linked
LATER = True  # what a unit was given may begin later
NOTES_NODES = True  # changes of nodes are noted
OFFERS = True  # what nodes have room for is kept in a table, for scores
INDEX = True  # the index of nodes with room is kept

# A live scheduler instead of a run (core/turn.py)
LIVE = False  # events come from outside, and no end is foreseen: no segment has a slot

Features = frozenset[str]  # the names of those that hold

ALL: Features = frozenset(name for name, value in globals().items() if isinstance(value, bool))
CALLS = {  # of a policy that calls any of these
    "TRIALS": {
        "begin_trial",
        "fastest_free_after",
        "fastest_free_without",
        "victims_for",
        "has_place_without",
        "note_place",
        "note_rows",
        "room_at",
    },
    "PREEMPTS": {"preempt", "move"},
    "CONSOLIDATES": {"start_consolidated", "Action"},
    "REFUSES": {"drop", "Action"},
    "SCORES": {"best_node", "random_node", "node_tasks_of"},
    "COUNTS_CLASSES": {"node_tasks_of"},
    "COUNTS_TASKS": {"least_busy"},
    "COUNTS_FREE": {"random_free"},
    "LISTS_RUNNING": {"next_running"},
    "EVERYWHERE": {"first_free", "closest_free", "random_free"},
    "SEARCHES": {"closest_free", "fastest_free", "fastest_free_without", "first_free", "is_available", "least_busy"},
}
FEW = 32  # nodes: up to this number they are looked at one by one for the least busy one


def features_of(
    scenario: Scenario,
    model: Any,
    calls: frozenset[str],
    is_batch: bool,
    ends_early: bool,
    overcommits: bool,
    sees_all: bool,
) -> Features:
    """Return the features of a run.

    ``calls`` are the names of all that the policy's function calls; ``is_batch`` says that it stands for a batch
    policy, ``ends_early`` that segments may end before their tasks are done.
    """
    work = scenario.workload
    facts = {
        "SLOTS": len(model.task_demand) > 0 or overcommits or is_batch,
        "SEVERAL": len(model.class_units) > 0,
        "GANGS": len(model.job_gang) > 0 and bool((model.job_gang != NO_GANG).any()),
        "REQUESTS": len(model.job_gang) > 0 and bool((model.job_gang == OF_REQUEST).any()),
        "QUOTAS": len(model.job_partition) > 0,
        "CAPS": scenario.datacenter.has_power_caps,
        "RESERVED": bool(scenario.reservations),
        "SHARED": has_shared_speed(model),
        "CURVES": len(model.type_curve) > 0,
        "BATCHING": len(model.engine_unit) > 0,
        "DISAGGREGATED": scenario.is_disaggregated,
        "EARLY": ends_early,
        "LIMITS": work.limit_us is not None,
        "CHANGES": scenario.has_changes,
        "PLACED": work.placed is not None,
        "AFTER": work.after is not None,
        "AHEAD": len(model.type_ahead) > 0,
        "DATA": work.has_data,
        "TIMES": scenario.single_times_us is not None,
        "FACTORS": work.time_factor is not None,
        "OVERHEAD": scenario.overhead_us is not None,
        "GROUPS": len(model.group_task_type) > 1,
        "OVERCOMMITS": overcommits,
        "BATCH": is_batch,
        "SEES_ALL": sees_all,
    }
    of_policy = of_calls(calls)
    if "COUNTS_TASKS" in of_policy and "SCORES" not in of_policy and len(model.node_rack) <= FEW:
        of_policy -= {"COUNTS_TASKS"}
    return with_what_follows(of_policy.union(name for name, holds in facts.items() if holds))


def of_live(calls: frozenset[str], takes_ahead: bool) -> Features:
    """Return the features of a live scheduler, to which any application may come, with a policy that calls these."""
    facts = {"SLOTS", "GANGS", "REQUESTS", "CHANGES", "OVERHEAD", "GROUPS", "CONSOLIDATES", "REFUSES", "OVERCOMMITS"}
    facts |= {"SEES_ALL", "EVERYWHERE", "COUNTS_FREE", "SEARCHES", "LIVE"}
    return with_what_follows(of_calls(calls) | facts | ({"AHEAD"} if takes_ahead else set()))


@lru_cache(1000)
def of_calls(calls: frozenset[str]) -> Features:
    """Return the features of a policy that calls these."""
    return frozenset(name for name, queries in CALLS.items() if not queries.isdisjoint(calls))


@lru_cache(1000)
def with_what_follows(facts: frozenset[str]) -> Features:
    """Return facts with the features that follow from them."""
    follows = {
        "SLOTS": not facts.isdisjoint(("SLOTS", "SEVERAL", "AHEAD")),
        "DISAGGREGATED": {"BATCHING", "DISAGGREGATED"} <= facts,
        "TRIALS": not facts.isdisjoint(("TRIALS", "GANGS")),
        "WHOLE": facts.isdisjoint(
            ("SLOTS", "SEVERAL", "EARLY", "SHARED", "BATCHING", "GANGS", "CAPS", "RESERVED", "AHEAD")
        ),
        "CHAINS": facts.isdisjoint(("EARLY", "SHARED", "BATCHING")),
        "TRACKS": not facts.isdisjoint(("EARLY", "BATCH")),
        "LINKS": not facts.isdisjoint(("SHARED", "AHEAD")),
        "LATER": not facts.isdisjoint(("DATA", "AHEAD", "DISAGGREGATED", "LIVE")),
        "NOTES_NODES": not facts.isdisjoint(("SCORES", "COUNTS_TASKS")),
        "OFFERS": {"SCORES", "SEVERAL"} <= facts,
        "INDEX": "SEVERAL" in facts and ("SCORES" not in facts or not facts.isdisjoint(("GANGS", "SEARCHES"))),
    }
    return frozenset((facts - follows.keys()) | {name for name, holds in follows.items() if holds})


def rounded(features: Features) -> Features:
    """Return the features of a loop that many runs share: all that a scenario of its kind may need."""
    kinds = (
        {
            "DATA",
            "TIMES",
            "FACTORS",
            "OVERHEAD",
            "GROUPS",
            "REFUSES",
            "SEES_ALL",
            "EVERYWHERE",
            "COUNTS_FREE",
            "SEARCHES",
        },
        {"SLOTS", "SHARED", "CURVES", "OVERCOMMITS"},
        {"EARLY", "LIMITS", "CHANGES", "PLACED"},
        {"SEVERAL", "GANGS", "TRIALS"},  # not quotas and requests, a sixth of that code, which few scenarios have
    )
    found = set(features) | kinds[0]
    for kind in kinds[1:]:
        if not features.isdisjoint(kind):
            found |= kind
    return with_what_follows(frozenset(found))


Function = TypeVar("Function", bound=Callable[..., object])


def called(function: Function) -> Function:
    """Mark a kernel that remains a call: it is long or seldom needed, so inlining it would only cost compilation
    time."""
    function.is_called = True  # type: ignore[attr-defined]
    return function
