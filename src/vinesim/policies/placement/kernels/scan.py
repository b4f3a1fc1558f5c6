"""Best fit by brute force: every task looks at every server. Slow, but it defines the meaning of all the others.

Source: energy-aware scheduler thesis, section 3.5 (BF), 3.6 (blocks), 3.7 (one thread per server).
"""

from functools import cache
from typing import Any

import numpy as np

from vinesim.jit.intrinsics import not_negative
from vinesim.jit.kernels import prange
from vinesim.policies.placement.kernels.kernel import amount_of, compiled


def scan(costs, demand, kind, capacity, limit, load, task_first, server_first, block, end_block, placed):
    """Place blocks ``block`` to ``end_block``: task by task, on the cheapest server of its block; first among equals.

    ``costs`` [M, P, 4]; ``demand`` [M]; ``kind`` [U]; ``capacity`` and ``limit`` [P], the limit being the highest load
    allowed; ``load`` [U] is updated; ``placed`` [M] gets the servers, -1 = none can run it. ``task_first`` and
    ``server_first`` are [blocks + 1].
    """
    for b in range(block, end_block):
        for m in range(task_first[b], task_first[b + 1]):
            best, where = np.inf, np.int64(-1)
            for server in range(server_first[b], server_first[b + 1]):
                n = not_negative(server)
                p = not_negative(kind[n])
                amount = amount_of(demand[m], capacity[p])
                now = load[n]
                state = (0 if now + amount <= limit[p] else 2) + (1 if now == 0.0 else 0)
                cost = costs[m, p, state]
                if cost < best:
                    best, where = cost, n
            placed[m] = where
            if where >= 0:
                load[where] += amount_of(demand[m], capacity[kind[where]])


def scan_parallel(costs, demand, kind, capacity, limit, load, n_chunks, best, where, placed):
    """Do the same for one block, with each task's servers divided among threads; ``best``, ``where`` [n_chunks] are
    scratch."""
    n_servers = load.shape[0]
    for m in range(demand.shape[0]):
        for chunk in prange(n_chunks):
            low, high = n_servers * chunk // n_chunks, n_servers * (chunk + 1) // n_chunks
            least, at = np.inf, np.int64(-1)
            for server in range(low, high):
                n = not_negative(server)
                p = not_negative(kind[n])
                amount = amount_of(demand[m], capacity[p])
                now = load[n]
                state = (0 if now + amount <= limit[p] else 2) + (1 if now == 0.0 else 0)
                cost = costs[m, p, state]
                if cost < least:
                    least, at = cost, n
            best[chunk], where[chunk] = least, at
        least, at = np.inf, np.int64(-1)
        for chunk in range(n_chunks):
            if best[chunk] < least:
                least, at = best[chunk], where[chunk]
        placed[m] = at
        if at >= 0:
            load[at] += amount_of(demand[m], capacity[kind[at]])


scan_blocks = compiled(scan)


@cache
def scan_in_parallel() -> Any:
    """Return ``scan_parallel``, compiled on demand, because compiling threads is slow."""
    return compiled(scan_parallel, parallel=True)
