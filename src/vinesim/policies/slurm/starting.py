"""Start and end jobs: change the policy's arrays, and record what the engine must do."""

from vinesim.policies.slurm.billing import count_held
from vinesim.policies.slurm.codes import (
    ABSENT,
    ELIGIBLE,
    HELD,
    KILL,
    MAIN,
    OVER,
    RUNNING,
    START,
    STOP,
    SUSPENDED,
    US_PER_S,
)
from vinesim.policies.slurm.cores import find_changes, take_cores
from vinesim.policies.slurm.holding import enter_running, give, leave_running, take_back
from vinesim.policies.slurm.limits import (
    count_accruing,
    count_in,
    count_licences,
    count_running,
    count_submitted,
    is_refused,
    may_accrue,
)
from vinesim.policies.slurm.node_sets import has
from vinesim.policies.slurm.preemption import class_of, way_of
from vinesim.policies.slurm.queue import charge, enter
from vinesim.policies.slurm.states import enter_state, is_array_full


def want(s, kind, job):
    """Record an action for the engine, which does them in this order, at this instant."""
    s.wanted[s.n_wanted[0]], s.wanted_job[s.n_wanted[0]] = kind, job
    s.n_wanted[0] += 1


def start(s, options, job, part, n_got, by, now_us):
    """Start a job on the nodes chosen for it."""
    s.job_in[job], s.job_by[job] = part, by
    give(s, job, n_got)
    begin(s, options, job, part, now_us)
    if options.suspends:
        its = class_of(s, job, part)
        s.job_level[job] = s.class_spared[its]
        take_cores(s, job, s.class_level[its])
        change_over(s, options, now_us)
    s.changed_us[0] = now_us
    want(s, START, job)


def make_room(s, options, now_us):
    """Preempt the ``victims``; those with a grace time leave at its end. Returns whether all have left."""
    is_made = True
    for i in range(s.n_victims[0]):
        victim = s.victims[i]
        if s.class_grace_us[class_of(s, victim, s.job_in[victim])] > 0.0:
            is_made = False
            warn_whole(s, victim, now_us)
        else:
            evict_whole(s, options, victim, False, now_us)
    s.n_victims[0] = 0
    return is_made


def warn_whole(s, job, now_us):
    """Begin the grace time of a job and of the other components of its heterogeneous job."""
    member = s.job_member[job]
    if member < 0:
        warn(s, job, now_us)
        return
    group = s.member_group[member]
    for other in range(s.group_first[group], s.group_first[group + 1]):
        if s.job_state[s.member_job[other]] == RUNNING:
            warn(s, s.member_job[other], now_us)


def warn(s, job, now_us):
    """Make a job end after its grace time, unless it ends sooner."""
    end_us = now_us + s.class_grace_us[class_of(s, job, s.job_in[job])]
    if end_us < s.job_end_by_us[job]:
        leave_running(s, job)
        s.job_must_leave[job], s.job_end_by_us[job] = True, end_us
        enter_running(s, job)


def begin(s, options, job, part, now_us):
    """Begin to run a job in a partition: it counts towards limits and licences, and stops aging."""
    s.job_in[job], s.job_must_leave[job] = part, False
    s.job_start_us[job], s.job_charged_us[job] = now_us, now_us
    s.job_end_by_us[job] = now_us + s.job_limit_us[job]
    stop_aging(s, job)
    count_in(s, job, part)
    enter_running(s, job)
    count_held(s, options, job, part)
    count_running(s, job, 1)
    count_licences(s, job, -1)
    enter_state(s, job, RUNNING)
    if is_array_full(s, job):
        hold_back(s, s.job_array[job])


def stop_aging(s, job):
    """Stop counting the age of a job."""
    if s.job_accrues[job]:
        count_accruing(s, job, -1)


def hold_back(s, array):
    """Hold the eligible jobs of an array, until another job of the array ends."""
    for i in range(s.n_entries[0]):
        job = s.entry_job[i]
        if s.job_array[job] == array and s.job_state[job] == ELIGIBLE:
            stop_aging(s, job)
            be_held(s, job)


def place(s, options, job, now_us):
    """Continue a job that already ran when it arrived, on its nodes. Lower jobs whose CPUs it has are suspended."""
    first = s.job_first_on[job]
    n_got = s.job_first_on[job + 1] - first
    for i in range(n_got):
        s.got_node[i], s.got_cpus[i] = s.on_node[first + i], s.on_cpus[first + i]
    s.n_victims[0] = 0
    start(s, options, job, s.job_part[s.job_first_part[job]], n_got, MAIN, now_us)
    leave_running(s, job)
    s.job_start_us[job] = now_us - s.job_ran_us[job]
    s.job_end_by_us[job] = s.job_start_us[job] + s.job_limit_us[job]
    enter_running(s, job)


def suspend(s, job, now_us):
    """Suspend a job. A job that is about to start at this instant does not start."""
    enter_state(s, job, SUSPENDED)
    s.job_suspended_us[job] = now_us
    if not forget_start(s, job):
        want(s, STOP, job)


def forget_start(s, job):
    """Cancel the start of a job at this instant. Returns whether it was about to start."""
    for i in range(s.wanted_at[0], s.n_wanted[0]):
        if s.wanted[i] == START and s.wanted_job[i] == job:
            s.wanted[i] = STOP  # a job that does not run holds nothing
            return True
    return False


def evict(s, options, job, way, now_us):
    """Remove a job from its nodes: it waits again (STOP) or is over (KILL)."""
    want(s, way, job)
    leave(s, options, job, now_us)
    settle(s, options, job, way, now_us)


def evict_whole(s, options, job, is_lost, now_us):
    """Remove a job, and the other components of its heterogeneous job, from nodes that are down or that others need."""
    member = s.job_member[job]
    if member < 0:
        evict(s, options, job, way_of_loss(s, job) if is_lost else way_of(s, job), now_us)
        return
    group = s.member_group[member]
    for other in range(s.group_first[group], s.group_first[group + 1]):
        its = s.member_job[other]
        if is_on_nodes(s, its):
            evict(s, options, its, way_of_loss(s, its) if is_lost else way_of(s, its), now_us)


def settle(s, options, job, way, now_us):
    """Requeue or end a job that was removed from its nodes."""
    if way == STOP:
        requeue(s, options, job, now_us)
    else:
        finish(s, job, True, now_us)


def requeue(s, options, job, now_us):
    """Requeue a job as if it were submitted now. It is not eligible at once."""
    s.job_known_us[job] = now_us
    hold_until(s, job, now_us + options.requeue_delay * US_PER_S)
    s.changed_us[0] = now_us


def put_off(s, options, job, now_us):
    """Make an eligible job wait as if it had been requeued."""
    stop_aging(s, job)
    requeue(s, options, job, now_us)


def leave(s, options, job, now_us):
    """Free the nodes of a job, whatever the reason; jobs that were suspended for it resume."""
    forget_start(s, job)
    charge(s, options, job, now_us)
    clear(s, job)
    if options.suspends:
        change_over(s, options, now_us)


def change_over(s, options, now_us):
    """Suspend jobs whose cores others run on, and resume suspended jobs whose cores are all free."""
    find_changes(s, is_all_up)
    n, s.n_victims[0] = s.n_victims[0], 0
    for i in range(n):
        job = s.victims[i]
        if s.job_state[job] == RUNNING:
            suspend(s, job, now_us)
        elif is_all_up(s, job):
            s.victims[s.n_victims[0]] = job
            s.n_victims[0] += 1
        else:
            lose(s, options, job, now_us)
    for i in range(s.n_victims[0]):
        resume(s, s.victims[i], now_us)
    s.n_victims[0] = 0


def clear(s, job):
    """Release everything that a job holds, and stop counting it towards limits."""
    take_back(s, job)
    leave_running(s, job)
    count_running(s, job, -1)
    count_licences(s, job, 1)


def resume(s, job, now_us):
    """Resume a suspended job where it was. Its limit does not count the time in between."""
    leave_running(s, job)
    enter_state(s, job, RUNNING)
    s.job_charged_us[job] = now_us
    s.job_end_by_us[job] += now_us - s.job_suspended_us[job]
    enter_running(s, job)
    want(s, START, job)


def lose(s, options, job, now_us):
    """End a suspended job that cannot resume because one of its nodes is down, like the jobs that ran there."""
    way = way_of_loss(s, job)
    want(s, way, job)
    clear(s, job)
    settle(s, options, job, way, now_us)


def way_of_loss(s, job):
    """Return what happens to a job that has lost a node: requeue or end."""
    return STOP if s.job_requeue[job] else KILL


def is_all_up(s, job):
    """Whether all nodes of a job are up."""
    row = s.job_row[job]
    while row >= 0:
        if not has(s.up_nodes, 0, s.row_node[row]):
            return False
        row = s.row_next[row]
    return True


def finish(s, job, failed, now_us):
    """Mark a job as over; others may have waited for it."""
    stop_aging(s, job)
    if s.job_state[job] != ABSENT:
        count_submitted(s, job, -1)
    s.job_failed[job] = s.job_failed[job] or failed
    enter_state(s, job, OVER)
    s.changed_us[0] = now_us


def kill(s, options, job, now_us):
    """End a running job that has reached its limit."""
    evict(s, options, job, KILL, now_us)


def submit(s, job):
    """Submit a job: it becomes pending, or is refused and over. Returns whether it is pending."""
    s.job_is_refused[job] = is_refused(s, job)
    if s.job_is_refused[job]:
        s.job_failed[job] = True
        enter_state(s, job, OVER)
        return False
    count_submitted(s, job, 1)
    hold_until(s, job, max(s.job_known_us[job], s.job_from_us[job]))
    return True


def hold_until(s, job, us):
    """Make a job pending, but not eligible before a time."""
    be_held(s, job)
    s.job_held_until_us[job], s.job_ages_from_us[job] = us, -1.0
    s.recheck[0] = True


def be_held(s, job):
    """Add a job to those that are pending but not eligible."""
    enter_state(s, job, HELD)
    s.held[s.n_held[0]] = job
    s.n_held[0] += 1


def become_eligible(s, options, job, now_us):
    """Put a job into the queue."""
    enter_state(s, job, ELIGIBLE)
    # The age counts the time in which only its array held the job.
    from_us = s.job_known_us[job] if options.accrue_always else s.job_ages_from_us[job]
    s.job_eligible_us[job] = from_us - s.job_waited_us[job]
    s.job_waited_us[job] = 0.0
    if may_accrue(s, options, job):
        count_accruing(s, job, 1)
    enter(s, options, job, now_us)
    s.changed_us[0] = now_us


def is_on_nodes(s, job):
    """Whether a job holds nodes."""
    return s.job_state[job] == RUNNING or s.job_state[job] == SUSPENDED
