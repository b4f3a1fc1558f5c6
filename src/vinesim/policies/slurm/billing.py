"""What jobs are billed for: a weight for each resource of a partition, times what a job has of it.

The sum of them; or, with ``max_tres``, the largest one and those of licences, which no node has. Without weights, the
number of CPUs. A job that has nodes to itself is billed for all CPUs and GPUs of them. While it waits it is billed for
what it asks for; GPUs of no given type count as such then, and as those of their type too when it runs. Usage counts
the exact amount, limits its whole part. Source: the manual page of slurm.conf (TRESBillingWeights, PriorityFlags), and
what Slurm 22.05 was seen to print.
"""

from vinesim.policies.slurm.codes import BILLING, CPU, GPU, MEMORY, N_COUNTED, NO_KIND, NODE

N_FIRST = 4  # weights of CPUs, memory, nodes and GPUs of any type; those of each type follow


def bill(s, options, job, part):
    """What a job is billed in a partition for the nodes that it has; what it asks for where these are not known."""
    if s.job_row[job] < 0:
        return s.part_billing[place_of(s, job, part)]
    n_weights = N_FIRST + s.n_gpu_kinds[0]
    first, is_whole = part * n_weights, s.request_exclusive[s.job_request[job]]
    for i in range(n_weights):
        s.billed[i] = 0.0
    row = s.job_row[job]
    while row >= 0:
        node = s.row_node[row]
        s.billed[CPU] += s.row_cpus[row]
        s.billed[MEMORY] += s.row_memory[row]
        s.billed[NODE] += 1.0
        for kind in range(s.n_gpu_kinds[0]):
            n = s.node_kinds[node * s.n_kinds[0] + kind] if is_whole else 0
            if not is_whole and s.row_kind[row] != NO_KIND and s.row_kind[row] == kind:
                n = s.row_gpus[row]
            s.billed[GPU] += n
            s.billed[N_FIRST + kind] += n
        row = s.row_next[row]
    found = 0.0
    for i in range(n_weights):
        weighted = s.billing_weight[first + i] * s.billed[i]
        found = max(found, weighted) if options.max_tres else found + weighted
    return found + bill_of_licences(s, job, part)


def bill_of_licences(s, job, part):
    """What a job is billed for its licences."""
    found = 0.0
    for i in range(s.job_first_licence[job], s.job_first_licence[job + 1]):
        weight = s.licence_weight[part * s.free_licences.shape[0] + s.job_licence[i]]
        found += weight * s.job_n_licences[i]
    return found


def place_of(s, job, part):
    """At which place of ``job_part`` a job has a partition."""
    k = s.job_first_part[job]
    while s.job_part[k] != part:
        k += 1
    return k


def count_asked(s, job, part):
    """Let limits count what a job that waits would be billed in a partition."""
    s.job_tres[job * N_COUNTED + BILLING] = s.part_billing[place_of(s, job, part)] // 1.0


def count_billed(s, options, job, part):
    """Bill a job that starts in a partition."""
    s.job_billed[job] = bill(s, options, job, part)
    s.job_tres[job * N_COUNTED + BILLING] = s.job_billed[job] // 1.0
