"""Accelerated best fit on a GPU, checked: an answer that differs from the CPU's is an error, not a result."""

from typing import Any

import numpy as np

from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.policies.placement.kernels.best_fit import MAX_TYPES, Cost, best_fit_in_blocks, shares
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.state.demand import amounts

NOT_PLACED = -2
_OPTION = "policy.options.device"


def best_fit_on_gpu(instance: Instance, cost: Cost, n_blocks: int, block_size: int) -> np.ndarray:
    """Do the same as :func:`~vinesim.policies.placement.kernels.best_fit.best_fit_in_blocks`, on the GPU.

    Raises :class:`InputError` if there is no GPU or the blocks do not fit on it, and :class:`PolicyError` for an answer
    that fails :func:`check`.
    """
    cuda = _cuda()
    n_threads = 1 << (block_size - 1).bit_length()
    if n_threads > 1024:
        raise InputError([Problem("policy.options.block_size", "at most 1024 on a GPU", f"{block_size}")])
    if instance.n_types > MAX_TYPES:
        raise InputError([Problem(_OPTION, f"cpu, with more than {MAX_TYPES} types of server", "cuda")])
    from vinesim.policies.placement.kernels.cuda_kernel import kernel_of

    tasks, servers = shares(instance.n_tasks, n_blocks), shares(len(instance.load), n_blocks)
    placed, load = np.full(instance.n_tasks, NOT_PLACED, np.int64), instance.load.copy()
    if instance.n_tasks:
        inputs = (cost.of(instance), instance.tasks.demand, instance.kind.astype(np.int32), instance.capacity)
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


def _cuda() -> Any:
    """Return Numba's CUDA module; raise :class:`InputError` without a GPU."""
    try:
        from numba import cuda

        is_available = cuda.is_available()
    except Exception as wrong:  # no driver, or one that does not load
        raise InputError([Problem(_OPTION, "a machine with CUDA", f"{wrong}", "Use device=cpu.")]) from None
    if not is_available:
        raise InputError([Problem(_OPTION, "a GPU with CUDA", "none", "Use device=cpu.")])
    return cuda
