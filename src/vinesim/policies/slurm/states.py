"""The states of jobs, and the number of running jobs of each array, which its limit counts."""

from vinesim.policies.slurm.codes import ELIGIBLE, RUNNING, SUSPENDED


def enter_state(s, job, state):
    """Change the state of a job. Jobs that wait for it, if there are any, are checked again."""
    array = s.job_array[job]
    if array >= 0:
        s.array_running[array] += is_running(state) - is_running(s.job_state[job])
        s.array_eligible[array] += int(state == ELIGIBLE) - int(s.job_state[job] == ELIGIBLE)
    if array >= 0 or s.job_is_awaited[job]:
        s.recheck[0] = True
    s.job_state[job] = state


def is_running(state):
    """Whether a job counts towards the limit of its array."""
    return 1 if RUNNING <= state <= SUSPENDED else 0


def is_array_full(s, job):
    """Whether an array already runs the largest number of jobs that it may."""
    return s.job_throttle[job] > 0 and s.array_running[s.job_array[job]] >= s.job_throttle[job]


def may_join(s, options, job):
    """Whether the limit of its array admits one more eligible job: no more may be eligible than can be planned."""
    if s.job_throttle[job] == 0:
        return True
    left = s.job_throttle[job] - s.array_running[s.job_array[job]]
    return left > 0 and s.array_eligible[s.job_array[job]] < max(left, options.bf_max_job_array_resv)
