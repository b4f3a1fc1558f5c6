"""Best fit over all servers or by blocks: with the index, by brute force, or on a GPU."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Literal

import numpy as np

from vinesim.model.cores import n_cores
from vinesim.model.errors import InputWarning
from vinesim.policies.placement.kernels.forest import plant
from vinesim.policies.placement.kernels.indexed import place_indexed
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.policies.placement.kernels.scan import scan_blocks, scan_in_parallel

Method = Literal["indexed", "scan"]
MAX_TYPES = 64  # with more types of server the index would look at too many of them for each task
TABLE_COSTS = 4_000_000  # maximum entries of a cost table if there are many types
PARALLEL_SERVERS = 32_768  # number of servers from which waking threads for every task pays off
_PARALLEL = Lock()  # Numba's threads serve one caller at a time


@dataclass(frozen=True)
class Cost:
    """The cost function and its parameters; see :mod:`vinesim.policies.placement.kernels.costs`."""

    variant: str
    penalty: float
    period_us: float

    def of(self, instance: Instance, rows: slice = slice(None)) -> np.ndarray:
        """Return the cost table of the tasks ``rows``."""
        return instance.costs(self.variant, self.penalty, self.period_us, rows)


def best_fit(instance: Instance, cost: Cost, method: Method = "indexed") -> np.ndarray:
    """Return the server of each task [M], -1 if none can run it; tasks in order, the first server among equal costs."""
    if instance.n_types > MAX_TYPES:
        _tell_many_types(instance.n_types, len(instance.load))
    return _best_fit(instance, cost, method)


def _best_fit(instance: Instance, cost: Cost, method: Method) -> np.ndarray:
    placed = np.empty(instance.n_tasks, np.int64)
    if instance.n_types > MAX_TYPES:
        _scan_many_types(instance, cost, placed)
    elif method == "scan":
        ends = np.array([0, instance.n_tasks]), np.array([0, len(instance.load)])
        _scan(instance, cost.of(instance), *ends, placed)
    else:
        trees = plant(instance.kind, instance.n_types, instance.load, True, instance.n_tasks)
        place_indexed(
            cost.of(instance),
            instance.tasks.demand,
            instance.capacity,
            instance.limit,
            instance.load,
            *trees,
            _first_empty(instance, trees.member, trees.first),
            placed,
        )
    return placed


def best_fit_in_blocks(instance: Instance, cost: Cost, n_blocks: int, method: Method = "indexed") -> np.ndarray:
    """Do the same in blocks: equal shares of the servers and tasks, in their order. Blocks run in parallel."""
    n_servers = len(instance.load)
    task_first, server_first = shares(instance.n_tasks, n_blocks), shares(n_servers, n_blocks)
    placed = np.empty(instance.n_tasks, np.int64)
    if method == "scan" and instance.n_types <= MAX_TYPES:
        _scan(instance, cost.of(instance), task_first, server_first, placed)
        return placed

    has_many_types = [False] * n_blocks

    def place(block: int) -> None:
        tasks, servers = slice(*task_first[block : block + 2]), slice(*server_first[block : block + 2])
        part = instance.part(tasks, servers)
        local = _best_fit(part, cost, method)
        has_many_types[block] = part.n_types > MAX_TYPES
        placed[tasks] = np.where(local >= 0, local + servers.start, -1)
        instance.load[servers] = part.load

    in_threads(place, n_blocks)
    if any(has_many_types):
        _tell_many_types(instance.n_types, n_servers)
    return placed


@cache
def _tell_many_types(n_types: int, n_servers: int) -> None:
    """Warn of many types, once per process rather than for every period and block."""
    warnings.warn(
        f"the servers have {n_types} types, more than the {MAX_TYPES} that the index is made for: every task "
        f"looks at all {n_servers:,} servers, or at those of its block",
        InputWarning,
        stacklevel=2,
    )


def shares(n: int, n_blocks: int) -> np.ndarray:
    """[n_blocks + 1]: the start of each of ``n_blocks`` equal shares of n things, and n at the end."""
    return np.arange(n_blocks + 1, dtype=np.int64) * n // n_blocks


def in_threads(work: Callable[[int], None], n: int) -> None:
    """Call ``work(0)`` to ``work(n - 1)``, on all cores."""
    with ThreadPoolExecutor(min(n, n_cores())) as pool:
        list(pool.map(work, range(n)))


def _scan(
    instance: Instance, costs: np.ndarray, task_first: np.ndarray, server_first: np.ndarray, placed: np.ndarray
) -> None:
    n_blocks = len(task_first) - 1
    chunk = shares(n_blocks, min(n_blocks, 8 * n_cores()))

    def place(i: int) -> None:
        scan_blocks(
            costs,
            instance.tasks.demand,
            instance.kind,
            instance.capacity,
            instance.limit,
            instance.load,
            task_first,
            server_first,
            chunk[i],
            chunk[i + 1],
            placed,
        )

    in_threads(place, len(chunk) - 1)


def _scan_many_types(instance: Instance, cost: Cost, placed: np.ndarray) -> None:
    """Place some tasks at a time, because a table of all costs would have tasks x servers entries."""
    n_servers = len(instance.load)
    step = max(1, TABLE_COSTS // (4 * instance.n_types))
    n_chunks = n_cores()
    best, where = np.empty(n_chunks), np.empty(n_chunks, np.int64)
    for begin in range(0, instance.n_tasks, step):
        rows = slice(begin, begin + step)
        demand, costs = instance.tasks.demand[rows], cost.of(instance, rows)
        arrays = (costs, demand, instance.kind, instance.capacity, instance.limit, instance.load)
        if n_servers >= PARALLEL_SERVERS and n_chunks > 1:
            with _PARALLEL:
                scan_in_parallel()(*arrays, n_chunks, best, where, placed[rows])
        else:
            ends = np.array([0, len(demand)]), np.array([0, n_servers])
            scan_blocks(*arrays, *ends, 0, 1, placed[rows])


def _first_empty(instance: Instance, member: np.ndarray, first: np.ndarray) -> np.ndarray:
    """[P]: the position of the first empty server of each type; the number of servers if there is none."""
    if not instance.load.any():
        return np.zeros(instance.n_types, np.int64)
    empty = instance.load[member] == 0.0
    result = np.diff(first)
    for p in range(instance.n_types):
        found = np.flatnonzero(empty[first[p] : first[p + 1]])
        result[p] = found[0] if len(found) else result[p]
    return result
