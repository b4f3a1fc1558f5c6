"""DCBF and ABF: best fit in blocks of servers, each with a share of the tasks."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import BatchServers, BatchTasks
from vinesim.policies.placement.best_fit import CostBased

MAX_THREADS = 1024  # of a block on a GPU, a power of 2


@dataclass(frozen=True)
class DivideAndConquerBestFit(CostBased):
    """Divide and conquer best fit: bf in ``blocks`` equal shares of servers and tasks, in parallel.

    Servers and tasks are divided in their order; a task that no server of its block can run waits. ``cost``,
    ``penalty`` and ``method`` as in bf. ``device`` cuda looks at all servers of a block on a GPU, whatever the
    ``method``; answers are checked as those of abf, by ``check`` sample or full. With ``realloc`` all, running tasks
    are placed again together with the new ones. Ties: (rack, shelf) order. Cost per decision: O(server types x
    log(servers / blocks)); scan and GPU: O(servers / blocks).
    """

    name: ClassVar[str] = "dcbf"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3.6"

    blocks: int = 8
    method: Literal["indexed", "scan"] = "indexed"
    device: Literal["cpu", "cuda"] = "cpu"
    check: Literal["sample", "full"] = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one("blocks", self.blocks)

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        n_blocks = min(self.blocks, len(servers.load))
        if self.device == "cuda":
            from vinesim.policies.placement.kernels.on_gpu import best_fit_on_gpu

            n_threads = min(MAX_THREADS, _power_of_2(-(-len(servers.load) // n_blocks)))
            return best_fit_on_gpu(tasks, servers, self._cost(servers), n_blocks, n_threads, self.check == "full")
        from vinesim.policies.placement.kernels.best_fit import best_fit_in_blocks
        from vinesim.policies.placement.kernels.instance import Instance

        return best_fit_in_blocks(Instance.of(tasks, servers), self._cost(servers), n_blocks, self.method)


@dataclass(frozen=True)
class AcceleratedBestFit(CostBased):
    """Accelerated best fit: bf in many small blocks; on a GPU, with one thread per server.

    N servers make ceil(N / ``block_size``) blocks. With ``pad`` pow2 the number of blocks is that for N or the number
    of tasks, whichever is larger, rounded up to a power of 2, so that a block has fewer servers than threads.
    ``device`` cuda runs the kernel on a GPU and stops at a wrong answer: each task must be on a server of its block
    that can run it, and the loads must add up. With ``check`` sample the first call and one in 64 are also compared
    with the CPU, with full all of them.
    ``cost`` and ``penalty`` as in bf. With ``realloc`` all, running tasks are placed again together with the new ones.
    Ties: (rack, shelf) order. Cost per decision: O(block size), O(log block size) on a GPU.
    """

    name: ClassVar[str] = "abf"
    source: ClassVar[str] = "energy-aware scheduler thesis, section 3.7"

    block_size: int = 512
    pad: Literal["none", "pow2"] = "none"
    device: Literal["cpu", "cuda"] = "cpu"
    check: Literal["sample", "full"] = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one("block_size", self.block_size)
        if self.device == "cuda" and _power_of_2(self.block_size) > MAX_THREADS:
            expected = f"at most {MAX_THREADS} on a GPU"
            raise InputError([Problem(("policy", "options", "block_size"), expected, f"{self.block_size}")])

    def place(self, tasks: BatchTasks, servers: BatchServers) -> np.ndarray:
        n_servers, n_tasks = len(servers.load), len(tasks.task)
        padded = n_servers if self.pad == "none" else _power_of_2(max(n_servers, n_tasks))
        n_blocks = min(n_servers, -(-padded // self.block_size))
        if self.device == "cuda":
            from vinesim.policies.placement.kernels.on_gpu import best_fit_on_gpu

            n_threads = _power_of_2(self.block_size)
            return best_fit_on_gpu(tasks, servers, self._cost(servers), n_blocks, n_threads, self.check == "full")
        from vinesim.policies.placement.kernels.best_fit import best_fit_in_blocks
        from vinesim.policies.placement.kernels.instance import Instance

        return best_fit_in_blocks(Instance.of(tasks, servers), self._cost(servers), n_blocks, "scan")


def _power_of_2(n: int) -> int:
    """The least power of 2 that is n or more."""
    return 1 << (n - 1).bit_length()


def at_least_one(option: str, value: int) -> None:
    """Raise :class:`InputError` if the option's value is below 1."""
    if value < 1:
        raise InputError([Problem(("policy", "options", option), "1 or more", f"{value}")])
