"""What the CPU does for a question to a GPU, in one pass each: it finds the loads that have changed, and checks an
answer."""

import numpy as np

from vinesim.jit.intrinsics import not_negative
from vinesim.policies.placement.kernels.kernel import amount_of, compiled


def renew(load, sent, most, changed):
    """Make ``sent`` [U] what ``load`` [U] is. Return how many loads differed, n; ``changed`` [2 x ``most``] gets the n
    servers and then their n loads, unless there are more than ``most``."""
    n = 0
    for server in range(load.shape[0]):  # alone, so that the compiler compares several at once
        n += load[server] != sent[server]
    if n > most:
        for server in range(load.shape[0]):
            sent[server] = load[server]
    elif n:
        at = 0
        for server in range(load.shape[0]):
            if load[server] != sent[server]:
                sent[server] = load[server]
                changed[at], changed[n + at] = server, load[server]
                at += 1
    return n


def read_answer(found, time, demand, kind, capacity, before, load, n_blocks, placed):
    """Write the server of each task to ``placed`` [M], -1 for none, and return how many tasks are not on servers of
    their blocks, how many on servers that cannot run them, and how many reach another load than the sum.

    ``found`` [2, M] are the servers and the loads that these reach with the tasks; ``time`` [P, M] is infinite where
    a task cannot run; ``before`` [U] are the loads before the first task. ``load`` [U] equals it before and after.
    """
    n_tasks, n_servers = demand.shape[0], load.shape[0]
    n_outside, n_unable, n_wrong = 0, 0, 0
    for block in range(n_blocks):
        first, end = n_servers * block // n_blocks, n_servers * (block + 1) // n_blocks
        for m in range(n_tasks * block // n_blocks, n_tasks * (block + 1) // n_blocks):
            server = found[0, m]
            placed[m] = -1
            if server == -1.0:
                continue
            if not (first <= server < end) or server != np.floor(server):  # not a number too
                n_outside += 1
                continue
            at = not_negative(np.int64(server))
            placed[m], p = at, not_negative(kind[at])
            n_unable += time[p, m] == np.inf
            load[at] += amount_of(demand[m], capacity[p])
            n_wrong += load[at] != found[1, m]
    for m in range(n_tasks):
        if placed[m] >= 0:
            at = not_negative(placed[m])
            load[at] = before[at]
    return n_outside, n_unable, n_wrong


renew_loads, answer_of = compiled(renew), compiled(read_answer)
