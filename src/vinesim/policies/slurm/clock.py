"""When the scheduler acts: event runs, full runs, backfill, limits, calculation of priorities.

An event run comes within 1 s of an event (drawn), and at least ``batch_sched_delay`` after the last one. Full runs come
every ``sched_interval``, limits every 30 s, priorities every PriorityCalcPeriod, each on its own grid, whose phase is
drawn from the seed. Backfill runs every ``bf_interval`` while anything is pending. If a site has reservations, the time
of the first cycle is drawn too, because backfill also runs when a reservation is made. Source: what Slurm 22.05 was
seen to do.
"""

from vinesim.policies.slurm.backfill import run_backfill
from vinesim.policies.slurm.codes import (
    BACKFILL,
    CALCULATION,
    EVENT_RUN,
    FULL_RUN,
    LIMITS,
    RUNNING,
    US_PER_MINUTE,
    US_PER_S,
    WAKE,
)
from vinesim.policies.slurm.events import next_on_grid, want_backfill, want_event_run
from vinesim.policies.slurm.main_run import run_main
from vinesim.policies.slurm.queue import calculate
from vinesim.policies.slurm.starting import evict_whole, kill
from vinesim.policies.slurm.waiting import check_held, next_wake_us

LIMITS_US = 30e6
NEVER = 1e300
ALL = 1 << 60


def act(s, options, now_us):
    """Do everything that is due."""
    while True:
        if s.recheck[0]:
            check_held(s, options, now_us)
        s.due_us[WAKE] = min(s.due_us[WAKE], next_wake_us(s, now_us))
        want_backfill(s, options, now_us)
        kind = 0
        for other in range(1, s.due_us.shape[0]):
            if s.due_us[other] < s.due_us[kind]:
                kind = other
        if s.due_us[kind] > now_us:
            return
        do(s, options, kind, now_us)


def do(s, options, kind, now_us):
    """Do one action and record when it is due next."""
    due_us = s.due_us[kind]
    if kind == CALCULATION:
        period_us = options.priority_calc_period * US_PER_S
        calculate(s, options, period_us, due_us)
        s.due_us[kind] = due_us + period_us
        return
    s.last_us[kind] = due_us  # this is before now if nothing was pending in between
    if kind == LIMITS:
        enforce(s, options, now_us)
        s.due_us[kind] = next_on_grid(s, kind, LIMITS_US, now_us)
    elif kind == FULL_RUN:
        run_main(s, options, ALL, now_us)
        s.due_us[kind] = next_on_grid(s, kind, options.sched_interval * US_PER_S, now_us)
    elif kind == EVENT_RUN:
        s.due_us[kind] = NEVER
        run_main(s, options, options.default_queue_depth, now_us)
    elif kind == BACKFILL:
        s.due_us[kind] = NEVER
        if due_us >= now_us:  # otherwise nothing was pending when it ran
            run_backfill(s, options, now_us)
    else:
        s.due_us[kind] = NEVER
        s.recheck[0] = True
        for i in range(s.reservation_begin_us.shape[0]):
            if s.reservation_begin_us[i] == due_us or s.reservation_end_us[i] == due_us:
                want_event_run(s, options, now_us)
                s.changed_us[0] = now_us


def enforce(s, options, now_us):
    """End jobs that have passed their limit, the end of their reservation, or the grace of their preemption."""
    over_us = options.over_time_limit * US_PER_MINUTE
    i = 0
    while i < s.n_running[0]:
        job = s.running[i]
        own = s.job_reservation[job]
        is_late = now_us >= s.job_end_by_us[job] + over_us or (own >= 0 and now_us >= s.reservation_end_us[own])
        must_leave = s.job_must_leave[job] and now_us >= s.job_end_by_us[job]
        if s.job_state[job] == RUNNING and (is_late or must_leave):
            if must_leave:
                evict_whole(s, options, job, False, now_us)
            else:
                kill(s, options, job, now_us)
            want_event_run(s, options, now_us)
            i = 0
        else:
            i += 1


def next_us(s, options, now_us, more_come, is_idle):
    """Return when to call the policy again; infinite if nothing can change any more.

    If nothing is pending, only limits matter.
    """
    if is_idle:
        return s.due_us[LIMITS] if s.n_running[0] > 0 else NEVER
    patience_us = 3.0 * max(options.sched_interval, options.bf_interval, options.batch_sched_delay) * US_PER_S
    is_quiet = s.n_running[0] == 0 and not more_come and s.due_us[WAKE] >= NEVER
    if is_quiet and now_us > s.changed_us[0] + patience_us:
        return NEVER
    found = NEVER
    for kind in range(s.due_us.shape[0]):
        found = min(found, s.due_us[kind])
    return found
