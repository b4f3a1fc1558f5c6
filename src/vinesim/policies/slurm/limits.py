"""Limits on what the jobs of an association, a user or a QOS may hold at once, or have used; and licences.

Each job counts at several *holders*: its partition's QOS and its own QOS, each of these paired with its user and with
its account, its association, and the accounts above it. If several of them set the same limit, the partition's QOS
takes precedence over the job's, and both over an association (``prepare_limits.py``). Jobs with the same holders form a
*case*, and each case lists its holders with their limits, infinite where none is in force.

A waiting job counts with what it requests; a job that gets whole nodes counts with all CPUs and GPUs of the smallest
nodes that it could get. A running job counts with what it holds. A limit that a job breaks all by itself is found
before the run (``part_never``), and so are the limits of its partition: such a job never starts there, and does not
keep others from starting.

Licences are numbers for the whole cluster; running jobs hold some of them. A job whose licences are not free is passed
over: it closes no partition, and backfill plans nothing for it.

Source: the manual pages "Resource Limits" and sacctmgr, and what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.billing import count_asked, count_found, place_of
from vinesim.policies.slurm.codes import N_COUNTED, US_PER_MINUTE

OF_JOBS, OF_WALL, OF_RESOURCE, OF_MINUTES, OF_RUN_MINUTES = range(1, 6)  # types of limits
N_KINDS = 6


def is_over(s, job, part, now_us):
    """Whether a limit keeps a job from starting in a partition now."""
    k = place_of(s, job, part)
    if s.part_never[k]:
        return True
    count_asked(s, job, k)
    return breaks_any(s, job, s.part_case[k], now_us)


def is_over_there(s, options, job, part, n_got, now_us):
    """Whether a limit keeps a job with nodes to itself from starting on the nodes that were found for it."""
    if not s.request_exclusive[s.job_request[job]]:
        return False
    count_found(s, options, job, part, n_got)
    case = s.part_case[place_of(s, job, part)]
    for r in range(N_COUNTED):
        if s.job_tres[job * N_COUNTED + r] > s.most_tres_per_job[case * N_COUNTED + r]:
            return True
    return breaks_any(s, job, case, now_us)


def breaks_any(s, job, case, now_us):
    """Whether a job would break a limit of a case."""
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        if s.is_limited[i] and broken_limit(s, job, i, now_us) > 0:
            return True
    return False


def broken_limit(s, job, i, now_us):
    """Return the limit of the i-th of ``case_holder`` that a job would break; 0 if there is none.

    It is the type of limit, plus, for a limit on a resource, N_KINDS times the number of the resource.
    """
    holder = s.case_holder[i]
    if s.holder_jobs[holder] + 1.0 > s.most_jobs[i]:
        return OF_JOBS
    if s.holder_wall_us[holder] >= s.most_wall_us[i]:
        return OF_WALL
    minutes = s.job_limit_us[job] / US_PER_MINUTE
    for r in range(N_COUNTED):
        at, amount = holder * N_COUNTED + r, s.job_tres[job * N_COUNTED + r]
        if amount <= 0.0:
            continue
        if s.holder_tres[at] + amount > s.most_tres[i * N_COUNTED + r]:
            return OF_RESOURCE + r * N_KINDS
        if s.holder_minutes[at] >= s.most_minutes[i * N_COUNTED + r]:
            return OF_MINUTES + r * N_KINDS
        most = s.most_run_minutes[i * N_COUNTED + r]
        if most < 1e300 and minutes_left(s, holder, r, now_us) + amount * minutes > most:
            return OF_RUN_MINUTES + r * N_KINDS
    return 0


def minutes_left(s, holder, r, now_us):
    """Return the amount of a resource that a holder's running jobs hold, times the minutes left of their limits."""
    first = holder * N_COUNTED
    if s.holder_left_at[holder] != s.room_version[0] or s.holder_left_us[holder] != now_us:
        s.holder_left_at[holder], s.holder_left_us[holder] = s.room_version[0], now_us
        for other in range(N_COUNTED):
            s.holder_left[first + other] = 0.0
        for i in range(s.n_running[0]):
            job = s.running[i]
            left_us = s.job_end_by_us[job] - now_us
            if left_us > 0.0 and counts_at(s, job, holder):
                for other in range(N_COUNTED):
                    amount = s.job_tres[job * N_COUNTED + other]
                    s.holder_left[first + other] += amount * s.job_usage_factor[job] * left_us / US_PER_MINUTE
    return s.holder_left[first + r]


def counts_at(s, job, holder):
    """Whether a job counts at a holder."""
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):  # noqa: SIM110 - compiled
        if s.case_holder[i] == holder:
            return True
    return False


def may_accrue(s, options, job):
    """Whether the age of one more job may count."""
    if options.accrue_always:
        return True
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        if s.holder_accruing[s.case_holder[i]] + 1.0 > s.most_accruing[i]:
            return False
    return True


def count_accruing(s, job, sign):
    """Count a job whose age begins to count (``sign`` 1) or stops counting (-1)."""
    s.job_accrues[job] = sign > 0
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        s.holder_accruing[s.case_holder[i]] += sign


def is_refused(s, job):
    """Whether a job is refused at submission.

    It is if all jobs of its array together would break a limit on submitted jobs, or if it breaks a limit by itself and
    its QOS refuses such jobs.
    """
    first = s.job_batch[job]
    if first != job:
        return s.job_is_refused[first]
    n = 0
    while job + n < s.job_batch.shape[0] and s.job_batch[job + n] == job:
        n += 1
    return s.job_denied[job] or full_holder(s, job, n) >= 0


def full_holder(s, job, n):
    """Return the first of ``case_holder`` whose limit on submitted jobs n more jobs would break; -1 if none."""
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        if s.holder_submitted[s.case_holder[i]] + n > s.most_submitted[i]:
            return i
    return -1


def count_submitted(s, job, sign):
    """Count a job that is accepted (``sign`` 1) or over (-1)."""
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        s.holder_submitted[s.case_holder[i]] += sign


def count_in(s, job, part):
    """Make a submitted job count in one of its partitions from now on."""
    case = s.part_case[place_of(s, job, part)]
    if s.job_case[job] != case:
        count_submitted(s, job, -1)
        s.job_case[job] = case
        count_submitted(s, job, 1)


def count_running(s, job, sign):
    """Count a job that starts (``sign`` 1) or ends (-1)."""
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        holder = s.case_holder[i]
        s.holder_jobs[holder] += sign
        for r in range(N_COUNTED):
            s.holder_tres[holder * N_COUNTED + r] += sign * s.job_tres[job * N_COUNTED + r]


def use(s, job, us):
    """Count what a job used during ``us`` towards limits on total use."""
    us *= s.job_usage_factor[job]
    case = s.job_case[job]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        holder = s.case_holder[i]
        s.holder_wall_us[holder] += us
        for r in range(N_COUNTED):
            s.holder_minutes[holder * N_COUNTED + r] += s.job_tres[job * N_COUNTED + r] * us / US_PER_MINUTE


def lacks_licences(s, job):
    """Whether fewer licences are free than a job asks for."""
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        if s.free_licences[s.job_licence[i]] < s.job_n_licences[i]:
            return True
    return False


def count_licences(s, job, sign):
    """Add a job's licences to the free ones (``sign`` 1), or subtract them (-1)."""
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        s.free_licences[s.job_licence[i]] += sign * s.job_n_licences[i]
