"""The promises of policies: order, no idling, and requests that are met."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tests.demands import takes
from tests.invariants.facts import Facts

SLACK = 1e-9
IN_ORDER = {"fcfs", "symphony", "symphony_recommended", "deadline_consolidation"}  # within each application
IN_ORDER_TOGETHER = {"edf", "edf_drop", "least_laxity"}  # the same with consolidate=yes
MEETS_REQUESTS = {"easy_backfill", "conservative_backfill", "earliest_completion"}
MEETS_REQUESTS |= {"rb_fifo", "rb_sjf", "rb_ljf", "llf", "ff", "ffd", "bf", "bfd", "dcbf", "abf"}


def in_order_of_arrival(facts: Facts) -> Iterator[str]:
    """Under a policy that declares it, no task starts before an older one has started or was withdrawn."""
    if not facts.policy.starts_in_order or facts.outages or facts.scenario.is_disaggregated:
        return  # what is prefilled waits once more
    if any(one.quota or one.user_quota for one in facts.scenario.partitions):
        return  # whoever waits for a quota holds up nobody
    gone = [math.inf] * facts.work.n_jobs if facts.work.withdraw_us is None else facts.work.withdraw_us
    given = [facts.given(task) for task in range(facts.work.n_tasks)]
    until = [gone[facts.job[task]] if facts.is_missing(begin) else begin for task, begin in enumerate(given)]
    yield from overtaken(facts, range(facts.work.n_tasks), until)


def overtaken(facts: Facts, tasks: Sequence[int], until: Mapping[int, float] | Sequence[float]) -> Iterator[str]:
    """Return the tasks, given in order of arrival, that begin while an older eligible one waits."""
    since = [facts.eligible[facts.job[task]] for task in tasks]
    for place, task in enumerate(tasks):
        begin = facts.given(task)
        for older in range(place) if not facts.is_missing(begin) else ():
            if since[older] <= begin < until[tasks[older]]:
                yield f"task {task} starts before task {tasks[older]}"
                break


def order_within_an_application(facts: Facts) -> Iterator[str]:
    """Requests of one application start in the order in which they came, those of each partition by themselves."""
    name, work = facts.policy.name, facts.work
    keeps = name in IN_ORDER or (name in IN_ORDER_TOGETHER and facts.policy.consolidate == "yes")
    if not keeps or not facts.scenario.applications or facts.scenario.outages:
        return
    if any(one.quota or one.user_quota for one in facts.scenario.partitions):
        return  # whoever waits for a quota holds up nobody
    partition = facts.scenario.job_partition.tolist()
    mine: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    has_users = any(one.users for one in facts.scenario.reservations)  # then each user's requests are in an order
    for row in facts.folder.tasks:
        if row["unit"] >= 0:
            user = int(work.user[row["job"]]) if has_users else 0
            mine[int(work.application[row["job"]]), user, partition[row["job"]]].append(row["task"])
    for (code, *_), tasks in mine.items():
        for text in overtaken(facts, tasks, {task: facts.given(task) for task in tasks}):
            yield f"{text} of application {code}"


def no_unit_idles_while_a_task_waits(facts: Facts) -> Iterator[str]:
    """Under a policy that declares it, no unit with room idles while tasks of equal demands wait."""
    demands = np.array(facts.demand)
    is_equal = np.isnan(demands).all() or (demands == demands[0]).all()
    if facts.work.withdraw_us is not None:
        return  # what is withdrawn waits no more
    if not facts.policy.work_conserving or facts.is_batch or not is_equal or facts.policy.may_overcommit:
        return
    asks_more = facts.scenario.datacenter.has_power_caps or facts.scenario.reservations
    if facts.work.has_vectors or asks_more:  # what they lacked is explained
        return
    capacity = np.array([facts.capacity(unit) for unit in range(facts.n_units)])
    speed = facts.scenario.affinity[facts.unit_type][:, facts.kind]
    last_begin = [np.inf if math.isnan(facts.given(task)) else facts.given(task) for task in range(len(facts.job))]
    is_endless = np.isinf(facts.work.operations).any()
    for time in facts.moments:
        if time == facts.scenario.horizon_us or (is_endless and time == facts.makespan):
            continue  # what was to come then, or runs on, was cut off
        load = np.array([facts.load(unit, time) for unit in range(facts.n_units)])
        is_up = np.array([not facts.is_down(unit, time) for unit in range(facts.n_units)])
        for task, begin in enumerate(last_begin):
            is_there = any(h.begin <= time < h.end for h in facts.holds_of.get(task, ()))
            if not facts.eligible[facts.job[task]] <= time or begin <= time or is_there or facts.is_on_nodes(task):
                continue
            needs = takes(facts.demand[task], capacity)
            room = (load + needs <= capacity * (1 - SLACK)) & (load < capacity * (1 - SLACK))
            room |= (load < capacity * SLACK) & (needs <= capacity)
            idle = np.flatnonzero(room & is_up & (speed[:, task] > 0))
            if len(idle):
                yield f"at {time} task {task} waits while units {idle.tolist()} have room"


def requests_are_met(facts: Facts) -> Iterator[str]:
    """A unit's type provides what its tasks request, of what it has."""
    name, options = facts.policy.name, facts.policy
    is_strict = name in MEETS_REQUESTS or (name == "optimal" and options.requests == "strict")
    if not is_strict or facts.work.requests is None:
        return
    for hold in facts.folder.holds:
        if hold.part > 0:
            continue  # what it holds besides the unit that it runs on
        provided = facts.types[facts.unit_type[hold.unit]].attributes
        for resource, wanted in facts.work.requests.items():
            if wanted[hold.task] > provided.get(resource, np.inf):
                yield f"task {hold.task} ran on unit {hold.unit}, which has too little of {resource}"
