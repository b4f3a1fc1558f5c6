"""Pending jobs that are not eligible yet: their time has not come, they depend on others, or their array is full."""

from vinesim.policies.slurm.codes import ABSENT, AFTER, AFTER_NOT_OK, AFTER_OK, HELD, OVER, RUNNING, SUSPENDED
from vinesim.policies.slurm.events import want_event_run
from vinesim.policies.slurm.starting import become_eligible
from vinesim.policies.slurm.states import may_join

NEVER = 1e300


def check_held(s, options, now_us):
    """Make each held job eligible if nothing holds it any more, in order."""
    n, s.recheck[0], s.held_wake_us[0] = 0, False, NEVER
    for i in range(s.n_held[0]):
        job = s.held[i]
        if s.job_state[job] != HELD:
            continue
        if is_free(s, options, job, now_us):
            become_eligible(s, options, job, now_us)
            want_event_run(s, options, now_us)
        else:
            s.held[n] = job
            n += 1
            if s.job_held_until_us[job] > now_us:
                s.held_wake_us[0] = min(s.held_wake_us[0], s.job_held_until_us[job])
    s.n_held[0] = n


def is_free(s, options, job, now_us):
    """Whether no time, dependency or limit of its array holds a job. Its age counts once only the array holds it."""
    if s.job_held_until_us[job] > now_us:
        return False
    for i in range(s.job_first_dependency[job], s.job_first_dependency[job + 1]):
        if not is_satisfied(s, s.dependency_kind[i], s.dependency_job[i]):
            return False
    if s.job_ages_from_us[job] < 0.0:
        s.job_ages_from_us[job] = now_us
    return may_join(s, options, job)


def is_satisfied(s, kind, other):
    """Whether another job has met a dependency on it."""
    state = s.job_state[other]
    if kind == AFTER:
        return state in (RUNNING, SUSPENDED, OVER) or (state != ABSENT and s.job_start_us[other] >= 0.0)
    if state != OVER:
        return False
    if kind == AFTER_OK:
        return not s.job_failed[other]
    return kind != AFTER_NOT_OK or s.job_failed[other]


def next_wake_us(s, now_us):
    """Return when a held job may next become eligible or a reservation begins or ends; infinite if none will."""
    found = s.held_wake_us[0]
    for i in range(s.reservation_begin_us.shape[0]):
        if s.reservation_begin_us[i] > now_us:
            found = min(found, s.reservation_begin_us[i])
        if s.reservation_end_us[i] > now_us:
            found = min(found, s.reservation_end_us[i])
    return found
