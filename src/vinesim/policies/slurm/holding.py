"""What running jobs hold: one row per node of a job, with its CPUs, memory and GPUs there."""

from vinesim.policies.slurm.codes import ANY_KIND, NO_KIND
from vinesim.policies.slurm.cores import drop_cores
from vinesim.policies.slurm.node_sets import has


def cpus_got(s, job, i):
    """Return the CPUs that a job takes at the i-th node chosen for it: all of them if it is exclusive."""
    return s.node_cpus[s.got_node[i]] if s.request_exclusive[s.job_request[job]] else s.got_cpus[i]


def memory_at(s, request, node, cpus):
    """Return the memory, MiB, that a request takes at a node where it has this number of CPUs."""
    if s.request_node_memory[request] < 0.0:
        return s.node_memory[node]
    return cpus * s.request_cpu_memory[request] + s.request_node_memory[request]


def give(s, job, n_got):
    """Give a job the nodes chosen for it."""
    request, last = s.job_request[job], -1
    for i in range(n_got):
        node, row = s.got_node[i], s.spare_row[0]
        s.spare_row[0] = s.row_next[row]
        cpus = cpus_got(s, job, i)
        s.row_memory[row] = memory_at(s, request, node, cpus)
        s.row_node[row], s.row_cpus[row] = node, cpus
        s.row_kind[row], s.row_gpus[row] = s.request_kind[request], s.request_gpus[request]
        if s.request_kind[request] == ANY_KIND:
            s.row_kind[row] = most_free_kind(s, node)
        s.row_tasks[row] = 1 if s.request_by_node[request] else s.got_cpus[i] // s.request_step[request]
        s.row_next[row] = -1
        if last < 0:
            s.job_row[job] = row
        else:
            s.row_next[last] = row
        last = row
    count(s, job, -1, s.free_cpus, s.free_memory, s.free_kinds)


def most_free_kind(s, node):
    """Return the type of GPU of which a node has the most free."""
    n, found = s.n_kinds[0], 0
    for kind in range(1, s.n_gpu_kinds[0]):
        if s.free_kinds[node * n + kind] > s.free_kinds[node * n + found]:
            found = kind
    return found


def count(s, job, sign, free_cpus, free_memory, free_kinds):
    """Add what a job holds to the free resources (``sign`` 1), or subtract it (-1)."""
    row = s.job_row[job]
    while row >= 0:
        node = s.row_node[row]
        free_cpus[node] += sign * s.row_cpus[row]
        free_memory[node] += sign * s.row_memory[row]
        if s.row_kind[row] != NO_KIND:
            free_kinds[node * s.n_kinds[0] + s.row_kind[row]] += sign * s.row_gpus[row]
        count_in_part(s, job, row, sign, free_kinds)
        row = s.row_next[row]


def count_in_part(s, job, row, sign, free_kinds):
    """Add to or subtract from the CPUs of a node that the partition of the job (if it limits them) may use."""
    kind = s.part_cpus_kind[s.job_in[job]]
    if kind >= 0:
        free_kinds[s.row_node[row] * s.n_kinds[0] + kind] += sign * s.row_cpus[row]


def take_back(s, job):
    """Free everything that a job holds."""
    count(s, job, 1, s.free_cpus, s.free_memory, s.free_kinds)
    if s.n_levels[0] > 0:
        drop_cores(s, job)
    row = s.job_row[job]
    while row >= 0:
        following = s.row_next[row]
        s.row_next[row] = s.spare_row[0]
        s.spare_row[0] = row
        row = following
    s.job_row[job] = -1


def is_on_any(s, job, nodes):
    """Whether a job holds one of these nodes."""
    row = s.job_row[job]
    while row >= 0:
        if has(nodes, 0, s.row_node[row]):
            return True
        row = s.row_next[row]
    return False


def suppose(s):
    """Set ``then_*``, the assumed free resources of all nodes, to what is free now."""
    for node in range(s.free_cpus.shape[0]):
        suppose_free(s, node)


def suppose_free(s, node):
    """Set ``then_*`` of one node to what is free there now."""
    s.then_cpus[node], s.then_memory[node] = s.free_cpus[node], s.free_memory[node]
    for i in range(node * s.n_kinds[0], (node + 1) * s.n_kinds[0]):
        s.then_kinds[i] = s.free_kinds[i]


def enter_running(s, job):
    """Add a job to the running jobs, which are ordered by the ends of their limits."""
    s.room_version[0] += 1
    i = s.n_running[0]
    while i > 0 and s.job_end_by_us[s.running[i - 1]] > s.job_end_by_us[job]:
        s.running[i] = s.running[i - 1]
        i -= 1
    s.running[i] = job
    s.n_running[0] += 1


def leave_running(s, job):
    """Remove a job from the running jobs."""
    s.room_version[0] += 1
    i = 0
    while s.running[i] != job:
        i += 1
    s.n_running[0] -= 1
    for j in range(i, s.n_running[0]):
        s.running[j] = s.running[j + 1]
