"""Best fit in blocks as CUDA kernels: one block of threads per block of servers, one thread per server if the block has
as many threads.

Imported only if a GPU is requested. Source: energy-aware scheduler thesis, section 3.7 (radix min position).
"""

from functools import cache
from typing import Any

import numpy as np

from vinesim.jit.gpu import cuda, launch_bounds
from vinesim.policies.placement.kernels.costs import ACTIVE_FITS, ACTIVE_FULL, EMPTY_FITS
from vinesim.state import demand as rule

NOT_PLACED = -2.0
CAPACITY, LIMIT, WAKE, WAKE_FOR_PERIOD, PER_DEMAND = range(5)  # the rows of ``types``
amount_of = cuda.jit(device=True)(rule.amount_of)


@cuda.jit
def prepare(asked, n_tasks, n_changed, types, longest, run, found, load):
    """Set the loads that have changed; compute what a task costs on each type of server while it runs [M, P]. In
    memory, because a sum of this product would be rounded once on a GPU, and twice on a CPU. No task is placed yet.

    ``asked`` holds the times of the tasks on each type [P, M], their demands, the servers whose loads have changed, and
    these loads, one after the other; ``found`` the server of each task, and then the load that it reaches with it.
    """
    i = cuda.grid(1)
    n_types = types.shape[1]
    n_times = n_tasks * n_types
    if i < n_times:
        p, m = i // n_tasks, i % n_tasks
        amount = amount_of(asked[n_times + m], types[CAPACITY, p])
        run[m, p] = amount * min(asked[i], longest) * types[PER_DEMAND, p]
        if p == 0:
            found[m] = NOT_PLACED
    if i < n_changed:
        at = n_times + n_tasks + i
        load[np.int64(asked[at])] = asked[at + n_changed]


@cache
def cost_of(variant: str) -> Any:
    """Return the function that computes the entry of :func:`~vinesim.policies.placement.kernels.costs.cost_table`
    for the state of a server whose load is ``now``."""
    is_literal, is_fitfirst, is_marginal = (variant == name for name in ("literal", "fitfirst", "marginal"))

    @cuda.jit(device=True)
    def cost(now, amount, limit, run, time, wake, wake_for_period, penalty):
        if time == np.inf:
            return np.inf
        state = (0 if now + amount <= limit else 2) + (1 if now == 0.0 else 0)
        if state == ACTIVE_FITS:
            return run
        if state == ACTIVE_FULL:
            return penalty * run
        if state == EMPTY_FITS:
            if is_literal:
                return run
            if is_fitfirst:
                return wake * time
            return wake_for_period + run
        if is_literal:
            return wake * time
        if is_marginal:
            return penalty * (wake_for_period + run)
        return penalty * run

    return cost


@cache
def reduction(n_threads: int) -> Any:
    """Return what moves the least cost of ``n_threads`` threads, a power of 2, and its server to the first place."""

    @cuda.jit(device=True)
    def reduce(least, position, i):
        half = n_threads // 2
        while half > 0:  # halve the field: keep the lower of two costs, the first server's of equal costs
            if i < half:
                is_lower = least[i + half] < least[i]
                is_equal = least[i + half] == least[i]
                if is_lower or (is_equal and position[i + half] < position[i]):
                    least[i] = least[i + half]
                    position[i] = position[i + half]
            cuda.syncthreads()
            half //= 2

    return reduce


@cache
def kernel_of(n_threads: int, variant: str) -> Any:
    """Return the kernel for blocks of ``n_threads`` threads, a power of 2 and at least the servers per block. It leaves
    the loads as they are."""
    cost_in, reduce = cost_of(variant), reduction(n_threads)

    @cuda.jit(**launch_bounds(n_threads))
    def place(run, asked, n_tasks, kind, types, penalty, load, found):
        block, i, n_blocks = cuda.blockIdx.x, cuda.threadIdx.x, np.int64(cuda.gridDim.x)
        n_types = types.shape[1]
        least = cuda.shared.array(n_threads, np.float64)
        position = cuda.shared.array(n_threads, np.int32)
        first = block * load.shape[0] // n_blocks
        has_server = first + i < (block + 1) * load.shape[0] // n_blocks
        now, p = 0.0, 0
        if has_server:
            now, p = load[first + i], kind[first + i]
        for m in range(block * n_tasks // n_blocks, (block + 1) * n_tasks // n_blocks):
            amount, cost = 0.0, np.inf
            if has_server:
                amount = amount_of(asked[n_tasks * n_types + m], types[CAPACITY, p])
                cost = cost_in(
                    *(now, amount, types[LIMIT, p], run[m, p], asked[p * n_tasks + m]),
                    *(types[WAKE, p], types[WAKE_FOR_PERIOD, p], penalty),
                )
            least[i] = cost
            position[i] = i
            cuda.syncthreads()
            reduce(least, position, i)
            is_placed = least[0] < np.inf
            if is_placed and i == position[0]:
                now += amount
                found[n_tasks + m] = now
            if i == 0:
                found[m] = first + position[0] if is_placed else -1.0
            cuda.syncthreads()

    return place


@cache
def wide_kernel_of(n_threads: int, variant: str) -> Any:
    """Return the kernel for blocks of more servers than ``n_threads`` threads, each of which looks at every
    ``n_threads``-th server. It adds the demands to the loads."""
    cost_in, reduce = cost_of(variant), reduction(n_threads)

    @cuda.jit(**launch_bounds(n_threads))
    def place(run, asked, n_tasks, kind, types, penalty, load, found):
        block, i, n_blocks = cuda.blockIdx.x, cuda.threadIdx.x, np.int64(cuda.gridDim.x)
        n_types = types.shape[1]
        least = cuda.shared.array(n_threads, np.float64)
        position = cuda.shared.array(n_threads, np.int32)
        first, end = block * load.shape[0] // n_blocks, (block + 1) * load.shape[0] // n_blocks
        for m in range(block * n_tasks // n_blocks, (block + 1) * n_tasks // n_blocks):
            least[i] = np.inf
            position[i] = i
            for server in range(first + i, end, n_threads):
                p, now = kind[server], load[server]
                amount = amount_of(asked[n_tasks * n_types + m], types[CAPACITY, p])
                cost = cost_in(
                    *(now, amount, types[LIMIT, p], run[m, p], asked[p * n_tasks + m]),
                    *(types[WAKE, p], types[WAKE_FOR_PERIOD, p], penalty),
                )
                if cost < least[i]:
                    least[i] = cost
                    position[i] = server - first
            cuda.syncthreads()
            reduce(least, position, i)
            is_placed, server = least[0] < np.inf, first + position[0]
            if is_placed and i == position[0] % n_threads:
                load[server] += amount_of(asked[n_tasks * n_types + m], types[CAPACITY, kind[server]])
                found[n_tasks + m] = load[server]
            if i == 0:
                found[m] = server if is_placed else -1.0
            cuda.syncthreads()

    return place
