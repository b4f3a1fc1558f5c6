"""Record what the engine reports: jobs arrive, end, lose their nodes, or are withdrawn. Each event is recorded once."""

from vinesim.policies.slurm.codes import ABSENT, BACKFILL, EVENT_RUN, KILL, OVER, RUNNING, US_PER_S
from vinesim.policies.slurm.limits import count_submitted
from vinesim.policies.slurm.node_sets import put, remove
from vinesim.policies.slurm.starting import evict_whole, finish, is_on_nodes, leave, place, submit, want
from vinesim.state.layout import FINISH, OUTAGE
from vinesim.state.queries import (
    arrived_task,
    first_interrupted,
    first_withdrawn,
    is_up,
    n_arrived,
    next_interrupted,
    next_withdrawn,
)

POLL_US = 1e6  # the scheduler sees an event after a random part of this, as its clock drifts against those of jobs
JITTER_US = 0.3e6  # of the delay before a backfill cycle


def note(model, state, view):
    """Record what has happened since the last call."""
    s, options, now_us = view.scratch, view.options, view.now_us
    if view.event == OUTAGE:
        note_nodes(model, state, s, now_us)
        task = first_interrupted(model, state)
        while task >= 0:
            interrupt(s, options, model.task_job[task], now_us)
            task = next_interrupted(model, state, task)
    task = first_withdrawn(model, state)
    while task >= 0:
        withdraw(s, options, model.task_job[task], now_us)
        task = next_withdrawn(model, state, task)
    n = n_arrived(model, state)
    while s.n_seen[0] < n:
        job = model.task_job[arrived_task(model, state, s.n_seen[0])]
        s.n_seen[0] += model.job_first[job + 1] - model.job_first[job]
        if s.job_state[job] == ABSENT:
            s.job_left[job] = model.job_first[job + 1] - model.job_first[job]
            if not arrive(s, options, job, now_us):
                want(s, KILL, job)
            s.changed_us[0] = now_us
    if view.event == FINISH and not s.task_over[view.task]:
        s.task_over[view.task] = True
        job = model.task_job[view.task]
        s.job_left[job] -= 1
        if s.job_left[job] == 0 and s.job_state[job] == RUNNING:
            leave(s, options, job, now_us)
            finish(s, job, False, now_us)
            want_event_run(s, options, now_us)


def arrive(s, options, job, now_us):
    """Submit a job that arrives, or let it continue on its nodes. Returns whether it was accepted."""
    if s.job_ran_us[job] < 0.0:
        return submit(s, job)
    count_submitted(s, job, 1)
    place(s, options, job, now_us)
    return True


def note_nodes(model, state, s, now_us):
    """Record which nodes are up."""
    s.room_version[0] += 1
    for node in range(s.node_cpus.shape[0]):
        is_it = False
        for i in range(model.node_first[node], model.node_first[node + 1]):
            is_it = is_it or is_up(model, state, i)
        if is_it:
            put(s.up_nodes, 0, node)
        else:
            remove(s.up_nodes, 0, node)
    s.changed_us[0] = now_us


def interrupt(s, options, job, now_us):
    """Evict a job that has lost a node."""
    if is_on_nodes(s, job):
        evict_whole(s, options, job, True, now_us)  # it also loses its other nodes
        want_event_run(s, options, now_us)


def withdraw(s, options, job, now_us):
    """End a job that is withdrawn, whether it runs or not."""
    if s.job_state[job] == OVER:
        return
    if is_on_nodes(s, job):
        leave(s, options, job, now_us)
        want_event_run(s, options, now_us)
    finish(s, job, True, now_us)


def want_event_run(s, options, now_us):
    """Schedule an event run within a second, but not too soon after the last one; none without a main scheduler."""
    if options.sched_interval > 0 and s.due_us[EVENT_RUN] >= 1e300:
        earliest_us = s.last_us[EVENT_RUN] + options.batch_sched_delay * US_PER_S
        s.due_us[EVENT_RUN] = max(now_us + draw(s) * POLL_US, earliest_us)


def want_backfill(s, options, now_us):
    """Schedule the next cycle of backfill if it is on, and jobs are pending or something changed since the last."""
    is_any = s.n_entries[0] > 0 or s.n_held[0] > 0 or s.changed_us[0] > s.last_us[BACKFILL]
    if options.bf_interval > 0 and s.due_us[BACKFILL] >= 1e300 and is_any:
        next_us = s.last_us[BACKFILL] + options.bf_interval * US_PER_S + draw(s) * JITTER_US
        s.due_us[BACKFILL] = max(now_us + draw(s) * JITTER_US, next_us)


def next_on_grid(s, kind, step_us, after_us):
    """Return the first time on an action's grid after ``after_us``."""
    steps = (after_us - s.phase_us[kind]) // step_us + 1.0
    found = s.phase_us[kind] + steps * step_us
    return found if found > after_us else found + step_us


def draw(s):
    """Return a random number from 0 to 1."""
    s.draw[0] = (s.draw[0] * 1103515245 + 12345) % 2147483648
    return s.draw[0] / 2147483648.0
