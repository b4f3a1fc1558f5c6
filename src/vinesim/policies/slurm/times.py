"""Where a job may be in a time: nodes of a partition that are up, and that no reservation keeps from it."""

from vinesim.policies.slurm.node_sets import ALL
from vinesim.policies.slurm.switches import most_leaves


def find_nodes(s, job, part, begin_us, end_us, may):
    """Fill which nodes of a partition a job may have from a time to another, and know by which rules they are
    chosen: below how many switches, the least loaded first, within which share of their CPUs."""
    s.is_least_loaded[0], s.cpus_kind[0] = s.part_least_loaded[part], s.part_cpus_kind[part]
    s.most_leaves[0] = most_leaves(s, job, begin_us)
    own, n_words = s.job_reservation[job], may.shape[0]
    for word in range(n_words):
        may[word] = s.part_nodes[part * n_words + word] & s.up_nodes[word]
    for i in range(s.reservation_begin_us.shape[0]):
        if i != own and s.reservation_begin_us[i] < end_us and s.reservation_end_us[i] > begin_us:
            for word in range(n_words):
                may[word] &= ALL - s.reservation_nodes[i * n_words + word]
    if own >= 0:
        is_on = s.reservation_begin_us[own] <= begin_us < s.reservation_end_us[own]
        for word in range(n_words):
            may[word] = may[word] & s.reservation_nodes[own * n_words + word] if is_on else 0


def first_end_of_reservation(s, job, begin_us, end_us):
    """The end of the first reservation that keeps a job from nodes in a time; infinite if none does."""
    for i in range(s.reservation_begin_us.shape[0]):
        if i != s.job_reservation[job] and s.reservation_begin_us[i] < end_us and s.reservation_end_us[i] > begin_us:
            return s.reservation_end_us[i]
    return 1e300
