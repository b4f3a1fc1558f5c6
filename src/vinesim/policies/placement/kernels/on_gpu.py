"""Best fit in blocks on a GPU, checked: a wrong answer is an error, not a result."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.packages import is_installed, missing
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.kernels.best_fit import MAX_TYPES, Cost, best_fit_in_blocks, shares
from vinesim.policies.placement.kernels.instance import Instance
from vinesim.policies.placement.kernels.resident import Resident
from vinesim.state.demand import amounts

MAX_THREADS = 1024  # of a block, a power of 2
ROUNDING = 1e-9  # of a sum of demands
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
        if not instance.n_tasks:
            return np.empty(0, np.int64)
        time = instance.times_us()
        with gpu_software():
            placed, reached = resident.place(instance, time, cost.variant, cost.penalty, n_blocks, n_threads)
        check(instance, time, n_blocks, placed, reached)
        if is_checked_fully or resident.n_asked % SAMPLED == 0:
            compare(instance, cost, n_blocks, placed)
        resident.n_asked += 1
    return placed


def _resident(cuda: Any, tasks: BatchTasks, servers: BatchServers) -> Resident:
    """Return the servers on the GPU: those of the last call, if they are the same."""
    if not (_KEPT and _KEPT[0].is_for(servers)):
        _KEPT[:] = [Resident(cuda, tasks, servers)]
    return _KEPT[0]


def check(instance: Instance, time: np.ndarray, n_blocks: int, placed: np.ndarray, reached: np.ndarray) -> None:
    """Raise :class:`PolicyError` unless each task is on a server of its block that can run it, or on none, and the
    loads that the servers reach are the sums of the demands.

    ``placed`` [M] and ``reached`` [M], the load of its server with a task and those before it, are the GPU's answer;
    ``instance.load`` [U] are the loads before, ``time`` [M, P] the times of the tasks on each type."""
    problems = []
    first = shares(len(instance.load), n_blocks)
    n_tasks_of = np.diff(shares(len(placed), n_blocks))
    begin, end = np.repeat(first[:-1], n_tasks_of), np.repeat(first[1:], n_tasks_of)
    chosen = np.flatnonzero(placed != -1)
    where = placed[chosen]
    is_wrong = (where < begin[chosen]) | (where >= end[chosen])
    if is_wrong.any():
        problems.append(f"{int(is_wrong.sum())} tasks were not placed on servers of their blocks")
    else:
        of = instance.kind[where]
        n_unable = int(np.isinf(time[chosen, of]).sum())
        if n_unable:
            problems.append(f"{n_unable} tasks are on servers that cannot run them")
        demand = amounts(instance.tasks.demand[chosen], instance.capacity[of])
        total = instance.load[where] + np.bincount(where, demand, minlength=len(instance.load))[where]
        beyond = reached[chosen] - total
        is_full = np.zeros(len(instance.load), bool)
        is_full[where[np.abs(beyond) <= ROUNDING * total]] = True  # the last task of each server
        if not (is_full[where].all() and (beyond <= ROUNDING * total).all()):
            problems.append("the loads are not the sums of the demands placed")
    _refuse(problems, len(placed))


def compare(instance: Instance, cost: Cost, n_blocks: int, placed: np.ndarray) -> None:
    """Raise :class:`PolicyError` unless the GPU's answer is the CPU's, which is computed here, also in
    ``instance.load``."""
    n_different = int((placed != best_fit_in_blocks(instance, cost, n_blocks, "scan")).sum())
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
