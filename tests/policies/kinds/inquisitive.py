"""A policy that asks all that a policy may ask, and lets the answers decide: both engines must give the same ones."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies import (
    OnlinePolicy,
    all_arrived,
    application,
    arrival_us,
    arrived_task,
    attained_us,
    best_node,
    can_start,
    closest_free,
    consolidated_us,
    deadline_us,
    demand,
    estimate_us,
    execution_us,
    fastest_free,
    first_free,
    first_free_at,
    first_interrupted,
    first_pending,
    first_withdrawn,
    fits,
    following,
    group,
    group_size,
    has_left,
    has_room,
    input_tokens,
    is_allowed,
    is_available,
    is_in_partition,
    is_running,
    is_up,
    is_within_quotas,
    job_of,
    joinable,
    least_busy,
    left,
    meets,
    meets_on_type,
    more_at_once,
    n_arrived,
    n_pending,
    next_interrupted,
    next_pending,
    next_running,
    next_with_room,
    next_withdrawn,
    node_tasks,
    node_tasks_of,
    nothing,
    oldest_pending,
    operations,
    operations_started,
    preempt,
    preferred_type,
    priority,
    random_below,
    random_free,
    remaining_us,
    room,
    start,
    started_us,
    task_type,
    throughput,
    tier,
    time_on_type_us,
    tokens_found,
    transfer_us,
    unit_of,
    unit_tasks,
    unit_tokens,
    unit_tokens_waiting,
    unit_waiting,
    user,
)
from vinesim.state.queries import (
    fastest_free_without,
    random_node,
    tightest_free_at,
    victims_for,
)

MOST = 1e15


def add(mixed: Any, value: float) -> None:
    """Mix a number into a hash, so that the order of numbers matters."""
    found = value + 0.0  # of a bool, too
    if not -MOST < found < MOST:
        found = -7.0
    mixed[0] = mixed[0] * 0.75 + found


def emptiest(model: Any, state: Any, task: int, node: int, view: Any) -> int:
    """A score of nodes."""
    return -node_tasks(model, state, node) * 8 - node_tasks_of(model, state, node, task_type(model, state, task))


def ask_of_all(model: Any, state: Any, mixed: Any) -> None:
    add(mixed, more_at_once(model, state) * 4 + all_arrived(model, state) * 2)
    n = n_arrived(model, state)
    add(mixed, n + 100.0 * n_pending(model, state))
    add(mixed, arrived_task(model, state, n - 1) if n > 0 else -1.0)
    task = first_interrupted(model, state)
    while task >= 0:
        add(mixed, task)
        task = next_interrupted(model, state, task)
    task = first_withdrawn(model, state)
    while task >= 0:
        add(mixed, task + 50.0 * has_left(model, state, task))
        task = next_withdrawn(model, state, task)


def ask_of_task(model: Any, state: Any, mixed: Any, task: int) -> None:
    add(mixed, task_type(model, state, task) + 10.0 * preferred_type(model, state, task))
    add(mixed, arrival_us(model, state, task) + job_of(model, state, task))
    add(mixed, deadline_us(model, state, task))
    add(mixed, application(model, state, task) + 10.0 * user(model, state, task))
    add(mixed, operations(model, state, task) + input_tokens(model, state, task))
    add(mixed, estimate_us(model, state, task))
    add(mixed, priority(model, state, task))
    add(mixed, group(model, state, task))
    add(mixed, has_left(model, state, task))


def ask_of_pending(model: Any, state: Any, mixed: Any, task: int) -> None:
    add(mixed, group_size(model, state, task) + 10.0 * joinable(model, state, task, 3))
    add(mixed, following(model, state, task) + 100.0 * first_pending(model, state, group(model, state, task)))
    add(mixed, is_within_quotas(model, state, task))
    add(mixed, fastest_free(model, state, task) + 100.0 * closest_free(model, state, task))
    add(mixed, random_below(state, 5) + 10.0 * random_free(model, state, task))
    for kind in range(model.affinity.shape[0]):
        add(mixed, first_free(model, state, task, kind, -1) + 100.0 * first_free(model, state, task, kind, 1))
        add(mixed, least_busy(model, state, task, kind) + 100.0 * is_available(model, state, task, kind))
        add(mixed, meets_on_type(model, state, task, kind) + next_with_room(model, state, kind, 0) * 2.0)
        add(mixed, time_on_type_us(model, state, task, kind))
        add(mixed, consolidated_us(model, state, task, kind, 2, 3.5, 0.5))
    for node in range(model.node_rack.shape[0]):
        add(mixed, first_free_at(model, state, task, node) + 100.0 * tightest_free_at(model, state, task, node))
        add(mixed, node_tasks(model, state, node))
    for unit in range(model.unit_type.shape[0]):
        add(mixed, meets(model, state, task, unit, 0.5) + 2.0 * is_allowed(model, state, task, unit))
        add(mixed, fits(model, state, task, unit) + 2.0 * can_start(model, state, task, unit))
        add(mixed, is_in_partition(model, state, task, unit))
        add(mixed, tokens_found(model, state, task, unit))
        add(mixed, tier(model, state, task, unit) + demand(model, state, task, unit))
        if fits(model, state, task, unit):
            add(mixed, transfer_us(model, state, task, unit))
            add(mixed, execution_us(model, state, task, unit))
            add(mixed, throughput(model, state, task, unit, 1.5))


def ask_of_units(model: Any, state: Any, mixed: Any) -> None:
    for unit in range(model.unit_type.shape[0]):
        add(mixed, room(model, state, unit) + has_room(model, state, unit))
        add(mixed, is_up(model, state, unit) + 2.0 * unit_tasks(model, state, unit))
        add(mixed, unit_waiting(model, state, unit) + 50.0 * unit_tokens(model, state, unit))
        add(mixed, unit_tokens_waiting(model, state, unit))


def ask_of_running(model: Any, state: Any, mixed: Any) -> None:
    task = next_running(model, state, -1)
    while task >= 0:
        add(mixed, unit_of(model, state, task) + started_us(model, state, task))
        add(mixed, operations_started(model, state, task))
        task = next_running(model, state, task)


def ask_of_past(model: Any, state: Any, mixed: Any, task: int) -> None:
    """Call the queries that only policies that preempt may call."""
    add(mixed, left(model, state, task) + attained_us(model, state, task))
    add(mixed, remaining_us(model, state, task) + is_running(model, state, task))


@dataclass(frozen=True)
class Inquisitive(OnlinePolicy):
    """Starts one of the first three pending tasks where one of four queries says."""

    name: ClassVar[str] = "test_inquisitive"
    source: ClassVar[str] = "tests"
    deterministic: ClassVar[bool] = False
    groups: ClassVar[tuple[str, ...]] = ("application", "preferred_type", "priority")
    scratch: ClassVar[dict[str, tuple[str, str]]] = {"mixed": ("f8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return answer_of(model, state, view)


def mixed_now(model: Any, state: Any, view: Any) -> float:
    mixed = view.scratch.mixed
    add(mixed, view.now_us)
    ask_of_all(model, state, mixed)
    ask_of_units(model, state, mixed)
    task, n = oldest_pending(model, state), 0
    while task >= 0 and n < 3:
        ask_of_task(model, state, mixed, task)
        ask_of_pending(model, state, mixed, task)
        add(mixed, best_node(model, state, view, task, emptiest) + 10.0 * random_node(model, state, view, task))
        task, n = next_pending(model, state, task), n + 1
    return abs(mixed[0])


def answer_of(model: Any, state: Any, view: Any) -> Any:
    mood = int(mixed_now(model, state, view) * 1024.0)
    task, n = oldest_pending(model, state), 0
    while task >= 0 and n < 3:
        unit = first_free(model, state, task)
        if mood % 4 == 1:
            unit = fastest_free(model, state, task)
        elif mood % 4 == 2:
            unit = closest_free(model, state, task)
        elif mood % 4 == 3:
            unit = random_free(model, state, task)
        if unit >= 0:
            return start(task, unit)
        task, n = next_pending(model, state, task), n + 1
    return nothing()


@dataclass(frozen=True)
class Interrupting(Inquisitive):
    """Preempts too, a task that the most urgent pending one wants to replace."""

    name: ClassVar[str] = "test_interrupting"
    preempts: ClassVar[bool] = True
    keeps_tasks: ClassVar[bool] = False
    scratch: ClassVar[dict[str, tuple[str, str]]] = {
        "mixed": ("f8", "one"),
        "others": ("i8", "tasks"),
        "found": ("i8", "tasks"),
    }

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        mixed, n = view.scratch.mixed, 0
        ask_of_running(model, state, mixed)
        task = next_running(model, state, -1)
        while task >= 0:
            ask_of_past(model, state, mixed, task)
            if priority(model, state, task) < 1.0 and started_us(model, state, task) < view.now_us:
                view.scratch.others[n] = task
                n += 1
            task = next_running(model, state, task)
        task = oldest_pending(model, state)
        if task >= 0:
            ask_of_past(model, state, mixed, task)
        if task >= 0 and n > 0 and priority(model, state, task) >= 1.0:
            unit = fastest_free_without(model, state, task, view.scratch.others, n)
            add(mixed, unit)
            if unit >= 0:
                n_found = victims_for(model, state, task, unit, view.scratch.others, n, view.scratch.found)
                add(mixed, n_found)
                if n_found > 0:
                    return preempt(view.scratch.found[0])
        return answer_of(model, state, view)
