"""The states of jobs, and how many of each array are active: its limit counts them."""

from vinesim.policies.slurm.codes import ELIGIBLE, SUSPENDED


def enter_state(s, job, state):
    """Let a job be in a state. Those that wait for what has happened, if there are any, are looked at again."""
    array = s.job_array[job]
    if array >= 0:
        s.array_active[array] += is_active(state) - is_active(s.job_state[job])
    if array >= 0 or s.job_is_awaited[job]:
        s.recheck[0] = True
    s.job_state[job] = state


def is_active(state):
    """Whether a job counts towards the limit of its array: it is eligible, or runs."""
    return 1 if ELIGIBLE <= state <= SUSPENDED else 0
