"""One tree of minimum loads per server type: finds the first server of a type with room in O(log servers).

The servers of type p are ``member[first[p]:first[p + 1]]``, in increasing order; its tree has ``size[p]`` leaves (a
power of 2) and begins at ``offset[p]``: node 1 is the root, node i has the children 2 i and 2 i + 1. ``low`` holds the
smallest and ``high`` the largest load below a node. Loads only rise, so an update stops at a node that does not change.
"""

from typing import NamedTuple

import numpy as np

from vinesim.policies.placement.kernels.kernel import inlined


class Forest(NamedTuple):
    """The arrays of the trees."""

    member: np.ndarray  # [U] int64: servers by type
    first: np.ndarray  # [P + 1] int64
    offset: np.ndarray  # [P] int64
    size: np.ndarray  # [P] int64
    low: np.ndarray  # [nodes] float64, infinite if there is no server
    high: np.ndarray  # [nodes] float64, minus infinite if there is no server


def plant(kind: np.ndarray, n_types: int, load: np.ndarray, leave_out_empty: bool, n_tasks: int) -> Forest:
    """Build the trees of servers of types ``kind`` [U]; empty servers can be left out until they get a load.

    Each of ``n_tasks`` tasks opens at most one server, the first empty one of a type.
    """
    small = np.uint8 if n_types < 2**8 else np.uint16 if n_types < 2**16 else kind.dtype  # sorted by radix
    member = np.argsort(kind.astype(small), kind="stable")
    count = np.bincount(kind, minlength=n_types)
    first = np.concatenate(([0], np.cumsum(count)))
    leaves = np.maximum(1, np.minimum(count, n_tasks) if leave_out_empty and not load.any() else count)
    size = 1 << np.ceil(np.log2(leaves)).astype(np.int64)
    offset = np.concatenate(([0], np.cumsum(2 * size)))
    low, high = np.full(offset[-1], np.inf), np.full(offset[-1], -np.inf)
    if not leave_out_empty or load.any():
        for p in range(n_types):
            here = load[member[first[p] : first[p + 1]]]
            known = ~(leave_out_empty & (here == 0.0))
            start = offset[p] + size[p]
            low[start : start + len(here)][known] = here[known]
            high[start : start + len(here)][known] = here[known]
            level = size[p]
            while level > 1:
                below = slice(offset[p] + level, offset[p] + 2 * level)
                level >>= 1
                here_now = slice(offset[p] + level, offset[p] + 2 * level)
                low[here_now] = low[below].reshape(-1, 2).min(axis=1)
                high[here_now] = high[below].reshape(-1, 2).max(axis=1)
    return Forest(member, first, offset[:-1], size, low, high)


@inlined
def raise_load(offset, size, low, high, p, position, load):
    """Record that the server at ``position`` of type p has a load, or a higher one."""
    base, node = offset[p], size[p] + position
    low[base + node] = load
    while node > 1:
        node >>= 1
        least = min(low[base + 2 * node], low[base + 2 * node + 1])
        if low[base + node] == least:
            break
        low[base + node] = least
    node = size[p] + position
    high[base + node] = load
    while node > 1:
        node >>= 1
        if high[base + node] >= load:
            break
        high[base + node] = load


@inlined
def first_with_room(offset, size, low, p, amount, limit):
    """Return the position of the first server of type p whose load + amount is within the limit; there must be one."""
    base, node = offset[p], 1
    while node < size[p]:
        node *= 2
        if not low[base + node] + amount <= limit:
            node += 1
    return node - size[p]


@inlined
def first_without_room(offset, size, high, p, amount, limit):
    """Return the position of the first server of type p whose load + amount exceeds the limit; there must be one."""
    base, node = offset[p], 1
    while node < size[p]:
        node *= 2
        if not high[base + node] + amount > limit:
            node += 1
    return node - size[p]


@inlined
def first_of_least(offset, size, low, p):
    """Return the position of the first server of type p that has the smallest load."""
    base, node = offset[p], 1
    while node < size[p]:
        node *= 2
        if low[base + node] != low[base + node // 2]:
            node += 1
    return node - size[p]
