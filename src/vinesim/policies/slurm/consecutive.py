"""Make a cycle of backfill try the components of each heterogeneous job consecutively (``bf_hetjob_prio``).

For the cycle, all components of a job get the lowest, mean or highest tier and priority among them, and keep their
order. No component of another job then comes between them; otherwise each job might hold what the other one needs, and
neither would ever start. Source: the manual page slurm.conf, and what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import BY_MEAN, BY_MINIMUM


def gather(s, options):
    """Reorder the queue so that the components of each job follow one another, until :func:`put_back`."""
    n = s.n_entries[0]
    for i in range(n):
        job, part = s.entry_job[i], s.entry_part[i]
        s.kept_job[i], s.kept_part[i], s.kept_priority[i] = job, part, s.entry_priority[i]
        s.rank_tier[i], s.rank_priority[i], s.rank_job[i] = s.part_tier[part], s.entry_priority[i], job
    for group in range(s.group_first.shape[0] - 1):
        rank_together(s, options, group)
    for i in range(1, n):
        while i > 0 and is_ranked_before(s, i, i - 1):
            swap(s, i)
            i -= 1


def rank_together(s, options, group):
    """Give the entries of a job's components the same rank."""
    n, tier, priority = 0, 0.0, 0.0
    for i in range(s.n_entries[0]):
        if not is_of(s, i, group):
            continue
        n += 1
        its, own = float(s.rank_tier[i]), s.rank_priority[i]
        if n == 1:
            tier, priority = its, own
        elif options.hetjob_prio == BY_MEAN:
            tier, priority = tier + its, priority + own
        elif options.hetjob_prio == BY_MINIMUM:
            tier, priority = min(tier, its), min(priority, own)
        else:
            tier, priority = max(tier, its), max(priority, own)
    if options.hetjob_prio == BY_MEAN and n > 0:
        tier, priority = tier / n, priority / n
    for i in range(s.n_entries[0]):
        if is_of(s, i, group):
            s.rank_tier[i], s.rank_priority[i] = int(tier), priority
            s.rank_job[i] = s.member_job[s.group_first[group]]


def is_of(s, i, group):
    """Whether an entry belongs to a component of a job."""
    member = s.job_member[s.entry_job[i]]
    return member >= 0 and s.member_group[member] == group


def is_ranked_before(s, i, other):
    """Whether an entry comes before another one that is ahead of it."""
    if s.rank_tier[i] != s.rank_tier[other]:
        return s.rank_tier[i] > s.rank_tier[other]
    if s.rank_priority[i] != s.rank_priority[other]:
        return s.rank_priority[i] > s.rank_priority[other]
    return s.rank_job[i] < s.rank_job[other]


def swap(s, i):
    """Swap an entry with the one ahead of it."""
    j = i - 1
    s.entry_job[i], s.entry_job[j] = s.entry_job[j], s.entry_job[i]
    s.entry_part[i], s.entry_part[j] = s.entry_part[j], s.entry_part[i]
    s.entry_priority[i], s.entry_priority[j] = s.entry_priority[j], s.entry_priority[i]
    s.rank_tier[i], s.rank_tier[j] = s.rank_tier[j], s.rank_tier[i]
    s.rank_priority[i], s.rank_priority[j] = s.rank_priority[j], s.rank_priority[i]
    s.rank_job[i], s.rank_job[j] = s.rank_job[j], s.rank_job[i]


def put_back(s):
    """Restore the order of the queue."""
    for i in range(s.n_entries[0]):
        s.entry_job[i], s.entry_part[i], s.entry_priority[i] = s.kept_job[i], s.kept_part[i], s.kept_priority[i]
