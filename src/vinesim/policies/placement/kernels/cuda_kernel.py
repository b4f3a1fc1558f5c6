"""Accelerated best fit as a CUDA kernel: one block of threads per block of servers, one thread per server.

Imported only if a GPU is requested. Source: energy-aware scheduler thesis, section 3.7 (radix min position).
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from vinesim.state import demand as rule

MAX_THREADS = 1024
amount_of = cuda.jit(device=True)(rule.amount_of)


@cache
def kernel_of(n_threads: int) -> Any:
    """Return the kernel for blocks of ``n_threads`` threads, a power of 2 and at least the servers per block."""

    @cuda.jit
    def place(costs, demand, kind, capacity, limit, load, task_first, server_first, placed):
        block, i = cuda.blockIdx.x, cuda.threadIdx.x
        least = cuda.shared.array(n_threads, np.float64)
        position = cuda.shared.array(n_threads, np.int32)
        first = server_first[block]
        has_server = first + i < server_first[block + 1]
        now, p = 0.0, 0
        if has_server:
            now, p = load[first + i], kind[first + i]
        for m in range(task_first[block], task_first[block + 1]):
            amount, cost = 0.0, np.inf
            if has_server:
                amount = amount_of(demand[m], capacity[p])
                state = (0 if now + amount <= limit[p] else 2) + (1 if now == 0.0 else 0)
                cost = costs[m, p, state]
            least[i] = cost
            position[i] = i
            cuda.syncthreads()
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
            found = least[0] < np.inf
            if found and i == position[0]:
                now += amount
            if i == 0:
                placed[m] = first + position[0] if found else -1
            cuda.syncthreads()
        if has_server:
            load[first + i] = now

    return place
