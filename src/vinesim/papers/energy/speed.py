"""How long a placement takes on this machine: one batch on empty servers, as the thesis timed it."""

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from vinesim.model.catalog import SERVER_TYPES
from vinesim.policies.best_fit import BestFit
from vinesim.policies.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks
from vinesim.policies.placement.best_fit import shares
from vinesim.policies.round_robin import RoundRobin

SIZES = {"N, M": (20_000, 2_000), "2N, 2M": (40_000, 4_000)}
REPEATS = 3
POLICIES: dict[str, BatchPolicy] = {
    "RR": RoundRobin(),
    **{f"ABF{size}": AcceleratedBestFit(block_size=size) for size in (32, 64, 128, 256, 512)},
    "BF": BestFit(method="scan"),
    "BF, indexed": BestFit(),
    "DCBF": DivideAndConquerBestFit(method="scan"),
    "DCBF, 2 blocks": DivideAndConquerBestFit(method="scan", blocks=2),
}
NO_THESIS_HARDWARE = (
    "the thesis timed its own computers, with a GPU; measured are the placements of one batch on the CPU of this "
    "machine, the fastest of three each, and judged is only their quotient within one run"
)


def question(n_servers: int, n_tasks: int) -> tuple[BatchTasks, BatchServers]:
    """Empty servers A B C D in turn, and a batch of tasks."""
    random = np.random.default_rng(1)
    kind = (np.arange(n_servers) % len(SERVER_TYPES)).astype(np.int32)
    capacity, awake, per_demand, asleep = np.array(
        [(p.capacity, p.idle_power_w, p.dynamic_power_w, p.sleep_power_w) for p in SERVER_TYPES], np.float64
    ).T
    tasks = BatchTasks(
        np.arange(n_tasks),
        np.full(n_tasks, -1, np.int32),
        np.zeros(n_tasks, np.int32),
        random.integers(1, 101, n_tasks) * 1e6,
        random.integers(1, 101, n_tasks).astype(np.float64),
        np.full(n_tasks, np.nan),
        *np.empty((2, 0, 0)),
    )
    affinity = np.ones((len(SERVER_TYPES), 1))
    powers = (awake, per_demand, asleep)
    none = np.zeros_like(affinity), np.empty((len(affinity), 0))
    return tasks, BatchServers(kind, capacity[kind], np.zeros(n_servers), affinity, *powers, *none)


def placement_s(_changes: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Seconds of the fastest of some placements by size and policy; measured once a process."""
    return _measured()


@cache
def _measured() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for policy in POLICIES.values():
        policy.place(*question(80, 20))  # compile
    for label, size in SIZES.items():
        tasks, servers = question(*size)
        found[label] = {}
        for name, policy in POLICIES.items():
            took = []
            for _ in range(REPEATS):
                begun = time.perf_counter()
                policy.place(tasks, servers)
                took.append(time.perf_counter() - begun)
            found[label][name] = min(took)
    return found


def speed_ups(seconds: Mapping[str, float]) -> dict[str, float]:
    """How many times as fast as best fit by brute force each policy is."""
    return {name: seconds["BF"] / took for name, took in seconds.items() if name != "BF"}


def evaluations(n_servers: int, n_tasks: int, n_blocks: int) -> int:
    """How many costs best fit compares when it looks at all servers of its block for each task."""
    in_blocks = np.diff(shares(n_tasks, n_blocks)) * np.diff(shares(n_servers, n_blocks))
    return int(in_blocks.sum())
