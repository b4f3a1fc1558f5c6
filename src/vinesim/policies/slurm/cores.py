"""Which cores of their nodes jobs have, if jobs of higher tiers suspend those of lower tiers.

Each tier is a level, 0 the lowest. Jobs of a partition that nobody preempts are *spared*, like those of the highest
level. A job may take cores that lower levels have. It leaves the cores of as many levels as possible untouched, from
the highest down; then it takes the lowest core numbers, whether or not lower levels have them and others are free. The
cores alone decide what runs, from the highest level down: a job is suspended while a running job of a higher level has
one of its cores. Source: what Slurm 22.05 was seen to do (PreemptMode=SUSPEND,GANG, OverSubscribe=FORCE:1).

C words hold the cores of a node (``node_sets.py``). If nothing can be suspended, there are no levels and no cores.
"""

from vinesim.policies.slurm.codes import RUNNING
from vinesim.policies.slurm.node_sets import fill, has, ones, put


def n_core_words(s):
    """Return the number of integers that hold the cores of a node."""
    return s.shadow.shape[0] // s.node_cpus.shape[0]


def suppose_level(s, level):
    """Set ``then_cpus`` to the CPUs that are free for a job that takes nothing of this level and higher ones."""
    n_nodes = s.node_cpus.shape[0]
    for node in range(n_nodes):
        s.then_cpus[node] = s.level_cpus[level * n_nodes + node]


def take_cores(s, job, own):
    """Give a job of a level cores at its nodes."""
    first, end = 0, s.n_levels[0]
    while first < own and not has_enough(s, job, first, end):
        first += 1
    if not has_enough(s, job, first, end):  # it ran before, and is suspended until other jobs leave its cores
        first, end = s.job_level[job], s.job_level[job] + 1
    width, row = n_core_words(s), s.job_row[job]
    while row >= 0:
        node, left = s.row_node[row], s.row_cpus[row]
        for word in range(width):
            s.row_cores[row * width + word] = 0
        for core in range(s.node_cpus[node]):
            if left > 0 and not is_taken(s, node, core, first, end):
                put(s.row_cores, row * width, core)
                left -= 1
        for word in range(width):
            s.level_cores[first_core_word(s, s.job_level[job], node) + word] |= s.row_cores[row * width + word]
        know_free(s, node)
        row = s.row_next[row]


def drop_cores(s, job):
    """Take all cores from a job."""
    width, row = n_core_words(s), s.job_row[job]
    while row >= 0:
        for word in range(width):
            at = first_core_word(s, s.job_level[job], s.row_node[row]) + word
            s.level_cores[at] &= ~s.row_cores[row * width + word]
        know_free(s, s.row_node[row])
        row = s.row_next[row]


def first_core_word(s, level, node):
    """Return the index at which the cores of a node that jobs of a level hold begin."""
    return (level * s.node_cpus.shape[0] + node) * n_core_words(s)


def is_taken(s, node, core, first, end):
    """Whether a job of the levels ``first`` to ``end`` - 1 holds a core."""
    for level in range(first, end):  # noqa: SIM110 - compiled
        if has(s.level_cores, first_core_word(s, level, node), core):
            return True
    return False


def has_enough(s, job, first, end):
    """Whether a job finds its CPUs at its nodes if it takes nothing of the levels ``first`` to ``end`` - 1."""
    row = s.job_row[job]
    while row >= 0:
        node, n_free = s.row_node[row], 0
        for core in range(s.node_cpus[node]):
            n_free += not is_taken(s, node, core, first, end)
        if n_free < s.row_cpus[row]:
            return False
        row = s.row_next[row]
    return True


def know_free(s, node):
    """Update how many CPUs of a node are free for each level."""
    n_nodes = s.node_cpus.shape[0]
    for level in range(s.n_levels[0]):
        s.level_cpus[level * n_nodes + node] = s.node_cpus[node]
    for word in range(n_core_words(s)):
        held = 0
        for level in range(s.n_levels[0] - 1, -1, -1):
            held |= s.level_cores[first_core_word(s, level, node) + word]
            s.level_cpus[level * n_nodes + node] -= ones(held)
    s.free_cpus[node] = s.level_cpus[node]


def find_changes(s, is_all_up):
    """Fill ``victims`` with the running jobs that will be suspended, and the suspended jobs that continue."""
    n = 0
    fill(s.shadow, 0)
    for level in range(s.n_levels[0] - 1, -1, -1):
        for i in range(s.n_running[0]):
            job = s.running[i]
            if s.job_level[job] != level:
                continue
            is_running, is_below = s.job_state[job] == RUNNING, is_in_shadow(s, job)
            if is_running == is_below:
                s.victims[n] = job
                n += 1
            if not is_below and (is_running or is_all_up(s, job)):
                cast_shadow(s, job)
    s.n_victims[0] = n


def is_in_shadow(s, job):
    """Whether a running job of a higher level holds one of the job's cores."""
    width, row = n_core_words(s), s.job_row[job]
    while row >= 0:
        for word in range(width):
            if s.shadow[s.row_node[row] * width + word] & s.row_cores[row * width + word] != 0:
                return True
        row = s.row_next[row]
    return False


def cast_shadow(s, job):
    """Mark the cores of a job as used by a higher level, so that no job of lower levels runs on them."""
    width, row = n_core_words(s), s.job_row[job]
    while row >= 0:
        for word in range(width):
            s.shadow[s.row_node[row] * width + word] |= s.row_cores[row * width + word]
        row = s.row_next[row]


def suppose_cores(s, end, own):
    """Assume that all jobs of this level and the levels above it whose ends come before ``end`` have left their cores.

    Only nodes in ``able`` are considered.
    """
    width = n_core_words(s)
    fill(s.shadow, 0)
    for k in range(end, s.n_ends[0]):
        if s.job_level[s.end_job[k]] >= own:
            for word in range(width):
                s.shadow[s.end_node[k] * width + word] |= s.row_cores[s.end_row[k] * width + word]
    for node in range(s.node_cpus.shape[0]):
        if has(s.able, 0, node):
            s.then_cpus[node] = s.node_cpus[node]
            for word in range(width):
                s.then_cpus[node] -= ones(s.shadow[node * width + word])
