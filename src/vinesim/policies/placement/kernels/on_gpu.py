"""Accelerated best fit on a GPU, checked: an answer that differs from the CPU's is an error, not a result."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.packages import is_installed, missing
from vinesim.policies.placement.kernels.best_fit import MAX_TYPES, Cost, best_fit_in_blocks, shares
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.state.demand import amounts

NOT_PLACED = -2
FEW_BLOCKS = r"(?s).*Grid size \d+ will likely"  # Numba's advice, which every small question would print
_OPTION = "policy.options.device"
_REMEDY = "Use device=cpu. The page Install VineSim says what a GPU needs."


def best_fit_on_gpu(instance: Instance, cost: Cost, n_blocks: int, block_size: int) -> np.ndarray:
    """Do the same as :func:`~vinesim.policies.placement.kernels.best_fit.best_fit_in_blocks`, on the GPU.

    Raises :class:`InputError` if there is no GPU, if its software fails, or if the blocks do not fit on it, and
    :class:`PolicyError` for an answer that fails :func:`check`.
    """
    cuda = _cuda()
    n_threads = 1 << (block_size - 1).bit_length()
    if n_threads > 1024:
        raise InputError([Problem("policy.options.block_size", "at most 1024 on a GPU", f"{block_size}")])
    if instance.n_types > MAX_TYPES:
        raise InputError([Problem(_OPTION, f"cpu, with more than {MAX_TYPES} types of server", "cuda")])
    tasks, servers = shares(instance.n_tasks, n_blocks), shares(len(instance.load), n_blocks)
    placed, load = np.full(instance.n_tasks, NOT_PLACED, np.int64), instance.load.copy()
    if instance.n_tasks:
        inputs = (cost.of(instance), instance.tasks.demand, instance.kind.astype(np.int32), instance.capacity)
        with gpu_software():
            from vinesim.policies.placement.kernels.cuda_kernel import kernel_of

            arrays = [cuda.to_device(a) for a in (*inputs, instance.limit, load, tasks, servers, placed)]
            kernel_of(n_threads)[n_blocks, n_threads](*arrays)
            load, placed = arrays[5].copy_to_host(), arrays[8].copy_to_host()
    check(instance, cost, n_blocks, placed, load)
    return placed


def check(instance: Instance, cost: Cost, n_blocks: int, placed: np.ndarray, load: np.ndarray) -> None:
    """Raise :class:`PolicyError` unless every task was placed once and all totals match the CPU's.

    ``placed`` [M] and ``load`` [U] are the GPU's answer. The CPU's is computed here, also in ``instance.load``.
    """
    before = instance.load.copy()
    on_cpu = best_fit_in_blocks(instance, cost, n_blocks, "scan")
    problems = []
    n_missing = int(((placed < -1) | (placed >= len(load))).sum())
    if n_missing:
        problems.append(f"{n_missing} tasks were not placed")
    else:
        chosen = placed >= 0
        where = placed[chosen]
        demand = amounts(instance.tasks.demand[chosen], instance.capacity[instance.kind[where]])
        added = before + np.bincount(where, demand, minlength=len(load))
        if not np.allclose(added, load, rtol=1e-9, atol=0.0):
            problems.append("the loads are not the sums of the demands placed")
        if not np.allclose(load.sum(), instance.load.sum(), rtol=1e-9, atol=0.0):
            problems.append(f"the total load is {load.sum():g}, on the CPU {instance.load.sum():g}")
        n_different = int((placed != on_cpu).sum())
        if n_different:
            problems.append(f"{n_different} tasks are on other servers than on the CPU")
    if problems:
        raise PolicyError(
            f"policy abf: the GPU's placement of {len(placed)} tasks is wrong: {'; '.join(problems)}. "
            "Use device=cpu, and report the GPU and its driver."
        )


@contextmanager
def gpu_software() -> Iterator[None]:
    """Report what fails in Numba, CUDA or the driver as a fault of the machine, not of the policy that uses them."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=FEW_BLOCKS)
            yield
    except Exception as wrong:
        raise InputError([Problem(_OPTION, "GPU software that works", _in_one_line(wrong), _REMEDY)]) from wrong


def _cuda() -> Any:
    """Return Numba's CUDA module; raise :class:`InputError` without a GPU."""
    if not is_installed("numba_cuda"):
        raise missing(_OPTION, "numba-cuda")
    with gpu_software():
        from numba import cuda

        is_available, error = cuda.is_available(), cuda.cuda_error()
    if not is_available:
        found = "no compiler (NVVM)" if error is None else _in_one_line(error)
        raise InputError([Problem(_OPTION, "a GPU with CUDA", found, _REMEDY)])
    return cuda


def _in_one_line(wrong: Any) -> str:
    text = " ".join(str(wrong).split())[:200].rstrip(".: ")
    return f"{type(wrong).__name__}: {text}" if isinstance(wrong, Exception) else text
