"""The queue: eligible jobs, each once per partition, the most urgent first.

The tier of the partition comes before the priority; jobs of equal priority are in the order of submission. The priority
of a job is computed when it becomes eligible, and for all jobs at each calculation. Source: what Slurm 22.05 was seen
to do.
"""

from vinesim.policies.slurm.billing import place_of
from vinesim.policies.slurm.codes import ELIGIBLE, N_COUNTED, US_PER_S
from vinesim.policies.slurm.fair_share import add_up, classic, decayed, fair_tree, of_job
from vinesim.policies.slurm.limits import count_accruing, may_accrue, use
from vinesim.policies.slurm.priority import age, total

FIRST = 4294901760.0  # priority/basic: priorities count down from here


def comes_before(s, i, job, part, priority):
    """Whether the i-th entry comes before a job in a partition."""
    tier, other = s.part_tier[part], s.part_tier[s.entry_part[i]]
    if tier != other:
        return other > tier
    if s.entry_priority[i] != priority:
        return s.entry_priority[i] > priority
    return s.entry_job[i] < job or (s.entry_job[i] == job and s.entry_part[i] <= part)


def enter(s, options, job, now_us):
    """Put an eligible job into the queue."""
    find_priority(s, options, job, now_us)
    for k in range(s.job_first_part[job], s.job_first_part[job + 1]):
        insert(s, job, s.job_part[k], priority_in(s, options, job, k))


def insert(s, job, part, priority):
    """Insert an entry at its place in the order."""
    i = s.n_entries[0]
    while i > 0 and not comes_before(s, i - 1, job, part, priority):
        s.entry_job[i], s.entry_part[i] = s.entry_job[i - 1], s.entry_part[i - 1]
        s.entry_priority[i] = s.entry_priority[i - 1]
        i -= 1
    s.entry_job[i], s.entry_part[i], s.entry_priority[i] = job, part, priority
    s.n_entries[0] += 1


def tidy(s):
    """Remove the entries of jobs that are no longer eligible."""
    n = 0
    for i in range(s.n_entries[0]):
        if s.job_state[s.entry_job[i]] == ELIGIBLE:
            s.entry_job[n], s.entry_part[n] = s.entry_job[i], s.entry_part[i]
            s.entry_priority[n] = s.entry_priority[i]
            n += 1
    s.n_entries[0] = n


def find_priority(s, options, job, now_us):
    """Compute the part of a job's priority that does not depend on the partition."""
    waited = (now_us - s.job_eligible_us[job]) / US_PER_S if s.job_accrues[job] else 0.0
    found = options.priority_weight_age * age(waited, options.priority_max_age) + fixed_share(s, job)
    if s.job_association[job] >= 0:
        found += options.priority_weight_fair_share * s.fair_share[s.job_association[job]]
    s.job_priority[job] = found


def fixed_share(s, job):
    """Return the constant part of a job's priority, equal in all of its partitions."""
    return s.size_share[job] + s.association_share[job] + s.qos_share[job]


def priority_in(s, options, job, k):
    """Return the priority of a job in its k-th partition: multifactor, or basic."""
    if not options.multifactor:
        return FIRST - s.job_number[job] - s.job_nice[job]
    return total(s.job_priority[job] + s.part_share[k], s.job_nice[job])


def calculate(s, options, period_us, now_us):
    """Let usage decay, and compute fair shares and priorities again."""
    period_s = period_us / US_PER_S
    kept = decayed(1.0, period_s, options.priority_decay_half_life)
    for i in range(s.usage.shape[0]):
        s.usage[i] *= kept
    for holder in range(s.holder_wall_us.shape[0]):
        if s.holder_decays[holder]:
            s.holder_wall_us[holder] *= kept
            for r in range(N_COUNTED):
                s.holder_minutes[holder * N_COUNTED + r] *= kept
    for i in range(s.n_running[0]):
        charge(s, options, s.running[i], now_us)
    if options.multifactor:
        find_fair_shares(s, options)
        tidy(s)
        n_entries = s.n_entries[0]
        s.n_entries[0] = 0
        for i in range(n_entries):
            refresh(s, options, s.entry_job[i], s.entry_part[i], s.entry_priority[i], now_us)


def refresh(s, options, job, part, before, now_us):
    """Put a job into the queue again with its current priority; with ``incr_only``, a priority never falls."""
    if not s.job_accrues[job] and may_accrue(s, options, job):
        count_accruing(s, job, 1)
        s.job_eligible_us[job] = now_us
    find_priority(s, options, job, now_us)
    priority = priority_in(s, options, job, place_of(s, job, part))
    insert(s, job, part, max(priority, before) if options.incr_only else priority)


def charge(s, options, job, now_us):
    """Charge a job for what it has used since it was last charged."""
    since_us = now_us - max(s.job_charged_us[job], s.job_start_us[job])
    s.job_charged_us[job] = now_us
    if since_us <= 0.0:
        return
    association = s.job_association[job]
    if association >= 0:
        billed = s.job_billed[job] * s.job_usage_factor[job]
        s.usage[association] += of_job(since_us / US_PER_S, billed, options.priority_decay_half_life)
    use(s, job, since_us)


def find_fair_shares(s, options):
    """Compute the fair shares of all associations from what they have used."""
    n = s.parent.shape[0]
    if n == 0 or options.priority_weight_fair_share == 0.0:
        return
    add_up(s.parent, s.is_user, s.usage)
    if options.fair_tree:
        fair_tree(
            s.parent, s.depth, s.above, s.raw_shares, s.sibling_shares, s.usage, s.levels, s.user_order, s.fair_share
        )
    else:
        classic(s.parent, s.raw_shares, s.sibling_shares, s.usage, s.normalized, s.effective, s.fair_share)
