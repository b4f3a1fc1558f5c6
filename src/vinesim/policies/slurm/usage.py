"""What associations have used: billing units x seconds, half of which is forgotten after each half life.

Rule: at each calculation, a period P after the last one, usage U becomes U 2^(-P/H) + n b 2^(-n/H) for a job that ran
n seconds of that period and is billed b units; when a job ends, what it ran since the last calculation is added in the
same way. Without a half life, H = 0, nothing is forgotten. Source: the manual page "Multifactor Priority Plugin"
(decay), and what Slurm 22.05 was seen to print.
"""


def decayed(usage, seconds, half_life_s):
    """What is left of usage after some seconds."""
    return usage * 2.0 ** (-seconds / half_life_s) if half_life_s > 0.0 else usage


def of_job(seconds, billing, half_life_s):
    """What a job adds that ran some seconds since the last calculation."""
    return decayed(seconds * billing, seconds, half_life_s)


def add_up(parent, is_user, usage):
    """Let the usage of each account be the sum of what is in it. Parents come before their children."""
    for i in range(parent.shape[0]):
        if not is_user[i]:
            usage[i] = 0.0
    for i in range(parent.shape[0] - 1, 0, -1):
        usage[parent[i]] += usage[i]
