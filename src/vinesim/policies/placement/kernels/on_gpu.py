"""Best fit in blocks on a GPU, checked: a wrong answer is an error, not a result."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.packages import is_installed, missing
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.kernels.best_fit import MAX_TYPES, Cost, best_fit_in_blocks
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.policies.placement.kernels.passes import answer_of
from vinesim.policies.placement.kernels.resident import Resident

SAMPLED = 64  # one of this number of calls is compared with the CPU
_KEPT: list[Resident] = []  # of the last call
_ONE_AT_A_TIME = Lock()  # threads of a study share it
FEW_BLOCKS = r"(?s).*Grid size \d+ will likely"  # Numba's advice, which every small question would print
_OPTION = "policy.options.device"
_REMEDY = "Use device=cpu. The page Install VineSim says what a GPU needs."


def best_fit_on_gpu(
    tasks: BatchTasks, servers: BatchServers, cost: Cost, n_blocks: int, n_threads: int, is_checked_fully: bool
) -> np.ndarray:
    """Do the same as :func:`~vinesim.policies.placement.kernels.best_fit.best_fit_in_blocks`, on the GPU, with
    ``n_threads`` threads for each block of servers, a power of 2.

    Raises :class:`InputError` if there is no GPU, or if its software fails, and
    :class:`PolicyError` for an answer that fails :func:`check` or, in the first call and then in one of
    ``SAMPLED``, or if ``is_checked_fully`` in each, :func:`compare`.
    """
    cuda = _cuda()
    with _ONE_AT_A_TIME:
        with gpu_software():
            resident = _resident(cuda, tasks, servers)
        if resident.of.n_types > MAX_TYPES:
            raise InputError([Problem(_OPTION, f"cpu, with more than {MAX_TYPES} types of server", "cuda")])
        instance = resident.question(tasks, servers)
        if instance.n_tasks:
            time = instance.times_us()
            with gpu_software():
                found = resident.place(instance, time, cost.variant, cost.penalty, n_blocks, n_threads)
            placed = check(instance, time, n_blocks, found, resident.sent)
            if is_checked_fully or resident.n_asked % SAMPLED == 0:
                compare(instance, cost, n_blocks, placed)
            resident.n_asked += 1
        else:
            placed = np.empty(0, np.int64)
        _KEPT.append(resident)  # not what a call has left that failed, or that Ctrl-C ended
    return placed


def _resident(cuda: Any, tasks: BatchTasks, servers: BatchServers) -> Resident:
    """Return the servers on the GPU: those of the last call, if they are the same."""
    kept = _KEPT.pop() if _KEPT else None
    return kept if kept and kept.is_for(servers) else Resident(cuda, tasks, servers)


def check(instance: Instance, time: np.ndarray, n_blocks: int, found: np.ndarray, load: np.ndarray) -> np.ndarray:
    """Return the server of each task [M], -1 for none; raise :class:`PolicyError` unless each task is on a server of
    its block that can run it, or on none, and the loads that the servers reach are the sums of the demands.

    ``found`` [2, M] is the GPU's answer: the server of each task, and the load of this server with it and the tasks
    before it. ``time`` [M, P] are the times of the tasks on each type. ``load`` [U] is a copy of ``instance.load``, the
    loads before, and stays so."""
    placed = np.empty(instance.n_tasks, np.int64)
    by_type, demand = np.ascontiguousarray(time.T), np.ascontiguousarray(instance.tasks.demand, np.float64)
    n_outside, n_unable, n_wrong = answer_of(
        found, by_type, demand, instance.kind, instance.capacity, instance.load, load, n_blocks, placed
    )
    problems = []
    if n_outside:
        problems.append(f"{n_outside} tasks were not placed on servers of their blocks")
    if n_unable:
        problems.append(f"{n_unable} tasks are on servers that cannot run them")
    if n_wrong and not n_outside:
        problems.append("the loads are not the sums of the demands placed")
    _refuse(problems, len(placed))
    return placed


def compare(instance: Instance, cost: Cost, n_blocks: int, placed: np.ndarray) -> None:
    """Raise :class:`PolicyError` unless the GPU's answer is the CPU's, which is computed here."""
    own = replace(instance, load=instance.load.copy())
    n_different = int((placed != best_fit_in_blocks(own, cost, n_blocks, "scan")).sum())
    _refuse([f"{n_different} tasks are on other servers than on the CPU"] if n_different else [], len(placed))


def _refuse(problems: list[str], n_tasks: int) -> None:
    if problems:
        raise PolicyError(
            f"device=cuda: the GPU's placement of {n_tasks} tasks is wrong: {'; '.join(problems)}. "
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
        from vinesim.jit.gpu import cuda

        is_available, error = cuda.is_available(), cuda.cuda_error()
    if not is_available:
        found = "no compiler (NVVM)" if error is None else _in_one_line(error)
        raise InputError([Problem(_OPTION, "a GPU with CUDA", found, _REMEDY)])
    return cuda


def _in_one_line(wrong: Any) -> str:
    text = " ".join(str(wrong).split())[:200].rstrip(".: ")
    return f"{type(wrong).__name__}: {text}" if isinstance(wrong, Exception) else text
