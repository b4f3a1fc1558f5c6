"""Which nodes a job may have at a time, which of them it gets, and how many CPUs of each.

A job may have the nodes of its partition that are up and that no reservation keeps from it. Nodes of the lowest weight
come first. Within one weight, consecutive usable nodes form a *run*. The run that suffices with the fewest CPUs is
taken; in it, the one node with the fewest free CPUs if one node is enough, otherwise nodes from its low end. If no run
suffices, the largest are combined. With switches, leaves of the tree take the place of runs (``switches.py``); with
LLN, the least loaded nodes come first (``least_loaded.py``). Nodes that a job names come first, then those of the same
run. With ``pack_serial_at_end``, a job of one CPU gets the last node. Source: what Slurm 22.05 was seen to do
(select/cons_tres with cores and memory).

``free`` is what is free now, or would be at another time: CPUs [N], memory in MiB [N], and [N K] GPUs by type, followed
by the CPUs that a partition with MaxCPUsPerNode lets its jobs have.
"""

from vinesim.policies.slurm.codes import NO_KIND
from vinesim.policies.slurm.least_loaded import choose_least_loaded
from vinesim.policies.slurm.node_sets import ALL, WORD
from vinesim.policies.slurm.switches import NO_LIMIT, choose_below_switches, is_named, most_leaves, take, take_named


def find_nodes(s, job, part, begin_us, end_us, may):
    """Find the nodes of a partition that a job may have during a time, and the rules for choosing among them.

    The rules are the number of switches, whether the least loaded nodes come first, and how many CPUs of a node the
    partition may use.
    """
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
    """Return the end of the first reservation that keeps a job from nodes during a time; infinite if none does."""
    for i in range(s.reservation_begin_us.shape[0]):
        if i != s.job_reservation[job] and s.reservation_begin_us[i] < end_us and s.reservation_end_us[i] > begin_us:
            return s.reservation_end_us[i]
    return 1e300


def usable_cpus(s, request, node, free_cpus, free_memory, free_kinds):
    """Return the CPUs of a node that a job with this request could get; 0 if it cannot run there."""
    cpus, first = min(free_cpus[node], s.node_cpus[node]), node * s.n_kinds[0]
    if s.cpus_kind[0] >= 0:
        cpus = min(cpus, free_kinds[first + s.cpus_kind[0]])
    if cpus <= 0 or (s.request_exclusive[request] and cpus < s.node_cpus[node]):
        return 0
    of_node = s.request_node_memory[request]
    if of_node > free_memory[node] or (of_node < 0.0 and free_memory[node] < s.node_memory[node]):
        return 0
    if s.request_cpu_memory[request] > 0.0:
        cpus = min(cpus, int(free_memory[node] / s.request_cpu_memory[request]))
    kind = s.request_kind[request]
    if kind != NO_KIND:
        gpus = 0
        if kind >= 0:
            gpus = free_kinds[first + kind]
        else:
            for other in range(s.n_gpu_kinds[0]):
                gpus = max(gpus, free_kinds[first + other])
        if gpus < s.request_gpus[request]:
            return 0
    fixed = s.request_per_node[request]
    if fixed > 0:
        return fixed if cpus >= fixed else 0
    return cpus - cpus % s.request_step[request]


def may_have_room(s, request, part):
    """Whether the free resources of a partition suffice for a request, ignoring reservations and plans.

    If not, no job with this request can start. The answer is cached until free resources change.
    """
    at = request * s.part_tier.shape[0] + part
    if s.room_at[at] != s.room_version[0]:
        s.room_at[at] = s.room_version[0]
        s.has_room[at] = has_room_until(s, request, part, -1.0)
    return s.has_room[at]


def has_room_until(s, request, part, until_us):
    """Whether the nodes that are planned for no job until a time suffice for a request."""
    n, total, largest, n_words = 0, 0, 0, s.up_nodes.shape[0]
    s.cpus_kind[0] = s.part_cpus_kind[part]
    first, partition = s.request_features[request] * n_words, part * n_words
    size = s.size_cpus[s.request_size[request]]
    for word in range(n_words):
        bits, node = s.part_nodes[partition + word] & s.up_nodes[word] & s.feature_nodes[first + word], word * WORD
        while bits != 0:
            if bits & 1 == 1 and s.free_cpus[node] >= size and s.planned_from_us[node] > until_us:
                cpus = usable_cpus(s, request, node, s.free_cpus, s.free_memory, s.free_kinds)
                n, total, largest = n + (cpus > 0), total + cpus, max(largest, cpus)
            bits, node = bits >> 1, node + 1
    need = s.request_cpus[request]
    is_enough = n >= s.request_least[request] and total >= need
    return is_enough and (s.request_most[request] > 1 or largest >= need)


def choose(s, request, may, free_cpus, free_memory, free_kinds):
    """Choose nodes from those that a job may have, and return how many; 0 if there is no room.

    The nodes are in ``got_node``, their CPUs in ``got_cpus``.
    """
    n, total, n_words, size = 0, 0, may.shape[0], s.size_cpus[s.request_size[request]]
    first = s.request_features[request] * n_words
    for word in range(n_words):
        bits, node = may[word] & s.feature_nodes[first + word], word * WORD
        while bits != 0:
            if bits & 0xFF == 0:
                bits, node = bits >> 8, node + 8
                continue
            if bits & 1 == 1 and free_cpus[node] >= size:
                cpus = usable_cpus(s, request, node, free_cpus, free_memory, free_kinds)
                if cpus > 0:
                    s.use_node[n], s.use_cpus[n] = node, cpus
                    n, total = n + 1, total + cpus
            bits, node = bits >> 1, node + 1
    if n < s.request_least[request] or total < s.request_cpus[request]:
        return 0
    for weight in range(s.n_weights[0]):
        n_got = choose_up_to(s, request, n, weight, free_cpus)
        if n_got > 0:
            return n_got
    return 0


def choose_in_use(s, request, may, free_cpus, free_memory, free_kinds):
    """Choose nodes as :func:`choose` does, but prefer nodes in use among those of equal weight (``bf_busy_nodes``)."""
    n_nodes = s.node_cpus.shape[0]
    for node in range(n_nodes):
        s.node_weight[node] = 2 * s.node_weight[node] + (s.free_cpus[node] == s.node_cpus[node])
    s.n_weights[0] *= 2
    n_got = choose(s, request, may, free_cpus, free_memory, free_kinds)
    for node in range(n_nodes):
        s.node_weight[node] //= 2
    s.n_weights[0] //= 2
    return n_got


def choose_up_to(s, request, n, weight, free_cpus):
    """Choose nodes, of weight at most ``weight``, from the first n usable ones."""
    need, least, most = s.request_cpus[request], s.request_least[request], s.request_most[request]
    n_in, n_named = 0, 0
    for i in range(n):
        named = is_named(s, request, s.use_node[i])
        fits = (named or s.node_weight[s.use_node[i]] <= weight) and (most > 1 or s.use_cpus[i] >= need)
        s.use_is_in[i] = fits
        n_in += fits
        n_named += named and fits
    if n_in < least or n_named < s.request_n_named[request]:
        return 0
    if most < n_in and largest_together(s, n, most) < need:
        return 0
    if s.is_least_loaded[0]:
        return choose_least_loaded(s, request, n, need, least, most, free_cpus)
    if s.n_leaves[0] > 0:
        return choose_below_switches(s, request, n, need, least, most, free_cpus)
    if s.request_is_serial[request]:
        return choose_last(s, n)
    n_got, left_cpus, left_nodes = take_named(s, request, n, need, least)
    if n_got > 0:
        n_got, left_cpus, left_nodes = take_near(s, request, n, n_got, left_cpus, left_nodes)
    while (left_cpus > 0 or left_nodes > 0) and n_got < most:
        first, last = best_run(s, n, left_cpus, left_nodes, most)
        if first < 0:
            return 0
        if n_got == 0 and least <= 1:
            tightest = tightest_node(s, first, last, left_cpus, free_cpus)
            if tightest >= 0:
                s.got_node[0], s.got_cpus[0] = tightest, left_cpus
                return 1
        for i in range(first, last):
            if n_got < most and (left_cpus > 0 or left_nodes > 0):
                left_cpus -= take(s, request, i, n_got, left_cpus, left_nodes)
                n_got, left_nodes = n_got + 1, left_nodes - 1
    return n_got if left_cpus <= 0 and left_nodes <= 0 else 0


def choose_last(s, n):
    """Choose the last node, for a job of one CPU (``pack_serial_at_end``)."""
    i = n - 1
    while not s.use_is_in[i]:
        i -= 1
    s.got_node[0], s.got_cpus[0] = s.use_node[i], 1
    return 1


def take_near(s, request, n, n_got, left_cpus, left_nodes):
    """Take nodes of the run that contains the first named node: those above it, then those below.

    Returns how many nodes the job has now, and how many CPUs and nodes it still needs.
    """
    most, first = s.request_most[request], 0
    while s.use_node[first] != s.got_node[0]:
        first += 1
    for step in (1, -1):
        i = first + step
        while 0 <= i < n and s.use_node[i] == s.use_node[i - step] + step:
            if s.use_is_in[i] and n_got < most and (left_cpus > 0 or left_nodes > 0):
                left_cpus -= take(s, request, i, n_got, left_cpus, left_nodes)
                n_got, left_nodes = n_got + 1, left_nodes - 1
            i += step
    return n_got, left_cpus, left_nodes


def largest_together(s, n, most):
    """Return the total CPUs of the ``most`` largest usable nodes."""
    for cpus in range(s.count_of_cpus.shape[0]):
        s.count_of_cpus[cpus] = 0
    for i in range(n):
        if s.use_is_in[i]:
            s.count_of_cpus[s.use_cpus[i]] += 1
    total = 0
    for cpus in range(s.count_of_cpus.shape[0] - 1, 0, -1):
        taken = min(most, s.count_of_cpus[cpus])
        total, most = total + taken * cpus, most - taken
    return total


def best_run(s, n, left_cpus, left_nodes, most):
    """Return the first and end index, among usable nodes, of the run to take next.

    It is the smallest run of the lowest weight that suffices, or, if none does, the largest.
    """
    lowest = NO_LIMIT
    for i in range(n):
        if s.use_is_in[i]:
            lowest = min(lowest, s.node_weight[s.use_node[i]])
    found, found_end, found_cpus, found_suffices = -1, -1, 0, False
    first = 0
    while first < n:
        if not s.use_is_in[first] or s.node_weight[s.use_node[first]] != lowest:
            first += 1
            continue
        end, total, largest = first, 0, 0
        while end < n and s.use_is_in[end] and s.node_weight[s.use_node[end]] == lowest:
            if end > first and s.use_node[end] != s.use_node[end - 1] + 1:
                break
            total, largest, end = total + s.use_cpus[end], max(largest, s.use_cpus[end]), end + 1
        suffices = total >= left_cpus and end - first >= left_nodes and (most > 1 or largest >= left_cpus)
        if suffices:
            is_better = not found_suffices or total < found_cpus
        else:
            is_better = not found_suffices and (found < 0 or total > found_cpus)
        if is_better:
            found, found_end, found_cpus, found_suffices = first, end, total, suffices
        first = end
    return found, found_end


def tightest_node(s, first, end, cpus, free_cpus):
    """Return the node of a run with the fewest free CPUs that can hold the whole job; -1 if none can."""
    found = -1
    for i in range(first, end):
        if s.use_cpus[i] >= cpus and (found < 0 or free_cpus[s.use_node[i]] < free_cpus[found]):
            found = s.use_node[i]
    return found
