"""Best fit in blocks on a GPU: the policy's whole call, and abf's kernel alone, compared with the CPU's scan and
index."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import vinesim as vs
from benchmarks.placement import scenario
from benchmarks.report import Table, Target, figure
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.kernels import on_gpu
from vinesim_papers.energy.speed import question

BLOCKS = (32, 128, 512, 1024)
DIVIDED = (8, 132)  # blocks of dcbf: its default, and one for each multiprocessor of an H100
OF_THE_TARGET = 512  # the policy's default
REPEATS = 15


def section(quick: bool, gpu: str) -> tuple[list[Table], list[Target]]:
    """Measure it. Raises :class:`RuntimeError` if the GPU places other than the CPU."""
    n_servers, n_tasks = (20_000, 2_000) if quick else (200_000, 20_000)
    tasks, servers = question(n_servers, n_tasks)
    loaded = servers._replace(load=np.arange(len(servers.load)) % 2.0)
    bf = BestFit()
    bf_s = _least_s(lambda: bf.place(tasks, servers))
    rows, calls = [], {}
    for block in BLOCKS[2:3] if quick else BLOCKS:
        policy, on_cpu = AcceleratedBestFit(block_size=block, device="cuda"), AcceleratedBestFit(block_size=block)
        for asked in (servers, loaded):
            if not np.array_equal(policy.place(tasks, asked), on_cpu.place(tasks, asked)):
                raise RuntimeError(f"abf in blocks of {block} on {gpu} differs from the CPU's")
        calls[block] = _least_s(lambda policy=policy: policy.place(tasks, servers))
        turns = iter(range(1_000))
        changed_s = _least_s(lambda policy=policy, turns=turns: policy.place(tasks, (servers, loaded)[next(turns) % 2]))
        full = AcceleratedBestFit(block_size=block, device="cuda", check="full")
        full_s = _least_s(lambda full=full: full.place(tasks, servers), 3)
        scan_s = _least_s(lambda on_cpu=on_cpu: on_cpu.place(tasks, servers), 5)
        parts = _parts_ms(policy, tasks, servers)
        times_s = calls[block], changed_s, full_s, scan_s
        rows.append([f"{block:,}", *map(figure, parts), *(figure(1e3 * s) for s in times_s), figure(1e3 * bf_s)])
    columns = [
        "servers in a block",
        "kernel",
        "transfers and kernels",
        "check",
        "whole call",
        "all loads changed",
        "`check=full`",
        "scan in blocks, CPU",
        "`bf` by its index, CPU",
    ]
    title = f"{n_tasks:,} tasks on {n_servers:,} servers with `abf` on one {gpu}, ms"
    note = (
        "The least of several, wall time. All placements equal those of the CPU. One whole call in 64 is compared with "
        "the CPU, and takes what `check=full` does."
    )
    faster = bf_s / calls[OF_THE_TARGET]
    target = Target("`abf` on a GPU against `bf` by its index, whole calls", faster, 4.0, 15.0, " x")
    divided = _divided(gpu, tasks, servers)
    return [Table(title, columns, rows, note), divided, _periods(n_servers, n_tasks)], [target]


def _divided(gpu: str, tasks: Any, servers: Any) -> Table:
    """DCBF."""
    rows = []
    for blocks in DIVIDED:
        policies = [DivideAndConquerBestFit(blocks=blocks, **of) for of in ({"device": "cuda"}, {"method": "scan"}, {})]
        placed = [policy.place(tasks, servers) for policy in policies]
        if not np.array_equal(placed[0], placed[2]):
            raise RuntimeError(f"dcbf in {blocks} blocks on {gpu} differs from the CPU's")
        rows.append(
            [f"{blocks}", *(figure(1e3 * _least_s(lambda one=one: one.place(tasks, servers), 3)) for one in policies)]
        )
    columns = ["blocks", "on the GPU", "`method=scan`, CPU", "index, CPU"]
    title = f"{len(tasks.task):,} tasks on {len(servers.load):,} servers with `dcbf` on one {gpu}, ms"
    return Table(title, columns, rows, "The least of three whole calls, wall time.")


def _periods(n_servers: int, n_tasks: int) -> Table:
    """Whole runs."""
    case, rows = scenario(n_servers, n_tasks), []
    energies = {}
    for name, options in {"bf": {}, "abf": {}, "abf, device=cuda": {"device": "cuda"}}.items():
        one = replace(case, policy=name.partition(",")[0], options=options)
        vs.simulate(replace(scenario(40, 4), policy=one.policy, options=options))  # compile
        begun_s = time.perf_counter()
        result = vs.simulate(one)
        rows.append([f"`{name}`", figure(time.perf_counter() - begun_s)])
        energies[name] = result.summary["periods"]["energy_j"]
    if energies["abf"] != energies["abf, device=cuda"]:
        raise RuntimeError(f"the energies of abf differ between CPU and GPU: {energies}")
    title = f"20 periods of {n_tasks:,} new tasks on {n_servers:,} servers, `simulate()`, s"
    return Table(title, ["policy", "wall s"], rows, "The energies of `abf` on CPU and GPU are equal.")


def _least_s(call: Callable[[], Any], n: int = REPEATS) -> float:
    """The least wall time: a scan uses all cores, and a GPU none."""
    call()
    times = []
    for _ in range(n):
        begun_s = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun_s)
    return min(times)


def _parts_ms(policy: AcceleratedBestFit, tasks: Any, servers: Any) -> tuple[float, float, float]:
    """The kernel, all that the GPU is asked for, and the check of its answer."""
    with _noted(on_gpu.Resident, "place") as all_ms, _noted(on_gpu, "check") as check_ms:
        for _ in range(REPEATS):
            policy.place(tasks, servers)
    with _kernels_timed() as kernel_ms:
        for _ in range(REPEATS):
            policy.place(tasks, servers)
    return min(kernel_ms), min(all_ms), min(check_ms)


@contextmanager
def _noted(of: Any, name: str) -> Iterator[list[float]]:
    """Note how long the calls of a function take, ms."""
    took_ms: list[float] = []
    function = getattr(of, name)

    def noted(*arguments: Any) -> Any:
        begun_s = time.perf_counter()
        found = function(*arguments)
        took_ms.append(1e3 * (time.perf_counter() - begun_s))
        return found

    with patch.object(of, name, noted):
        yield took_ms


@contextmanager
def _kernels_timed() -> Iterator[list[float]]:
    """Note how long the placement kernel takes on the GPU, ms."""
    from numba import cuda

    from vinesim.policies.placement.kernels import cuda_kernel

    took_ms: list[float] = []
    kernel_of = cuda_kernel.kernel_of

    class Timed:
        def __init__(self, kernel: Any):
            self._kernel = kernel

        def __getitem__(self, shape: tuple[int, int]) -> Callable[..., None]:
            def launch(*arguments: Any) -> None:
                begin, end = cuda.event(), cuda.event()
                begin.record()
                self._kernel[shape](*arguments)
                end.record()
                end.synchronize()
                took_ms.append(begin.elapsed_time(end))

            return launch

    with patch.object(cuda_kernel, "kernel_of", lambda *words: Timed(kernel_of(*words))):
        yield took_ms
