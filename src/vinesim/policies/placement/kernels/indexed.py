"""Best fit with an index: the choices of :mod:`scan`, in O(types x log servers) per task.

The cost depends only on the type and state of a server: empty or not, room for the task or not. So the first server of
each type in each state represents all of them; the trees of :mod:`forest` find it.
"""

import numpy as np

from vinesim.policies.placement.kernels.forest import first_with_room, first_without_room, raise_load
from vinesim.policies.placement.kernels.kernel import amount_of, compiled


def best_fit_indexed(costs, demand, capacity, limit, load, member, first, offset, size, low, high, next_empty, placed):
    """Do what ``scan`` does for one block. The trees hold the servers that are not empty; ``next_empty`` [P] is the
    position of the first empty server of each type. Equal costs: the first server."""
    n_types = capacity.shape[0]
    for m in range(demand.shape[0]):
        best = np.inf
        for p in range(n_types):  # the lowest cost, without its server: the roots say which states exist
            if costs[m, p, 0] == np.inf:
                continue
            amount = amount_of(demand[m], capacity[p])
            root = offset[p] + 1
            if low[root] + amount <= limit[p]:
                best = min(best, costs[m, p, 0])
            if high[root] + amount > limit[p]:
                best = min(best, costs[m, p, 2])
            if next_empty[p] < first[p + 1] - first[p]:
                best = min(best, costs[m, p, 1 if amount <= limit[p] else 3])
        where, kind, position = np.int64(-1), 0, np.int64(-1)
        for p in range(n_types):  # the first server with that cost
            if best == np.inf or costs[m, p, 0] == np.inf:
                continue
            amount = amount_of(demand[m], capacity[p])
            root = offset[p] + 1
            if costs[m, p, 0] == best and low[root] + amount <= limit[p]:
                at = first_with_room(offset, size, low, p, amount, limit[p])
                if where < 0 or member[first[p] + at] < where:
                    where, kind, position = member[first[p] + at], p, at
            if costs[m, p, 2] == best and high[root] + amount > limit[p]:
                at = first_without_room(offset, size, high, p, amount, limit[p])
                if where < 0 or member[first[p] + at] < where:
                    where, kind, position = member[first[p] + at], p, at
            at = next_empty[p]
            if at == first[p + 1] - first[p] or costs[m, p, 1 if amount <= limit[p] else 3] != best:
                continue
            if where < 0 or member[first[p] + at] < where:
                where, kind, position = member[first[p] + at], p, at
        placed[m] = where
        if where >= 0:
            load[where] += amount_of(demand[m], capacity[kind])
            if load[where] != 0.0:  # a server whose tasks all have demand 0 still counts as empty
                raise_load(offset, size, low, high, kind, position, load[where])
            n_of_kind = first[kind + 1] - first[kind]
            while next_empty[kind] < n_of_kind and load[member[first[kind] + next_empty[kind]]] != 0.0:
                next_empty[kind] += 1


place_indexed = compiled(best_fit_indexed)
