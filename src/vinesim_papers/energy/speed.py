"""The time of a placement on this machine: one batch on empty servers, as timed in the thesis."""

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from vinesim.model.catalog import SERVER_TYPES
from vinesim.policies.contract import BatchPolicy, BatchServers, BatchTasks
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.kernels.best_fit import shares
from vinesim.policies.placement.round_robin import RoundRobin
from vinesim.reproduction.data import Data

SIZES = {"N, M": (20_000, 2_000), "2N, 2M": (40_000, 4_000), "5N, 5M": (100_000, 10_000), "10N, 10M": (200_000, 20_000)}
REPEATS = (1, 20)  # minimum and maximum
ENOUGH_S = 2.0  # seconds of placements per policy and size, or more if needed for the minimum of repeats
TWO_BLOCKS = "DCBF, 2 blocks"
POLICIES: dict[str, BatchPolicy] = {
    "RR": RoundRobin(),
    **{f"ABF{size}": AcceleratedBestFit(block_size=size) for size in (32, 64, 128, 256, 512)},
    "BF": BestFit(method="scan"),
    "BF, indexed": BestFit(),
    "DCBF": DivideAndConquerBestFit(method="scan"),
    TWO_BLOCKS: DivideAndConquerBestFit(method="scan", blocks=2),
}
NO_THESIS_HARDWARE = (
    "the thesis timed its own computers, ABF on their GPUs; measured is the processor time of the placements of one "
    "batch on this machine's CPU, the least of up to twenty, and judged are only quotients within one run"
)


def question(n_servers: int, n_tasks: int) -> tuple[BatchTasks, BatchServers]:
    """Return empty servers A B C D in turn, and a batch of tasks."""
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
    """Return the seconds of processor time of a placement, by size and policy; measured once per process.

    The time is that of all cores together, so other load and the number of cores hardly matter.
    """
    return _measured()


@cache
def _measured() -> dict[str, dict[str, float]]:
    for policy in POLICIES.values():
        policy.place(*question(80, 20))  # compile
    return {
        label: {name: _least(policy, *question(*size)) for name, policy in POLICIES.items()}
        for label, size in SIZES.items()
    }


def _least(policy: BatchPolicy, tasks: BatchTasks, servers: BatchServers) -> float:
    took: list[float] = []
    while len(took) < REPEATS[sum(took) < ENOUGH_S]:
        begun = time.process_time()
        policy.place(tasks, servers)
        took.append(time.process_time() - begun)
    return min(took)


def speed_ups(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return how many times as fast as best fit by brute force each policy is."""
    return {name: seconds["BF"] / took for name, took in seconds.items() if name != "BF"}


def over_printed(data: Data, printed: Mapping[str, Sequence[float | None]], columns: Sequence[str]) -> dict[str, float]:
    """Divide the measured speed-ups by the printed ones where there are any; rows by size."""
    found = {size: speed_ups(data.result("seconds")[size]) for size in printed}
    return {
        f"{name}, {size}": found[size][name] / value
        for size, row in printed.items()
        for name, value in zip(columns, row, strict=True)
        if value is not None
    }


def evaluations(n_servers: int, n_tasks: int, n_blocks: int) -> int:
    """Return how many costs best fit compares if it looks at all servers of its block for each task."""
    in_blocks = np.diff(shares(n_tasks, n_blocks)) * np.diff(shares(n_servers, n_blocks))
    return int(in_blocks.sum())
