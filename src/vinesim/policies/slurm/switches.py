"""Choose nodes below switches, so that a job spans as few leaf switches as possible.

Among the switches with enough nodes below them, the lowest level wins, then the fewest usable nodes. Below the chosen
switch, leaves are taken one after another: first those of nodes that the job names, then the leaf with the fewest
usable nodes that suffices for what is left, or else the leaf with the most. A job that requests a number of switches
waits some time for them, and then takes what there is. Source: the manual page of topology.conf, and what Slurm 22.05
was seen to do.
"""

from vinesim.policies.slurm.codes import US_PER_S
from vinesim.policies.slurm.node_sets import has

NO_LIMIT = 2**30


def most_leaves(s, job, at_us):
    """Return the number of leaf switches that a job may span at a time."""
    request = s.job_request[job]
    most = s.request_switches[request]
    waits_until_us = s.job_eligible_us[job] + s.request_switch_wait[request] * US_PER_S
    return most if most > 0 and at_us < waits_until_us else NO_LIMIT


def is_named(s, request, node):
    """Whether a request names a node."""
    return s.request_n_named[request] > 0 and has(s.named_nodes, s.request_named[request] * s.may.shape[0], node)


def keep_below_one(s, request, n, need, least, most):
    """Keep only those of the n usable nodes that are below the best switch. Returns whether there is such a switch."""
    n_words, found, found_n = s.may.shape[0], -1, 0
    for switch in range(s.switch_level.shape[0]):
        if found >= 0 and s.switch_level[switch] > s.switch_level[found]:
            break
        n_in, total, largest, n_named = 0, 0, 0, 0
        for i in range(n):
            if s.use_is_in[i] and has(s.switch_nodes, switch * n_words, s.use_node[i]):
                n_in, total, largest = n_in + 1, total + s.use_cpus[i], max(largest, s.use_cpus[i])
                n_named += is_named(s, request, s.use_node[i])
        suffices = n_in >= least and total >= need and (most > 1 or largest >= need)
        suffices = suffices and n_named == s.request_n_named[request]
        if suffices and (found < 0 or n_in < found_n):
            found, found_n = switch, n_in
    if found < 0:
        return False
    for i in range(n):
        s.use_is_in[i] = s.use_is_in[i] and has(s.switch_nodes, found * n_words, s.use_node[i])
    return True


def best_leaf(s, n, left_cpus, left_nodes, most):
    """Return the leaf to take next, given n usable nodes; -1 if none is left."""
    for leaf in range(s.n_leaves[0]):
        s.leaf_nodes[leaf], s.leaf_cpus[leaf], s.leaf_largest[leaf] = 0, 0, 0
    for i in range(n):
        if s.use_is_in[i]:
            leaf, cpus = s.node_leaf[s.use_node[i]], s.use_cpus[i]
            s.leaf_nodes[leaf] += 1
            s.leaf_cpus[leaf] += cpus
            s.leaf_largest[leaf] = max(s.leaf_largest[leaf], cpus)
    found, found_suffices = -1, False
    for leaf in range(s.n_leaves[0]):
        n_in = s.leaf_nodes[leaf]
        if n_in == 0:
            continue
        suffices = n_in >= left_nodes and s.leaf_cpus[leaf] >= left_cpus
        suffices = suffices and (most > 1 or s.leaf_largest[leaf] >= left_cpus)
        if found < 0 or (suffices and not found_suffices):
            found, found_suffices = leaf, suffices
        elif suffices == found_suffices and (n_in < s.leaf_nodes[found]) == suffices and n_in != s.leaf_nodes[found]:
            found = leaf
    return found


def choose_below_switches(s, request, n, need, least, most, free_cpus):
    """Choose nodes for a job from n usable ones. Returns how many; 0 if there is no room."""
    if not keep_below_one(s, request, n, need, least, most):
        return 0
    n_got, left_cpus, left_nodes = take_named(s, request, n, need, least)
    n_leaves, k, n_named = 0, 0, n_got
    for i in range(n_got):
        n_leaves += not is_among(s, i, s.node_leaf[s.got_node[i]])
    if n_leaves > s.most_leaves[0]:
        return 0
    while (left_cpus > 0 or left_nodes > 0) and n_got < most:
        leaf = s.node_leaf[s.got_node[k]] if k < n_named else best_leaf(s, n, left_cpus, left_nodes, most)
        k += 1
        n_leaves += not is_among(s, n_got, leaf)
        if leaf < 0 or n_leaves > s.most_leaves[0]:
            return 0
        while (left_cpus > 0 or left_nodes > 0) and n_got < most:
            i = next_in_leaf(s, n, leaf, left_cpus if left_nodes <= 1 else NO_LIMIT, free_cpus)
            if i < 0:
                break
            left_cpus -= take(s, request, i, n_got, left_cpus, left_nodes)
            n_got, left_nodes = n_got + 1, left_nodes - 1
    return n_got if left_cpus <= 0 and left_nodes <= 0 else 0


def is_among(s, n_got, leaf):
    """Whether one of the first nodes of a job is below a leaf."""
    for k in range(n_got):  # noqa: SIM110 - compiled
        if s.node_leaf[s.got_node[k]] == leaf:
            return True
    return False


def take_named(s, request, n, left_cpus, left_nodes):
    """Take the nodes that a request names from n usable ones. Returns how many, and the CPUs and nodes still needed."""
    n_got = 0
    for i in range(n):
        if s.use_is_in[i] and is_named(s, request, s.use_node[i]):
            left_cpus -= take(s, request, i, n_got, left_cpus, left_nodes)
            n_got, left_nodes = n_got + 1, left_nodes - 1
    return n_got, left_cpus, left_nodes


def take(s, request, i, n_got, left_cpus, left_nodes):
    """Take the i-th usable node as the next one, and return how many of its CPUs the job gets.

    At least one task is left for each further node.
    """
    s.use_is_in[i] = False
    cpus = s.use_cpus[i]
    if s.request_per_node[request] == 0:
        step = s.request_step[request]
        cpus = max(step, min(cpus, left_cpus - step * max(left_nodes - 1, 0)))
    s.got_node[n_got], s.got_cpus[n_got] = s.use_node[i], cpus
    return cpus


def next_in_leaf(s, n, leaf, cpus, free_cpus):
    """Return the node of a leaf to take next, as an index of usable nodes.

    It is one of the lowest weight, and among these the one with the fewest free CPUs that suffices for the rest of the
    job, or, if none does, the first.
    """
    found, found_holds = -1, False
    for i in range(n):
        node = s.use_node[i]
        if not s.use_is_in[i] or s.node_leaf[node] != leaf:
            continue
        holds = s.use_cpus[i] >= cpus
        if found < 0:
            found, found_holds = i, holds
            continue
        other = s.use_node[found]
        if s.node_weight[node] != s.node_weight[other]:
            is_better = s.node_weight[node] < s.node_weight[other]
        else:
            is_better = holds and (not found_holds or free_cpus[node] < free_cpus[other])
        if is_better:
            found, found_holds = i, holds
    return found
