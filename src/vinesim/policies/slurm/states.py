"""The states of jobs, and how many of each array run: its limit counts them."""

from vinesim.policies.slurm.codes import ELIGIBLE, RUNNING, SUSPENDED


def enter_state(s, job, state):
    """Let a job be in a state. Those that wait for what has happened, if there are any, are looked at again."""
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
    """Whether as many jobs of an array run as may."""
    return s.job_throttle[job] > 0 and s.array_running[s.job_array[job]] >= s.job_throttle[job]


def may_join(s, options, job):
    """Whether a job may be eligible as far as the limit of its array goes. No more of it are than can be planned."""
    if s.job_throttle[job] == 0:
        return True
    left = s.job_throttle[job] - s.array_running[s.job_array[job]]
    return left > 0 and s.array_eligible[s.job_array[job]] < max(left, options.bf_max_job_array_resv)
