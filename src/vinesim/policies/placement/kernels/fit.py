"""First fit and least loaded, with the trees of :mod:`forest`: O(types x log servers) for each task."""

import numpy as np

from vinesim.policies.placement.kernels.forest import first_of_least, first_with_room, raise_load
from vinesim.policies.placement.kernels.kernel import amount_of, compiled


def first_fit(able, demand, capacity, limit, load, rank, member, first, offset, size, low, high, placed):
    """Place each task on the server of lowest ``rank`` [U] with room; if there is none, on the one with most room left.

    ``able`` is [M, P]. Ranks increase within each type, from server to server.
    """
    n_types = capacity.shape[0]
    for m in range(demand.shape[0]):
        where, kind, position = np.int64(-1), 0, np.int64(-1)
        for p in range(n_types):
            amount = amount_of(demand[m], capacity[p])
            if able[m, p] and low[offset[p] + 1] + amount <= limit[p]:
                at = first_with_room(offset, size, low, p, amount, limit[p])
                if where < 0 or rank[member[first[p] + at]] < rank[where]:
                    where, kind, position = member[first[p] + at], p, at
        most = -np.inf
        if where < 0:
            for p in range(n_types):
                room = capacity[p] - low[offset[p] + 1]
                if able[m, p] and room >= most and room > -np.inf:
                    at = first_of_least(offset, size, low, p)
                    if room > most or rank[member[first[p] + at]] < rank[where]:
                        most, where, kind, position = room, member[first[p] + at], p, at
        placed[m] = where
        if where >= 0:
            load[where] += amount_of(demand[m], capacity[kind])
            raise_load(offset, size, low, high, kind, position, load[where])


def least_loaded(able, demand, capacity, scale, load, member, first, offset, size, low, high, placed):
    """Place each task on the server with the smallest load / ``scale`` [P]; the first among equals."""
    n_types = capacity.shape[0]
    for m in range(demand.shape[0]):
        where, kind, position, least = np.int64(-1), 0, np.int64(-1), np.inf
        for p in range(n_types):
            value = low[offset[p] + 1] / scale[p]
            if able[m, p] and value <= least and value < np.inf:
                at = first_of_least(offset, size, low, p)
                if value < least or member[first[p] + at] < where:
                    least, where, kind, position = value, member[first[p] + at], p, at
        placed[m] = where
        if where >= 0:
            load[where] += amount_of(demand[m], capacity[kind])
            raise_load(offset, size, low, high, kind, position, load[where])


place_first_fit = compiled(first_fit)
place_least_loaded = compiled(least_loaded)
