"""What jobs are billed: each resource that a job has, times a weight of its partition.

The bill is the sum, or with ``max_tres`` the largest product plus those of licences, which no node has. Without
weights, it is the number of CPUs. A job with whole nodes is billed for all of their CPUs and GPUs. A waiting job is
billed for what it requests; GPUs of no given type then count only as GPUs, and once the job runs also as their type.
Usage counts the exact amount, limits its whole part. Source: the manual page of slurm.conf (TRESBillingWeights,
PriorityFlags), and what Slurm 22.05 was seen to print.
"""

from vinesim.policies.slurm.codes import BILLING, CPU, GPU, MEMORY, N_COUNTED, NODE
from vinesim.policies.slurm.holding import memory_at
from vinesim.policies.slurm.node_sets import fill

N_FIRST = 4  # weights of CPUs, memory, nodes and GPUs of any type; those of each type follow


def add_held(s, job):
    """Set ``billed`` to what a job holds."""
    fill(s.billed, 0.0)
    is_whole, row = s.request_exclusive[s.job_request[job]], s.job_row[job]
    while row >= 0:
        add_node(s, s.row_node[row], s.row_cpus[row], s.row_memory[row], is_whole)
        if not is_whole and 0 <= s.row_kind[row] < s.n_gpu_kinds[0]:
            s.billed[GPU] += s.row_gpus[row]
            s.billed[N_FIRST + s.row_kind[row]] += s.row_gpus[row]
        row = s.row_next[row]


def add_found(s, job, n_got):
    """Set ``billed`` to what a job with nodes to itself would hold on the nodes that were found for it."""
    fill(s.billed, 0.0)
    for i in range(n_got):
        node = s.got_node[i]
        add_node(s, node, s.node_cpus[node], memory_at(s, s.job_request[job], node, s.node_cpus[node]), True)


def add_node(s, node, cpus, memory, is_whole):
    """Add what a job holds of a node, with all GPUs of the node if ``is_whole``."""
    s.billed[CPU] += cpus
    s.billed[MEMORY] += memory
    s.billed[NODE] += 1.0
    for kind in range(s.n_gpu_kinds[0] if is_whole else 0):
        n = s.node_kinds[node * s.n_kinds[0] + kind]
        s.billed[GPU] += n
        s.billed[N_FIRST + kind] += n


def bill(s, options, job, part):
    """Return the bill of a job in a partition for the amounts in ``billed``."""
    n_weights = N_FIRST + s.n_gpu_kinds[0]
    first, found = part * n_weights, 0.0
    for i in range(n_weights):
        weighted = s.billing_weight[first + i] * s.billed[i]
        found = max(found, weighted) if options.max_tres else found + weighted
    return found + bill_of_licences(s, job, part)


def bill_of_licences(s, job, part):
    """Return the bill of a job for its licences."""
    found = 0.0
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        weight = s.licence_weight[part * s.free_licences.shape[0] + s.job_licence[i]]
        found += weight * s.job_n_licences[i]
    return found


def place_of(s, job, part):
    """Return the index in ``job_part`` of a job's entry for a partition."""
    k = s.job_first_part[job]
    while s.job_part[k] != part:
        k += 1
    return k


def count_asked(s, job, k):
    """Make limits count what a job requests, or would hold at least, in the partition ``job_part[k]`` of its own."""
    if s.job_counted[job] == k:
        return
    s.job_counted[job] = k
    for r in range(N_COUNTED):
        s.job_tres[job * N_COUNTED + r] = s.part_tres[k * N_COUNTED + r]


def count_found(s, options, job, part, n_got):
    """Make limits count what a job with nodes to itself would hold on the nodes that were found for it."""
    add_found(s, job, n_got)
    count_billed(s, job, bill(s, options, job, part))


def count_held(s, options, job, part):
    """Bill a job that starts in a partition. Limits count what it holds, or requests if its nodes are unknown."""
    if s.job_row[job] < 0:
        k = place_of(s, job, part)
        s.job_billed[job] = s.part_billing[k]
        count_asked(s, job, k)
        return
    add_held(s, job)
    s.job_billed[job] = bill(s, options, job, part)
    count_billed(s, job, s.job_billed[job])


def count_billed(s, job, amount):
    """Make limits count the amounts in ``billed`` and the bill for them."""
    s.job_counted[job] = -1
    for r in range(BILLING):
        s.job_tres[job * N_COUNTED + r] = s.billed[r]
    s.job_tres[job * N_COUNTED + BILLING] = amount // 1.0
