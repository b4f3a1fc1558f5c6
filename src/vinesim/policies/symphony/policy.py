"""Symphony: the most urgent application issues its oldest requests to the resource that suits them best."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.requests.registered import average_load, can_use, max_consolidated, most_as_one
from vinesim.policies.requests.slowdown import slowdown_at
from vinesim.policies.symphony.consolidation import consolidated_operations, trimmed
from vinesim.policies.symphony.history import HISTORY_SCRATCH, LONGEST, is_known, observe, predict
from vinesim.policies.symphony.urgency import load_of, slack_us, urgency
from vinesim.state.queries import (
    deadline_us,
    demand,
    group,
    group_size,
    is_allowed,
    is_available,
    least_busy,
    more_at_once,
    next_pending,
    nothing,
    oldest_pending,
    operations,
    operations_started,
    start_consolidated,
    started_us,
    task_type,
)
from vinesim.state.scratch import TASK_ID_PLUS_1


@dataclass(frozen=True)
class Symphony(OnlinePolicy):
    """Algorithm 1: the application of highest urgency issues up to its limit of requests, on its best resource.

    A resource is a processor type; among its units, one on the node with the fewest running tasks is used. Times are
    learned. The defaults follow the paper literally wherever its text is unambiguous; ``symphony_recommended`` differs.

    ``urgency``: how it follows from slack (eq. 2); ``power``: the exponent of polynomial; ``slack_unit_us``: the unit
    of slack in an exponential. ``resource``: the reading of eq. 5 among available types: ``signed`` takes the most
    slack, ``absolute`` the smallest |U|, ``fit`` the smallest slack that is not negative, else the most; with ``wait``
    an application whose best type is taken waits for it. ``order``: applications by signed U or by |U|. ``load``: eq. 4
    ``literal``, ``fixed`` so that load always increases urgency, or ``off``; ``load_tau_us``: average the pending
    requests over this time (0: the present number). ``estimate``: of the ``head``, or of all requests to be
    ``consolidated``. ``trim``: consolidate only as many as let the first request be on time. ``defer``: hold an
    application that would be late on every available type but not on a busy one; ``bounded``: only if that one is
    expected to be free in time, and consolidating ``backlog`` times takes all that the application has pending.
    ``contention``: estimates consider how many share a unit. ``prior``: the estimate of a type without history,
    ``zero`` or the longest of the ``other`` types. ``window``: number of observations that the model uses, at most 256.

    Requests of an application wait in queues of their own if they demand different things, count against different
    quotas, or are admitted by different reservations. They never start as one, and each queue has its own load, urgency
    and history.

    Ties: first application of the workload, fastest type, then (rack, shelf). Cost per decision: applications with
    pending requests x processor types; the nodes that have changed.
    """

    name: ClassVar[str] = "symphony"
    source: ClassVar[str] = "Symphony paper, section IV and Algorithm 1"
    sees_every_event: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True  # what it keeps of a task is read when that finishes
    takes_dependencies: ClassVar[bool] = True
    unsupported_because: ClassVar[str] = "its gangs are those of applications, with a gang_size"
    groups: ClassVar[tuple[str, ...]] = ("application",)
    scratch: ClassVar = {
        **HISTORY_SCRATCH,
        "learned": ("i8", "one"),  # the task of the last completion that was learned from, + 1
        "slowdown": ("f8", "tasks"),  # of each running task, when it started
        "expected_us": ("f8", "units"),  # when the last start on a unit is expected to end
        "load_mean": ("f8", "groups"),  # of the pending requests, over load_tau_us
        "load_now": ("f8", "groups"),  # pending requests when the mean was last updated
        "load_at_us": ("f8", "groups"),
    }
    task_numbers: ClassVar = {"learned": TASK_ID_PLUS_1}

    urgency: Literal["linear", "polynomial", "exponential"] = "polynomial"
    power: float = 3.0
    slack_unit_us: float = 1000.0
    resource: Literal["signed", "absolute", "fit", "wait"] = "signed"
    order: Literal["signed", "absolute"] = "signed"
    load: Literal["literal", "fixed", "off"] = "literal"
    load_tau_us: float = 0.0
    estimate: Literal["head", "consolidated"] = "head"
    trim: bool = False
    defer: Literal["no", "yes", "bounded"] = "no"
    backlog: int = 2
    contention: bool = False
    prior: Literal["zero", "other"] = "zero"
    window: int = LONGEST

    def __post_init__(self) -> None:
        problems = []
        if not 0.1 <= self.power <= 1000:
            problems.append(Problem(("policy", "options", "power"), "a number from 0.1 to 1000", f"{self.power}"))
        if not self.backlog >= 0:
            problems.append(Problem(("policy", "options", "backlog"), "0 or more", f"{self.backlog}"))
        if not 1 <= self.window <= LONGEST:
            problems.append(Problem(("policy", "options", "window"), f"1 to {LONGEST}", f"{self.window}"))
        if not 0 < self.slack_unit_us < math.inf:
            problems.append(Problem(("policy", "options", "slack_unit_us"), "a time above 0", f"{self.slack_unit_us}"))
        if problems:
            raise InputError(problems)

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return first_ranked(model, state, view, by_urgency)


def first_ranked(model: Any, state: Any, view: Any, rank: Callable[[Any, Any, float], float]) -> Any:
    """The answer of Algorithm 1: the candidate of the application that ``rank(state, view, urgency)`` puts highest."""
    learn(model, state, view)
    if more_at_once(model, state):
        return nothing()
    best, best_group, best_value, best_type = -1, -1, 0.0, -1
    task = oldest_pending(model, state)
    while task >= 0:
        g = group(model, state, task)
        processor_type, urgency = candidate(model, state, view, g, task)
        value = rank(state, view, urgency) if processor_type >= 0 else 0.0
        is_better = value > best_value or (value == best_value and g < best_group)
        if processor_type >= 0 and (best < 0 or is_better):
            best, best_group, best_value, best_type = task, g, value, processor_type
        task = next_pending(model, state, task)
    if best < 0:
        return nothing()
    return issued(model, state, view, best_group, best, best_type)


def by_urgency(state: Any, view: Any, urgency: float) -> float:
    """The most urgent application first."""
    return urgency


def row_of(model: Any, g: int, processor_type: int) -> int:
    """Return the row of the history table for a group on a processor type."""
    return g * len(model.affinity) + processor_type


def learn(model: Any, state: Any, view: Any) -> None:
    """Add a completion to the history, once."""
    scratch = view.scratch
    if view.task < 0 or scratch.learned[0] == view.task + 1:
        return
    scratch.learned[0] = view.task + 1
    size = operations_started(model, state, view.task)
    if size == math.inf:  # a limit has ended it
        return
    took = view.now_us - started_us(model, state, view.task)
    if view.options.contention:
        left = state.unit_load[view.unit] + demand(model, state, view.task, view.unit)
        took /= 0.5 * (max(1.0, scratch.slowdown[view.task]) + slowdown_at(model, state, view.task, view.unit, left))
    row = row_of(model, group(model, state, view.task), model.unit_type[view.unit])
    observe(scratch, row, view.options.window, size, took)


def slowdown_with(model: Any, state: Any, task: int, unit: int) -> float:
    """Return how much slower than alone a task runs if it joins the tasks on the unit."""
    return slowdown_at(model, state, task, unit, state.unit_load[unit] + demand(model, state, task, unit))


def candidate(model: Any, state: Any, view: Any, g: int, task: int) -> tuple[int, float]:
    """Return the resource for the application whose first request is ``task``, and its urgency there; resource -1: none
    is available, or the application is held."""
    options = view.options
    load = load_of(pending(model, state, view, g, task), average_load(model, g))
    most, slack_most = -1, 0.0  # the available type with the most slack
    least, slack_least = -1, 0.0  # the one with the smallest slack that is not negative
    near, slack_near = -1, 0.0  # the one with the smallest |slack|
    busy, slack_busy = -1, 0.0  # the taken type with the most slack
    own_type = task_type(model, state, task)
    for i in range(model.ranking.shape[1]):
        p = model.ranking[own_type, i]
        if p < 0:
            break
        if not can_use(model, g, p):
            continue
        is_free = is_available(model, state, task, p)
        slack = slack_of(model, state, view, g, task, p, is_free)
        if not is_free:
            if (busy < 0 or slack > slack_busy) and could_run(model, state, view, g, task, p, slack):
                busy, slack_busy = p, slack
            continue
        if most < 0 or slack > slack_most:
            most, slack_most = p, slack
        if slack >= 0.0 and (least < 0 or slack < slack_least):
            least, slack_least = p, slack
        if near < 0 or abs(slack) < abs(slack_near):
            near, slack_near = p, slack
    chosen, slack = most, slack_most
    if options.resource.absolute:
        chosen, slack = near, slack_near
    elif options.resource.fit and least >= 0:
        chosen, slack = least, slack_least
    elif options.resource.wait and busy >= 0 and slack_busy > slack_most:
        chosen = -1
    if not options.defer.no and slack_most < 0.0 and busy >= 0 and slack_busy >= 0.0:
        chosen = -1
    value = urgency(slack, load, options.urgency, options.power, options.load, options.slack_unit_us)
    return chosen, abs(value) if options.order.absolute and not options.urgency.exponential else value


def pending(model: Any, state: Any, view: Any, g: int, task: int) -> float:
    """Return n_A: the application's pending requests, now or averaged."""
    n, tau_us = float(group_size(model, state, task)), view.options.load_tau_us
    if not tau_us > 0.0:
        return n
    scratch = view.scratch
    kept = math.exp((scratch.load_at_us[g] - view.now_us) / tau_us)
    scratch.load_mean[g] = scratch.load_now[g] + (scratch.load_mean[g] - scratch.load_now[g]) * kept
    scratch.load_now[g], scratch.load_at_us[g] = n, view.now_us
    return max(scratch.load_mean[g], 1e-9)


def estimate(model: Any, view: Any, g: int, kind: int, processor_type: int, size: float) -> float:
    """Return the EPT of a size, alone on its unit."""
    book = view.scratch
    row = row_of(model, g, processor_type)
    if is_known(book, row) or view.options.prior.zero:
        return predict(book, row, size)
    longest = 0.0
    for i in range(model.ranking.shape[1]):
        if model.ranking[kind, i] < 0:
            break
        longest = max(longest, predict(book, row_of(model, g, model.ranking[kind, i]), size))
    return longest


def slack_of(model: Any, state: Any, view: Any, g: int, task: int, processor_type: int, is_free: bool) -> float:
    """Return eq. 1 for the first request of an application on a processor type, as the options read it."""
    options = view.options
    slowdown = 1.0
    if options.contention and is_free:
        slowdown = slowdown_with(model, state, task, least_busy(model, state, task, processor_type))
    size = operations(model, state, task)
    due = deadline_us(model, state, task)
    if options.estimate.consolidated:
        most = most_as_one(model, state, g, task)
        if options.trim:
            row, room = row_of(model, g, processor_type), due - view.now_us
            size = trimmed(model, state, view.scratch, row, task, most, room, slowdown)[1]
        else:
            size = consolidated_operations(model, state, task, most)
    own_type = task_type(model, state, task)
    return slack_us(due, view.now_us, estimate(model, view, g, own_type, processor_type, size) * slowdown)


def could_run(model: Any, state: Any, view: Any, g: int, task: int, processor_type: int, slack: float) -> bool:
    """Whether to wait for a taken type: with ``bounded`` not with a backlog, nor for a type that is not expected to be
    free in time."""
    if not view.options.defer.bounded:
        return True
    if group_size(model, state, task) > view.options.backlog * max_consolidated(model, g):
        return False
    for unit in range(len(model.unit_type)):
        if (
            model.unit_type[unit] == processor_type
            and view.scratch.expected_us[unit] <= view.now_us + slack
            and is_allowed(model, state, task, unit)
        ):
            return True
    return False


def issued(model: Any, state: Any, view: Any, g: int, task: int, processor_type: int) -> Any:
    """Return the start of the application's oldest requests on the chosen type, as many as it can consolidate."""
    options, scratch = view.options, view.scratch
    unit = least_busy(model, state, task, processor_type)
    slowdown = slowdown_with(model, state, task, unit)
    count = most_as_one(model, state, g, task)
    if options.trim:
        row, room = row_of(model, g, processor_type), deadline_us(model, state, task) - view.now_us
        known = slowdown if options.contention else 1.0
        count = trimmed(model, state, scratch, row, task, count, room, known)[0]
    if options.contention:
        scratch.slowdown[task] = slowdown
    if options.defer.bounded:
        size = consolidated_operations(model, state, task, count)
        took = estimate(model, view, g, task_type(model, state, task), processor_type, size)
        scratch.expected_us[unit] = view.now_us + took * (slowdown if options.contention else 1.0)
    if options.load_tau_us > 0.0:
        scratch.load_now[g] -= count
    return start_consolidated(task, count, unit)
