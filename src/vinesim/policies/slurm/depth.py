"""How far a cycle of backfill goes through the queue, and which jobs without room reserve nothing.

Backfill tests a limited number of jobs per user, per partition, per association, and per user in a partition, whether
they start or not. It plans ``bf_max_job_array_resv`` jobs of an array, and tests none after these. A job that has been
eligible for less than ``bf_min_age_reserve``, or has a priority below ``bf_min_prio_reserve``, gets no plan, and closes
nothing in the main scheduler. In each partition, only the first ``bf_job_part_count_reserve`` jobs that lack room get a
plan. With ``bf_one_resv_per_job``, a job gets a plan in only one of its partitions. Source: the manual page slurm.conf,
and what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import US_PER_S
from vinesim.policies.slurm.node_sets import fill


def begin_tests(s, options):
    """Reset the counts of tested and planned jobs."""
    fill(s.user_tested, 0)
    fill(s.part_tested, 0)
    if options.bf_max_job_assoc > 0:
        fill(s.association_tested, 0)
    if options.bf_max_job_user_part > 0:
        fill(s.user_part_tested, 0)
    if options.bf_job_part_count_reserve > 0:
        fill(s.part_planned, 0)
    s.array_planned[0], s.array_planned[1] = -1, 0


def is_array_planned(s, options, job):
    """Whether the job's array already has its largest number of planned jobs, and was the last array to be planned."""
    n = s.array_planned[1] if s.array_planned[0] == s.job_batch[job] else 0
    return n >= options.bf_max_job_array_resv and is_task_of_array(s, job)


def may_be_tested(s, options, job, part):
    """Whether another job of this user, partition and association may be tested; if so, count it."""
    user, association = s.job_user[job], s.job_association[job]
    if 0 < options.bf_max_job_user <= s.user_tested[user] or 0 < options.bf_max_job_part <= s.part_tested[part]:
        return False
    counts_association = options.bf_max_job_assoc > 0 and association >= 0
    if counts_association and s.association_tested[association] >= options.bf_max_job_assoc:
        return False
    at = user * s.part_tested.shape[0] + part
    if options.bf_max_job_user_part > 0:
        if s.user_part_tested[at] >= options.bf_max_job_user_part:
            return False
        s.user_part_tested[at] += 1
    if counts_association:
        s.association_tested[association] += 1
    s.user_tested[user] += 1
    s.part_tested[part] += 1
    return True


def is_passed_by(s, options, job, priority, now_us):
    """Whether a job that lacks room reserves nothing, because it is too young or its priority is too low."""
    is_young = now_us - s.job_eligible_us[job] < options.bf_min_age_reserve * US_PER_S
    return is_young or priority < options.bf_min_prio_reserve


def may_be_planned(s, options, job, part, priority, now_us):
    """Whether a job gets a plan if it lacks room. Components of heterogeneous jobs always do."""
    if s.job_member[job] >= 0:
        return True
    if 0 < options.bf_job_part_count_reserve <= s.part_planned[part]:
        return False
    if options.bf_one_resv_per_job and s.job_planned_in[job] == s.n_cycles[0]:
        return False
    return not is_passed_by(s, options, job, priority, now_us)


def note_plan(s, options, job, part):
    """Count a job that got a plan."""
    s.job_planned_in[job] = s.n_cycles[0]
    if options.bf_job_part_count_reserve > 0:
        s.part_planned[part] += 1
    if is_task_of_array(s, job):
        is_another = s.array_planned[0] != s.job_batch[job]
        s.array_planned[0], s.array_planned[1] = s.job_batch[job], 1 if is_another else s.array_planned[1] + 1


def is_task_of_array(s, job):
    """Whether a job was submitted with others, as an array."""
    first = s.job_batch[job]
    if s.job_member[job] >= 0:
        return False
    return first != job or (job + 1 < s.job_batch.shape[0] and s.job_batch[job + 1] == job)
