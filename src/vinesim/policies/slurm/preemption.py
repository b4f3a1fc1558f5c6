"""Preemption: jobs are requeued, cancelled or suspended for those of upper tiers, or of a QOS that may preempt theirs.

Requeue and cancel: of the jobs on its nodes that it may preempt, and that have run for their exempt time, as few as
suffice: those of the lowest tier or QOS priority first, of these the one on the fewest nodes, and of these the one that
started first, or, with ``preempt_youngest_first``, simply the one that started last. If one does not suffice, it is
tried once more with the last one first (``preempt_reorder_count``, 1). A victim whose partition or QOS has a GraceTime
goes on until it is over, and is preempted at the next check of time limits. What follows says tier for both.
Suspend: a job above the lowest tier takes free CPUs first; if it finds none, it takes what it would find if the jobs
of the lowest tier were not there. At its nodes it takes free CPUs, then those of suspended jobs, then the running job
that started last is suspended. A job goes on when nobody has any of its CPUs. To jobs of the lowest tier the CPUs of
suspended jobs stay taken. Source: what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import CANCEL, KILL, REQUEUE, RUNNING, STOP, SUSPENDED
from vinesim.policies.slurm.holding import count, cpus_got, is_on_any, suppose
from vinesim.policies.slurm.node_sets import has, put, remove
from vinesim.policies.slurm.nodes import choose
from vinesim.policies.slurm.states import enter_state


def choose_now(s, options, job, part, now_us):
    """Find nodes for a job among those it may have, with what preemption frees. Returns how many, as ``choose``; the
    jobs to be preempted are in ``victims``."""
    s.n_victims[0] = 0
    request = s.job_request[job]
    n_got = choose(s, request, s.may, s.free_cpus, s.free_memory, s.free_kinds)
    if n_got > 0 or not options.preempts:
        return n_got
    if options.suspends:
        if not s.class_is_top[class_of(s, job, part)]:
            return 0
        return choose(s, request, s.may, s.top_cpus, s.free_memory, s.free_kinds)
    find_victims(s, options, class_of(s, job, part), now_us)
    if s.n_victims[0] == 0:
        return 0
    n_got = choose_without(s, request)
    if s.n_victims[0] > 1:
        reorder(s, n_got)
        n_got = choose_without(s, request)
    keep_needed(s, n_got)
    return n_got


def choose_without(s, request):
    """Find nodes without one ``victim`` after another, until there are enough; these stay in ``victims``."""
    suppose(s)
    n, s.n_victims[0] = s.n_victims[0], 0
    for i in range(n):
        count(s, s.victims[i], 1, s.then_cpus, s.then_memory, s.then_kinds)
        n_got = choose(s, request, s.may, s.then_cpus, s.then_memory, s.then_kinds)
        if n_got > 0:
            s.n_victims[0] = i + 1
            return n_got
    return 0


def reorder(s, n_got):
    """Put the last victim first, as it made room, and then those on most of the chosen nodes."""
    mark_chosen(s, n_got)
    last = s.n_victims[0] - 1
    for i in range(1, last + 1):
        victim, j = s.victims[i], i
        while j > 0 and (i == last or n_chosen(s, victim) > n_chosen(s, s.victims[j - 1])):
            s.victims[j] = s.victims[j - 1]
            j -= 1
        s.victims[j] = victim
    forget_chosen(s, n_got)


def n_chosen(s, job):
    """On how many of the chosen nodes a job is."""
    n, row = 0, s.job_row[job]
    while row >= 0:
        n, row = n + has(s.chosen, 0, s.row_node[row]), s.row_next[row]
    return n


def mark_chosen(s, n_got):
    """Let ``chosen`` be the nodes that were found."""
    for i in range(n_got):
        put(s.chosen, 0, s.got_node[i])


def forget_chosen(s, n_got):
    """Let ``chosen`` be empty."""
    for i in range(n_got):
        remove(s.chosen, 0, s.got_node[i])


def class_of(s, job, part):
    """The class of a job that runs, or would run, in a partition: its QOS, or the partition."""
    return s.job_class[job] if s.job_class[job] >= 0 else part


def is_top(s, job):
    """Whether a job on its nodes may suspend others, and is never suspended."""
    return s.class_is_top[class_of(s, job, s.job_in[job])]


def find_victims(s, options, own, now_us):
    """Fill the jobs that may be preempted for one of a class, in the order in which they are."""
    n = 0
    for i in range(s.n_running[0]):
        other = s.running[i]
        its = class_of(s, other, s.job_in[other])
        has_run_us = now_us - s.job_start_us[other]
        if not s.class_may[own * s.class_rank.shape[0] + its] or has_run_us <= 0.0:
            continue
        if has_run_us < s.job_exempt_us[other] or s.class_preempt[its] not in (REQUEUE, CANCEL):
            continue
        if not is_on_any(s, other, s.may):
            continue
        j = n
        while j > 0 and goes_before(s, options, other, s.victims[j - 1]):
            s.victims[j] = s.victims[j - 1]
            j -= 1
        s.victims[j] = other
        n += 1
    s.n_victims[0] = n


def goes_before(s, options, one, other):
    """Whether a job is preempted before another one."""
    if options.preempt_youngest_first:
        return s.job_start_us[one] > s.job_start_us[other]
    tier = s.class_rank[class_of(s, one, s.job_in[one])]
    others = s.class_rank[class_of(s, other, s.job_in[other])]
    if tier != others:
        return tier < others
    n_nodes, n_others = nodes_of(s, one), nodes_of(s, other)
    if n_nodes != n_others:
        return n_nodes < n_others
    return s.job_start_us[one] < s.job_start_us[other]


def nodes_of(s, job):
    """On how many nodes a job is."""
    n, row = 0, s.job_row[job]
    while row >= 0:
        n, row = n + 1, s.row_next[row]
    return n


def keep_needed(s, n_got):
    """Keep as victims only the jobs on nodes that were chosen."""
    mark_chosen(s, n_got)
    n = 0
    for i in range(s.n_victims[0]):
        if is_on_any(s, s.victims[i], s.chosen):
            s.victims[n] = s.victims[i]
            n += 1
    s.n_victims[0] = n
    forget_chosen(s, n_got)


def way_of(s, victim):
    """What the engine does to a victim."""
    is_cancelled = s.class_preempt[class_of(s, victim, s.job_in[victim])] == CANCEL
    return KILL if is_cancelled or not s.job_requeue[victim] else STOP


def cover(s, job, n_got, now_us):
    """Take CPUs of lower jobs for one that starts; fill ``victims`` with those that were running."""
    s.n_victims[0] = 0
    for i in range(n_got):
        node = s.got_node[i]
        wanted = cpus_got(s, job, i)
        rest = wanted - max(0, min(wanted, s.free_cpus[node]))
        while rest > 0:
            row, victim = best_to_cover(s, node)
            if row < 0:
                break
            n = min(rest, s.row_cpus[row] - s.row_covered[row])
            over = s.spare_over[0]
            s.spare_over[0] = s.over_next[over]
            s.over_row[over], s.over_job[over], s.over_cpus[over] = row, victim, n
            s.over_next[over] = s.job_over[job]
            s.job_over[job] = over
            s.row_covered[row] += n
            s.job_covered[victim] += n
            s.free_cpus[node] += n
            rest -= n
            if s.job_state[victim] == RUNNING:
                enter_state(s, victim, SUSPENDED)
                s.job_suspended_us[victim] = now_us
                s.victims[s.n_victims[0]] = victim
                s.n_victims[0] += 1


def best_to_cover(s, node):
    """The row at a node, of a job of the lowest tier, whose CPUs are taken next, and its job: of suspended jobs first,
    then of the one that started last; -1: there is none."""
    found, its = -1, -1
    for i in range(s.n_running[0]):
        other = s.running[i]
        if is_top(s, other):
            continue
        row = s.job_row[other]
        while row >= 0:
            has_some = s.row_node[row] == node and s.row_covered[row] < s.row_cpus[row]
            if has_some and (its < 0 or is_covered_before(s, other, its)):
                found, its = row, other
            row = s.row_next[row]
    return found, its


def is_covered_before(s, one, other):
    """Whether CPUs of one job are taken before those of another."""
    is_one, is_other = s.job_state[one] == SUSPENDED, s.job_state[other] == SUSPENDED
    if is_one != is_other:
        return is_one
    return s.job_start_us[one] > s.job_start_us[other]


def uncover(s, job):
    """Give back the CPUs that a job has of lower ones, which ends. ``victims`` are those that go on."""
    s.n_victims[0] = 0
    over = s.job_over[job]
    while over >= 0:
        following, victim, n = s.over_next[over], s.over_job[over], s.over_cpus[over]
        if victim >= 0:
            row = s.over_row[over]
            s.free_cpus[s.row_node[row]] -= n
            s.row_covered[row] -= n
            s.job_covered[victim] -= n
            if s.job_covered[victim] == 0:
                s.victims[s.n_victims[0]] = victim
                s.n_victims[0] += 1
        s.over_next[over] = s.spare_over[0]
        s.spare_over[0] = over
        over = following
    s.job_over[job] = -1


def count_covered(s, job, sign, free_cpus):
    """Add what a job has of suspended ones to what is free, +1, or take it away, -1."""
    over = s.job_over[job]
    while over >= 0:
        if s.over_job[over] >= 0:
            free_cpus[s.row_node[s.over_row[over]]] += sign * s.over_cpus[over]
        over = s.over_next[over]


def forget_covered(s, job):
    """A suspended job leaves: those that have its CPUs keep them as their own."""
    if s.job_covered[job] == 0:
        return
    for i in range(s.n_running[0]):
        over = s.job_over[s.running[i]]
        while over >= 0:
            if s.over_job[over] == job:
                s.free_cpus[s.row_node[s.over_row[over]]] -= s.over_cpus[over]
                s.over_job[over] = -1
            over = s.over_next[over]
    s.job_covered[job] = 0
