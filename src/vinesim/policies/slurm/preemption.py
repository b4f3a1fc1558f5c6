"""Preemption: jobs are requeued, cancelled or suspended for those of upper tiers, or of a QOS that may preempt theirs.

Requeue and cancel: of the jobs on its nodes that it may preempt, and that have run for their exempt time, as few as
suffice: those of the lowest tier or QOS priority first, of these the one on the fewest nodes, and of these the one that
started first, or, with ``preempt_youngest_first``, simply the one that started last. If one does not suffice, it is
tried once more with the last one first (``preempt_reorder_count``, 1). A victim whose partition or QOS has a GraceTime
goes on until it is over, and is preempted at the next check of time limits. What follows says tier for both.
Suspend: see ``cores.py``. Source: what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import CANCEL, KILL, REQUEUE, STOP
from vinesim.policies.slurm.cores import suppose_level
from vinesim.policies.slurm.holding import count, is_on_any, suppose
from vinesim.policies.slurm.node_sets import has, put, remove
from vinesim.policies.slurm.nodes import choose


def choose_now(s, options, job, part, now_us):
    """Choose nodes for a job with the resources that preemption frees, and return how many, as :func:`choose` does.

    The jobs to be preempted are in ``victims``.
    """
    s.n_victims[0] = 0
    request = s.job_request[job]
    n_got = choose(s, request, s.may, s.free_cpus, s.free_memory, s.free_kinds)
    if n_got > 0 or not options.preempts:
        return n_got
    if options.suspends:
        for level in range(1, s.class_level[class_of(s, job, part)] + 1):
            suppose_level(s, level)
            n_got = choose(s, request, s.may, s.then_cpus, s.free_memory, s.free_kinds)
            if n_got > 0:
                return n_got
        return 0
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
    """Assume that victims leave, one after another, until there are enough nodes; only these stay in ``victims``."""
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
    """Put the last victim first, because it made room, then those on most of the chosen nodes."""
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
    """Return on how many of the chosen nodes a job runs."""
    n, row = 0, s.job_row[job]
    while row >= 0:
        n, row = n + has(s.chosen, 0, s.row_node[row]), s.row_next[row]
    return n


def mark_chosen(s, n_got):
    """Set ``chosen`` to the nodes that were found."""
    for i in range(n_got):
        put(s.chosen, 0, s.got_node[i])


def forget_chosen(s, n_got):
    """Remove all nodes from ``chosen``."""
    for i in range(n_got):
        remove(s.chosen, 0, s.got_node[i])


def class_of(s, job, part):
    """Return the class of a job in a partition: its QOS, or the partition."""
    return s.job_class[job] if s.job_class[job] >= 0 else part


def find_victims(s, options, own, now_us):
    """Fill ``victims`` with the jobs that a job of the class ``own`` may preempt, in the order of preemption."""
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
    """Return the number of nodes on which a job runs."""
    n, row = 0, s.job_row[job]
    while row >= 0:
        n, row = n + 1, s.row_next[row]
    return n


def keep_needed(s, n_got):
    """Keep only victims that run on chosen nodes."""
    mark_chosen(s, n_got)
    n = 0
    for i in range(s.n_victims[0]):
        if is_on_any(s, s.victims[i], s.chosen):
            s.victims[n] = s.victims[i]
            n += 1
    s.n_victims[0] = n
    forget_chosen(s, n_got)


def way_of(s, victim):
    """Return what the engine does to a victim."""
    is_cancelled = s.class_preempt[class_of(s, victim, s.job_in[victim])] == CANCEL
    return KILL if is_cancelled or not s.job_requeue[victim] else STOP
