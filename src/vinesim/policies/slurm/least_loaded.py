"""Choose the least loaded nodes first: for partitions with LLN, or for a cluster with CR_LLN.

Nodes that the job names come first. Then come nodes of the lowest weight, among these the one with the largest share of
free CPUs, then the first. Runs of nodes and switches do not matter here, nor whether one node would be enough. If the
largest allowed number of nodes lacks CPUs, the node that could give the fewest is left out and the search is repeated.
Source: what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.switches import is_named, take, take_named


def choose_least_loaded(s, request, n, need, least, most, free_cpus):
    """Take nodes for a job from n usable ones. Returns how many; 0 if there is no room."""
    for _ in range(n):
        n_got, left_cpus, left_nodes = take_named(s, request, n, need, least)
        while (left_cpus > 0 or left_nodes > 0) and n_got < most:
            i = least_loaded(s, n, free_cpus)
            if i < 0:
                return 0
            left_cpus -= take(s, request, i, n_got, left_cpus, left_nodes)
            n_got, left_nodes = n_got + 1, left_nodes - 1
        if left_cpus <= 0 and left_nodes <= 0:
            return n_got
        put_back(s, n, n_got)
        smallest = smallest_unnamed(s, request, n)
        if smallest < 0:
            return 0
        s.use_is_in[smallest] = False
    return 0


def least_loaded(s, n, free_cpus):
    """Return the node to take next, as an index of usable nodes; -1 if there is none."""
    found = -1
    for i in range(n):
        if s.use_is_in[i] and (found < 0 or is_before(s, s.use_node[i], s.use_node[found], free_cpus)):
            found = i
    return found


def is_before(s, node, other, free_cpus):
    """Whether a node is taken before another, whose number is lower."""
    if s.node_weight[node] != s.node_weight[other]:
        return s.node_weight[node] < s.node_weight[other]
    return free_cpus[node] * s.node_cpus[other] > free_cpus[other] * s.node_cpus[node]


def put_back(s, n, n_got):
    """Make the nodes that were taken usable again."""
    for k in range(n_got):
        for i in range(n):
            if s.use_node[i] == s.got_node[k]:
                s.use_is_in[i] = True


def smallest_unnamed(s, request, n):
    """Return the index of the usable node with the fewest CPUs that the job does not name; -1 if there is none."""
    found = -1
    for i in range(n):
        is_fewer = found < 0 or s.use_cpus[i] < s.use_cpus[found]
        if s.use_is_in[i] and is_fewer and not is_named(s, request, s.use_node[i]):
            found = i
    return found
