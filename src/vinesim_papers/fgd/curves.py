"""Allocation of the GPUs against the load that has arrived, for each policy and seed."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.engine.engine_choice import Engine
from vinesim.engine.simulate import simulate
from vinesim.model.cores import n_cores
from vinesim_papers.fgd.trace import Trace, drawn, read_trace

POLICIES = ("random_fit", "dot_product", "gpu_clustering", "gpu_packing", "gpu_best_fit", "fgd")
MOST_LOAD = 130  # %
FEW_RUNS = 12  # so few take less time than processes take to start, or the policies to compile


class Curves(NamedTuple):
    """Mean allocation, % of the GPUs, at each whole % of load; NaN where none arrived at that load."""

    allocation: np.ndarray  # [policies, seeds, MOST_LOAD + 1]


def curves(nodes: Path, pods: Path, n_seeds: int, workers: int | None) -> Curves:
    """Run all policies on the trace, for each seed. Raises :class:`InputError` for wrong files."""
    _trace(nodes, pods)
    runs = [(nodes, pods, policy, seed) for policy, seed in product(POLICIES, range(n_seeds))]
    is_few = len(runs) <= FEW_RUNS
    n_workers = workers or (1 if is_few else n_cores())
    if n_workers == 1:
        found = [curve(*run) for run in runs]
    else:
        engine: Engine = "auto" if is_few else "compiled"
        for policy in () if is_few else POLICIES:  # once, not by each process
            curve(nodes, pods, policy, 0, engine)
        done = partial(curve, engine=engine)
        with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(done, *zip(*runs, strict=True), chunksize=max(1, len(runs) // (8 * n_workers))))
    return Curves(np.reshape(found, (len(POLICIES), n_seeds, MOST_LOAD + 1)))


def curve(nodes: Path, pods: Path, policy: str, seed: int, engine: Engine = "auto") -> np.ndarray:
    """[MOST_LOAD + 1] the curve of one run."""
    trace = _trace(nodes, pods)
    made = drawn(trace, policy, seed)
    is_placed = np.zeros(len(made.arrivals), bool)
    is_placed[trace.can_run[made.arrivals]] = simulate(made.scenario, engine=engine).outcome.task_unit >= 0
    asked = trace.asked_milli[made.arrivals]
    return by_load(asked, is_placed, trace.milli)


def by_load(asked: np.ndarray, is_placed: np.ndarray, capacity: int) -> np.ndarray:
    """[MOST_LOAD + 1] the mean allocation after the arrivals at each whole % of load, both in % of the capacity."""
    load = np.rint(np.cumsum(asked) / capacity * 100).astype(int)
    used = np.cumsum(np.where(is_placed, asked, 0)) / capacity * 100
    kept = load <= MOST_LOAD
    counts = np.bincount(load[kept], minlength=MOST_LOAD + 1)
    sums = np.bincount(load[kept], used[kept], MOST_LOAD + 1)
    return np.divide(sums, counts, out=np.full(MOST_LOAD + 1, np.nan), where=counts > 0)


@cache
def _trace(nodes: Path, pods: Path) -> Trace:
    return read_trace(nodes, pods)
