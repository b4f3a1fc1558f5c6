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
amount_of = cuda.jit(device=True)(rule.amount_of)


@cuda.jit
def set_loads(at, value, load):
    """Set the loads of some servers."""
    i = cuda.grid(1)
    if i < at.shape[0]:
        load[at[i]] = value[i]


@cuda.jit
def running_costs(time, demand, capacity, per_demand, longest, run, placed):
    """What a task costs on each type of server while it runs [M, P]. In memory, because a sum of this product would be
    rounded once on a GPU, and twice on a CPU. No task is placed yet."""
    i = cuda.grid(1)
    m, p = i // capacity.shape[0], i % capacity.shape[0]
    if m < demand.shape[0]:
        run[m, p] = amount_of(demand[m], capacity[p]) * min(time[m, p], longest) * per_demand[p]
        if p == 0:
            placed[m] = NOT_PLACED


@cache
def cost_of(variant: str) -> Any:
    """Return the function that computes an entry of :func:`~vinesim.policies.placement.kernels.costs.cost_table`."""
    is_literal, is_fitfirst, is_marginal = (variant == name for name in ("literal", "fitfirst", "marginal"))

    @cuda.jit(device=True)
    def cost(state, run, time, wake, wake_for_period, penalty):
        if time == np.inf:
            return np.inf
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
    def place(run, time, demand, kind, capacity, limit, wake, wake_for_period, penalty, load, placed, reached):
        block, i, n_blocks = cuda.blockIdx.x, cuda.threadIdx.x, np.int64(cuda.gridDim.x)
        least = cuda.shared.array(n_threads, np.float64)
        position = cuda.shared.array(n_threads, np.int32)
        first = block * load.shape[0] // n_blocks
        has_server = first + i < (block + 1) * load.shape[0] // n_blocks
        now, p = 0.0, 0
        if has_server:
            now, p = load[first + i], kind[first + i]
        for m in range(block * demand.shape[0] // n_blocks, (block + 1) * demand.shape[0] // n_blocks):
            amount, cost = 0.0, np.inf
            if has_server:
                amount = amount_of(demand[m], capacity[p])
                state = (0 if now + amount <= limit[p] else 2) + (1 if now == 0.0 else 0)
                cost = cost_in(state, run[m, p], time[m, p], wake[p], wake_for_period[p], penalty)
            least[i] = cost
            position[i] = i
            cuda.syncthreads()
            reduce(least, position, i)
            found = least[0] < np.inf
            if found and i == position[0]:
                now += amount
                reached[m] = now
            if i == 0:
                placed[m] = first + position[0] if found else -1.0
            cuda.syncthreads()

    return place


@cache
def wide_kernel_of(n_threads: int, variant: str) -> Any:
    """Return the kernel for blocks of more servers than ``n_threads`` threads, each of which looks at every
    ``n_threads``-th server. It adds the demands to the loads."""
    cost_in, reduce = cost_of(variant), reduction(n_threads)

    @cuda.jit(**launch_bounds(n_threads))
    def place(run, time, demand, kind, capacity, limit, wake, wake_for_period, penalty, load, placed, reached):
        block, i, n_blocks = cuda.blockIdx.x, cuda.threadIdx.x, np.int64(cuda.gridDim.x)
        least = cuda.shared.array(n_threads, np.float64)
        position = cuda.shared.array(n_threads, np.int32)
        first, end = block * load.shape[0] // n_blocks, (block + 1) * load.shape[0] // n_blocks
        for m in range(block * demand.shape[0] // n_blocks, (block + 1) * demand.shape[0] // n_blocks):
            least[i] = np.inf
            position[i] = i
            for server in range(first + i, end, n_threads):
                p, now = kind[server], load[server]
                state = (0 if now + amount_of(demand[m], capacity[p]) <= limit[p] else 2) + (1 if now == 0.0 else 0)
                cost = cost_in(state, run[m, p], time[m, p], wake[p], wake_for_period[p], penalty)
                if cost < least[i]:
                    least[i] = cost
                    position[i] = server - first
            cuda.syncthreads()
            reduce(least, position, i)
            found, server = least[0] < np.inf, first + position[0]
            if found and i == position[0] % n_threads:
                load[server] += amount_of(demand[m], capacity[kind[server]])
                reached[m] = load[server]
            if i == 0:
                placed[m] = server if found else -1.0
            cuda.syncthreads()

    return place
