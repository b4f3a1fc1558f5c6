"""Multifactor priority: the factors of a job, each 0 to 1, and their weighted sum.

Source: the manual page "Multifactor Priority Plugin", and what Slurm 22.05 was seen to print.
"""

import numpy as np


def whole_minutes(seconds):
    """The longest age that counts, as Slurm keeps it: in whole minutes, rounded up."""
    return np.ceil(seconds / 60.0) * 60.0


def age(waited_s, max_age_s):
    """How long a job has been eligible, as a part of the longest age that counts."""
    return min(1.0, max(0.0, waited_s) / max_age_s) if max_age_s > 0.0 else 0.0


def size(n_nodes, n_cpus, limit_min, cluster_nodes, cluster_cpus, is_by_time, favours_small):
    """The size of a job, as a part of the cluster, or the rest of the cluster where small jobs are favoured.

    The mean of the parts of its nodes, as many as it asked for, at least 1, and its CPUs: all of a node that it has to
    itself, which are counted from the first calculation on. By time: the larger part, by minute of its limit.
    """
    of_nodes, of_cpus = n_nodes / cluster_nodes, n_cpus / cluster_cpus
    part = np.maximum(of_nodes, of_cpus) / limit_min if is_by_time else (of_nodes + of_cpus) / 2.0
    return 1.0 - part if favours_small else part


def of_largest(value, largest):
    """A priority that is given, as a part of the largest that anybody has; arrays too."""
    return value / largest if largest > 0.0 else value * 0.0


def of_resource(requested, total):
    """A resource that a job asks for, as a part of what its partition has; arrays too."""
    return np.minimum(1.0, requested / np.where(np.asarray(total) > 0.0, total, np.inf))


def total(weighted, nice):
    """The priority of a job, at least 1, of the sum of its weighted factors."""
    return max(1.0, np.trunc(weighted) - nice)
