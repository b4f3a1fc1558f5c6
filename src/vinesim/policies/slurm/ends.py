"""When running jobs will leave their nodes if they run until their limits: a list with one end per node of each job.

The list is rebuilt after jobs have started or ended. A *size* is the least number of CPUs that a job needs at each of
its nodes. For each size, ``ready_node`` lists the nodes that will have that number of free CPUs, in the order of the
ends after which they do. Most times at which a job would find too few such nodes are then skipped by counting bits.
"""

from vinesim.policies.slurm.codes import NO_KIND
from vinesim.policies.slurm.holding import count_in_part, suppose_free
from vinesim.policies.slurm.node_sets import WORD, has, n_in_both, put


def know_ends(s):
    """Build the list in the order of time, if it is out of date."""
    if s.ends_at[0] == s.room_version[0]:
        return
    s.ends_at[0] = s.room_version[0]
    n = 0
    for i in range(s.n_running[0]):
        job = s.running[i]
        row = s.job_row[job]
        while row >= 0:
            s.end_us[n], s.end_job[n], s.end_row[n], s.end_node[n] = s.job_end_by_us[job], job, row, s.row_node[row]
            n, row = n + 1, s.row_next[row]
    s.n_ends[0] = n


def know_ready(s, size):
    """Find when each node will have the free CPUs of a size, if that is out of date."""
    if s.ready_at[size] == s.room_version[0]:
        return
    s.ready_at[size] = s.room_version[0]
    n_nodes, cpus = s.node_cpus.shape[0], s.size_cpus[size]
    first, words, n = size * n_nodes, size * s.may.shape[0], 0
    for word in range(s.may.shape[0]):
        s.ready_now[words + word] = 0
    for node in range(n_nodes):
        s.then_cpus[node] = s.free_cpus[node]
        if s.free_cpus[node] >= cpus:
            put(s.ready_now, words, node)
    for k in range(s.n_ends[0]):
        node = s.end_node[k]
        s.then_cpus[node] += s.row_cpus[s.end_row[k]]
        if s.then_cpus[node] >= cpus and s.then_cpus[node] - s.row_cpus[s.end_row[k]] < cpus:
            s.ready_node[first + n], s.ready_end[first + n] = node, k
            n += 1
    s.n_ready[size] = n


def begin_ready(s, request):
    """Begin the search for the start of a job with this request."""
    know_ends(s)
    size = s.request_size[request]
    know_ready(s, size)
    for word in range(s.may.shape[0]):
        s.ready[word] = s.ready_now[size * s.may.shape[0] + word]
    s.n_passed[0] = 0


def may_be_ready(s, request, by_us):
    """Whether enough of the nodes that a job may have will have the CPUs that it needs by a time.

    The time must not be earlier than in the previous call.
    """
    size = s.request_size[request]
    first = size * s.node_cpus.shape[0]
    while s.n_passed[0] < s.n_ready[size]:
        if s.end_us[s.ready_end[first + s.n_passed[0]]] > by_us:
            break
        put(s.ready, 0, s.ready_node[first + s.n_passed[0]])
        s.n_passed[0] += 1
    return n_in_both(s.may, s.ready) >= s.request_least[request]


def next_end(s, k):
    """Return the first end, from the k-th on, at a node that a job may have; the number of ends if there is none."""
    while k < s.n_ends[0] and not has(s.may, 0, s.end_node[k]):
        k += 1
    return k


def last_end(s, k):
    """Return the last end before the k-th at a node that a job may have."""
    k -= 1
    while not has(s.may, 0, s.end_node[k]):
        k -= 1
    return k


def first_after(s, k, us):
    """Return the first end, from the k-th on, that is later than a time; the number of ends if there is none."""
    end = s.n_ends[0]
    while k < end:
        middle = (k + end) // 2
        if s.end_us[middle] <= us:
            k = middle + 1
        else:
            end = middle
    return k


def cpus_after(s, first, end):
    """Return the CPUs that the ends ``first`` to ``end`` - 1 free on nodes that a job may have.

    If ``first`` is 0, the CPUs that are free now are included.
    """
    n_cpus = 0
    if first == 0:
        for node in range(s.node_cpus.shape[0]):
            n_cpus += s.free_cpus[node] if has(s.may, 0, node) else 0
    for k in range(first, end):
        n_cpus += s.row_cpus[s.end_row[k]] if has(s.may, 0, s.end_node[k]) else 0
    return n_cpus


def suppose_ends(s, end):
    """Assume that the jobs before an end have left their nodes, considering only nodes in ``able``."""
    for word in range(s.able.shape[0]):
        bits, node = s.able[word], word * WORD
        while bits != 0:
            if bits & 1 == 1:
                suppose_free(s, node)
            bits, node = bits >> 1, node + 1
    for k in range(end):
        node, row = s.end_node[k], s.end_row[k]
        if has(s.able, 0, node):
            s.then_cpus[node] += s.row_cpus[row]
            s.then_memory[node] += s.row_memory[row]
            if s.row_kind[row] != NO_KIND:
                s.then_kinds[node * s.n_kinds[0] + s.row_kind[row]] += s.row_gpus[row]
            count_in_part(s, s.end_job[k], row, 1, s.then_kinds)
