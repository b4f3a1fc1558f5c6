"""Licences: numbers for the whole cluster, of which running jobs hold some.

A job without its licences is passed over: it closes no partition, and backfill plans nothing for it. Source: what
Slurm 22.05 was seen to do.
"""


def lacks_licences(s, job):
    """Whether fewer licences are free than a job asks for."""
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        if s.free_licences[s.job_licence[i]] < s.job_n_licences[i]:
            return True
    return False


def count_licences(s, job, sign):
    """Add the licences of a job, sign +1, to what is free, or take them away, -1."""
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        s.free_licences[s.job_licence[i]] += sign * s.job_n_licences[i]
