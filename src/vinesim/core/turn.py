"""One turn of a live scheduler: what has happened, in order, and then everything that may start.

Here events come from outside and no end is foreseen, so there is no calendar (``LIVE``). Everything else is as in a
run: ``core/loop.py`` calls the policy, and tasks start and end by the same functions. ``decide`` and ``renumbered``
stand for the policy. The meaning, for the reader, is in ``live/decider.py``.

Requests come without end, so their columns are a window of fixed length. Tasks and jobs are numbered by arrival, from
1; number 0 stands for all that are gone. When the window is full, the remaining ones are renumbered
(``live/renumbering.py``). ``Model`` has read-only views of the columns of the same names. Dimensions: N tasks, N jobs;
G groups, A applications, Q resources.
"""

from typing import NamedTuple

import numpy as np

from vinesim.core import ledger, tasks
from vinesim.core.actions import note_answer
from vinesim.core.features import called
from vinesim.core.loop import ask, sees_all
from vinesim.core.rooms import forget_found
from vinesim.core.segments import finish_task
from vinesim.core.tasks import follower_of
from vinesim.jit.intrinsics import not_negative
from vinesim.jit.reference import by_reference
from vinesim.model.workload import NO_GANG
from vinesim.state.layout import (
    ARRIVAL,
    BROKEN,
    FINISH,
    GO_ON,
    NOTHING,
    OF_REQUEST,
    PENDING,
    START,
    TIMER,
    View,
)

ARRIVE, END, FREE, OPEN, CLOSE, WITHDRAW, TELL, RENUMBERED = range(8)  # kinds of operations

OPERATION = np.dtype(
    [
        ("kind", "i8"),
        ("number", "i8"),  # of the application, the task, the unit, the request; for TELL the event
        ("size", "f8"),  # of a request that arrives
        ("arrived_us", "f8"),  # and when it did
    ],
    align=True,
)
ANSWER = np.dtype(
    [
        ("kind", "i8"),  # START, DROP, or NOTHING for a request that was withdrawn
        ("task", "i8"),
        ("unit", "i8"),
        ("member", "i8"),  # of a gang, from 0
        ("n_requests", "i8"),  # that start as one; their numbers follow one another in ``requests``
        ("application", "i8"),
    ],
    align=True,
)


class Window(NamedTuple):
    """What changes when a request arrives, besides the state."""

    job_arrival_us: np.ndarray  # [N + 1] float64: of the next job infinite, or now while more of the instant is to come
    job_deadline_us: np.ndarray  # [N + 1] float64
    job_first: np.ndarray  # [N + 2] int64
    job_request: np.ndarray  # [N + 1] int64: the request's number, which is never used again
    job_application: np.ndarray  # [N + 1] int32
    job_gang: np.ndarray  # [N + 1] int32: OF_REQUEST, or NO_GANG
    task_job: np.ndarray  # [N] int32
    task_operations: np.ndarray  # [N] float64
    task_demand: np.ndarray  # [N] float64
    task_group: np.ndarray  # [N] int32
    task_next: np.ndarray  # [N] int32: the next task of the same group; N after the last
    task_request: np.ndarray  # [N, Q] float64
    group_tail: np.ndarray  # [G] int64: the task of the group that arrived last, -1 = none
    application_group: np.ndarray  # [A] int64
    application_size: np.ndarray  # [A] int64: tasks of a request
    application_demand: np.ndarray  # [A] float64
    application_due_us: np.ndarray  # [A] float64: from arrival to deadline, for all or per unit of size
    application_per_size: np.ndarray  # [A] bool
    application_request: np.ndarray  # [A, Q] float64
    n_requests: np.ndarray  # [1] int64: so far; also the next request's number


def empty_window(n_tasks: int, n_resources: int) -> Window:
    """Return a window without tasks, for no application yet."""
    task_job, job_first = np.zeros(n_tasks, np.int32), np.zeros(n_tasks + 2, np.int64)
    job_first[1] = 1
    return Window(
        job_arrival_us=np.full(n_tasks + 1, np.inf),
        job_deadline_us=np.full(n_tasks + 1, np.inf),
        job_first=job_first,
        job_request=np.full(n_tasks + 1, -1, np.int64),
        job_application=np.full(n_tasks + 1, -1, np.int32),
        job_gang=np.full(n_tasks + 1, NO_GANG, np.int32),
        task_job=task_job,
        task_operations=np.zeros(n_tasks),
        task_demand=np.zeros(n_tasks),
        task_group=np.zeros(n_tasks, np.int32),
        task_next=np.full(n_tasks, n_tasks, np.int32),
        task_request=np.zeros((n_tasks, n_resources)),
        group_tail=np.empty(0, np.int64),
        application_group=np.empty(0, np.int64),
        application_size=np.empty(0, np.int64),
        application_demand=np.empty(0),
        application_due_us=np.empty(0),
        application_per_size=np.empty(0, bool),
        application_request=np.empty((0, n_resources)),
        n_requests=np.zeros(1, np.int64),
    )


def decide(model, state, view):
    raise NotImplementedError("the turn is not bound to a policy")


renumbered = record = arrays = decide  # the policy's other function; what is at an address: its options, its arrays


@called
def enter(model, state, window, operation):
    """ARRIVAL: a request becomes pending, at the end of the chain of its group. Returns its job."""
    run, a = state.run[0], operation.number
    job, first = run.next_job, run.n_arrived
    of_request, end = window.application_group[a], first + window.application_size[a]
    window.job_arrival_us[job] = operation.arrived_us
    window.job_arrival_us[job + 1] = np.inf
    times = operation.size if window.application_per_size[a] else 1.0
    window.job_deadline_us[job] = operation.arrived_us + window.application_due_us[a] * times
    window.job_request[job] = window.n_requests[0]
    window.job_application[job] = a
    window.job_gang[job] = OF_REQUEST if end > first + 1 else NO_GANG
    window.n_requests[0] += 1
    for task in range(first, end):
        window.task_job[task] = job
        window.task_operations[task] = operation.size
        window.task_demand[task] = window.application_demand[a]
        window.task_group[task] = of_request
        window.task_next[task] = window.task_job.shape[0]
        for q in range(window.task_request.shape[1]):
            window.task_request[task, q] = window.application_request[a, q]
        if window.group_tail[of_request] >= 0:
            window.task_next[window.group_tail[of_request]] = task
        window.group_tail[of_request] = task
    window.job_first[job + 1] = end
    run.next_job, run.n_arrived = job + 1, end
    tasks.enter_late(model, state, first, end)
    return job


@called
def withdraw(model, state, window, request):
    """Withdraw a waiting request. Returns its first task; -1 if it does not wait."""
    low, high = np.int64(1), state.run[0].next_job
    while low < high:
        middle = (low + high) >> 1
        if window.job_request[middle] < request:
            low = middle + 1
        else:
            high = middle
    first = window.job_first[low]
    if low == state.run[0].next_job or window.job_request[low] != request or state.task_unit[first] != PENDING:
        return np.int64(-1)
    tasks.drop_pending(model, state, np.int64(first))
    return np.int64(first)


@called
def leave(model, state, task):
    """Remove a task, with its followers, from its unit. Returns the unit."""
    unit = not_negative(np.int64(state.task_unit[task]))
    finish_task(model, state, task, unit, np.int64(-1))
    return unit


@called
def tell(state, window, answers, requests):
    """Write what was done with tasks to the answers; for a gang that started, one answer for each task. Returns how
    many."""
    n_answers, n_requests = np.int64(0), np.int64(0)
    for i in range(state.run[0].n_answered):
        kind, task = state.answered[i].kind, np.int64(state.answered[i].task)
        first, end = answers[n_answers], window.job_first[window.task_job[task] + 1] if kind == START else task + 1
        for member in range(task, end):
            one = answers[n_answers]
            one.kind, one.task, one.unit, one.member = kind, member, state.task_unit[member], member - task
            one.application, one.n_requests = window.job_application[window.task_job[task]], 0
            n_answers += 1
        while task >= 0:
            requests[n_requests] = window.job_request[window.task_job[task]]
            n_requests += 1
            first.n_requests += 1
            task = follower_of(state, task) if kind == START else np.int64(-1)
    return n_answers


def run_turn(
    model_arrays,
    state_arrays,
    window_arrays,
    options_at,
    scratch_at,
    operations,
    answers,
    requests,
    may_grant,
):
    """Apply the operations, and call the policy after each event until it wants nothing more, as in a run. Until the
    last event, the policy sees that more come at this instant. Without an event it is called once. Returns why it
    stopped, and the number of answers.

    If nothing may be granted yet, only a policy that sees every event is called, and further events may come after the
    last one. ``answers`` and ``requests`` have room for all tasks of the window.
    """
    model, state, window = by_reference(model_arrays), by_reference(state_arrays), by_reference(window_arrays)
    run, options, scratch = state.run[0], record(options_at), arrays(scratch_at)
    sees_every_event = sees_all(state)
    run.n_answered = 0
    n_operations, is_over, is_withdrawn = operations.shape[0], False, False
    for i in range(n_operations + 1):
        is_event = i < n_operations
        event, unit, job, task = np.int64(TIMER), np.int64(-1), np.int64(-1), np.int64(-1)
        forget_found(state)
        if is_event:
            one = operations[i]
            kind = one.kind
            if kind in (OPEN, CLOSE):
                ledger.set_up(model, state, not_negative(one.number), kind == OPEN)
                continue
            if kind == RENUMBERED:
                renumbered(model, state, View(run.now_us, event, unit, job, task, options, scratch))
                continue
            if kind == FREE:
                leave(model, state, one.number)
                continue
            if kind == WITHDRAW:
                withdrawn = withdraw(model, state, window, one.number)
                if withdrawn >= 0:
                    note_answer(state, NOTHING, withdrawn)
                    run.timer_us, is_withdrawn = np.inf, True
                continue
            if kind == ARRIVE:
                event, job = np.int64(ARRIVAL), np.int64(enter(model, state, window, one))
            elif kind == END:
                event, task = np.int64(FINISH), np.int64(one.number)
                unit = np.int64(leave(model, state, task))
            else:
                event = np.int64(one.number)
            if not (may_grant or sees_every_event):
                continue
            is_over = may_grant and i == n_operations - 1
            window.job_arrival_us[run.next_job] = np.inf if is_over else run.now_us
        elif is_over or not may_grant:
            break
        view = View(run.now_us, event, unit, job, task, options, scratch)
        if not ask(model, state, view, (is_event or is_withdrawn) and sees_every_event):
            return BROKEN, np.int64(0)
        is_withdrawn = False
        window.job_arrival_us[run.next_job] = np.inf
    return GO_ON, tell(state, window, answers, requests)
