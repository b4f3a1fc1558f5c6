"""Multifactor priority: the factors of a job, each from 0 to 1, and their weighted sum.

Source: the manual page "Multifactor Priority Plugin", and what Slurm 22.05 was seen to print.
"""

import numpy as np


def whole_minutes(seconds):
    """Return the longest age that counts, s, which Slurm rounds up to whole minutes."""
    return np.ceil(seconds / 60.0) * 60.0


def age(waited_s, max_age_s):
    """Return how long a job has been eligible, relative to the longest age that counts."""
    return min(1.0, max(0.0, waited_s) / max_age_s) if max_age_s > 0.0 else 0.0


def size(n_nodes, n_cpus, limit_min, cluster_nodes, cluster_cpus, is_by_time, favours_small):
    """Return the size of a job relative to the cluster, or 1 minus that if small jobs are favoured.

    The size is the mean of its share of the nodes (at least 1 node) and its share of the CPUs. A job with whole nodes
    counts with all of their CPUs from the first calculation on. By time: the larger share, divided by the minutes of
    the job's limit.
    """
    of_nodes, of_cpus = n_nodes / cluster_nodes, n_cpus / cluster_cpus
    part = np.maximum(of_nodes, of_cpus) / limit_min if is_by_time else (of_nodes + of_cpus) / 2.0
    return 1.0 - part if favours_small else part


def of_largest(value, largest):
    """Return a given priority relative to the largest one, for numbers or arrays."""
    return value / largest if largest > 0.0 else value * 0.0


def of_resource(requested, total):
    """Return the requested amount of a resource relative to what the partition has, for numbers or arrays."""
    return np.minimum(1.0, requested / np.where(np.asarray(total) > 0.0, total, np.inf))


def total(weighted, nice):
    """Return the priority of a job, at least 1, from the sum of its weighted factors and its nice value."""
    return max(1.0, np.trunc(weighted) - nice)
