"""Jobs that wait for others: each arrives when the last of these is over, and not before its own time.

A job that waits when it is its turn to arrive is passed over. It has a lower number than the next job then, so it comes
before that one when it is ready, as it does in the order of all pending tasks.
"""

import numpy as np

from vinesim.core.bits import at_or_after, insert, remove
from vinesim.core.features import AFTER, called
from vinesim.jit.intrinsics import not_negative


def next_job(model, state):
    """The next job to arrive, unless another one becomes ready; the number of jobs if there is none."""
    if AFTER:
        job = first_ready(state)
        return job if job >= 0 else state.run[0].next_job
    return state.run[0].next_job


def next_arrival_us(model, state):
    """When that is."""
    run, job = state.run[0], not_negative(next_job(model, state))
    if job >= model.job_arrival_us.shape[0]:
        return np.inf
    return max(model.job_arrival_us[job], run.now_us) if AFTER else model.job_arrival_us[job]


def first_ready(state):
    return np.int64(at_or_after(state.ready, state.ready_1, state.ready_2, 0, np.int64(0)))


@called
def note_arrival(model, state, job):
    """Note that a job arrives, and pass over those after it that wait."""
    run = state.run[0]
    state.job_eligible_us[job] = run.now_us
    for task in range(model.job_first[job], model.job_first[job + 1]):
        state.arrived[run.n_entered] = task
        run.n_entered += 1
    if job < run.next_job:
        remove(state.ready, state.ready_1, state.ready_2, 0, job)
        return
    run.next_job = job + 1
    while run.next_job < state.job_waits.shape[0] and state.job_waits[run.next_job] > 0:
        run.next_job += 1


def note_over(model, state, task):
    """Note that a task is over."""
    state.run[0].n_done += 1
    if AFTER:
        let_go(model, state, model.task_job[task])


@called
def let_go(model, state, job):
    """Let the jobs that wait for a job wait for one less if the task that is over was its last."""
    state.job_left[job] -= 1
    if state.job_left[job] > 0 or model.successor_first.shape[0] == 0:
        return
    remove(state.ready, state.ready_1, state.ready_2, 0, job)  # it was withdrawn
    for i in range(model.successor_first[job], model.successor_first[job + 1]):
        other = np.int64(model.successor[i])
        state.job_waits[other] -= 1
        if state.job_waits[other] == 0 and state.job_left[other] > 0 and other < state.run[0].next_job:
            insert(state.ready, state.ready_1, state.ready_2, 0, other)
