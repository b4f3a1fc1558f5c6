"""Divide what a Slurm job held among its nodes, one task per node, because sacct gives only the total.

The total is divided equally. If the nodes of the partition have no room for equal parts, the largest nodes take what
the others cannot. GPUs of several types at one node become one task per type.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import gt
from typing import NamedTuple

from vinesim.formats.importers.slurm_jobs import ALL_MEMORY, Part, SlurmJob
from vinesim.formats.importers.slurm_nodes import SlurmNode
from vinesim.model.workload import ANYWHERE, NO_GANG, NODE

Kinds = Counter[SlurmNode]  # a node, and the number of nodes equal to it
TOO_FEW = "its partition has too few nodes with all that it asks for"
ON_SEVERAL_NODES = "GPUs of several types on several nodes"
SEVERAL_TYPES = "GPUs of several types, and no node that has them"


class Task(NamedTuple):
    """Equal tasks of a job, and what each holds."""

    n_tasks: int
    n_gpus: int
    cores: int
    memory_bytes: float
    gpu_type: str  # empty if any


class Tasks(NamedTuple):
    """The tasks of a job, largest first, and what they must share when they start together."""

    within: int
    tasks: tuple[Task, ...]
    is_unequal: bool = False  # whether parts are unequal because there is no room for equal ones

    @property
    def n(self) -> int:
        """Number of tasks."""
        return sum(task.n_tasks for task in self.tasks)


class Fit:
    """Divides what jobs held among the nodes of a cluster; equally if these are unknown."""

    def __init__(self, nodes: Iterable[SlurmNode], jobs: Iterable[SlurmJob]):
        self.kinds: Kinds = Counter(node._replace(is_off=False) for node in nodes)
        self.has_types = any(node.has_types for node in self.kinds)
        held = (part.memory_bytes / part.n_nodes for job in jobs for part in job.parts)
        self._largest_bytes = max((size for size in held if size < ALL_MEMORY), default=0.0)
        self._known: dict[Part, Tasks | str] = {}

    def tasks_of(self, job: SlurmJob) -> Tasks | str:
        """Return the tasks of a job, or why it can never run."""
        parts = []
        for part in job.parts:
            found = self._known.get(part) or self._of_part(part)
            self._known[part] = found
            if isinstance(found, str):
                return found
            parts.append(found)
        if len(parts) == 1:
            return parts[0]
        if any(part.within == NODE for part in parts):
            return "a part of it has GPUs of several types"
        largest_first = sorted((task for part in parts for task in part.tasks), key=lambda task: task[1:], reverse=True)
        tasks = Tasks(ANYWHERE, tuple(largest_first))
        partitions = {part.partition for part in job.parts}
        n_nodes = sum(n for node, n in self.kinds.items() if partitions & {*node.partitions})
        return TOO_FEW if self.kinds and tasks.n > n_nodes else tasks

    def _of_part(self, part: Part) -> Tasks | str:
        """Return the tasks of a part of a job, or why it can never run."""
        if part.memory_bytes == ALL_MEMORY and not (self.kinds and self._largest_bytes):  # 0: memory is not recorded
            part = part._replace(memory_bytes=self._largest_bytes * part.n_nodes)
        if not self.kinds:
            return SEVERAL_TYPES if len(part.gpus) > 1 else equally(part)
        mine = Counter({node: n for node, n in self.kinds.items() if part.partition in node.partitions})
        if not mine:
            return f"no node is in its partition, {part.partition or 'which has no name'}"
        if part.gpus and not self.has_types:
            part = part._replace(gpus=(("", sum(n for _, n in part.gpus)),))
        may_be = [part.memory_bytes, part.memory_bytes - part.rounded_bytes]
        if part.memory_bytes == ALL_MEMORY:  # any of its nodes has at least the memory of the smallest
            task = equally(part._replace(memory_bytes=0.0)).tasks[0]
            able = [node.memory_bytes for node in mine if _holds(node, task)]
            may_be = [part.n_nodes * float(min(able or [node.memory_bytes for node in mine]))]
        for memory in dict.fromkeys(may_be):
            if found := on_nodes(part._replace(memory_bytes=memory), mine):
                return found
        return TOO_FEW if len(part.gpus) < 2 else SEVERAL_TYPES if part.n_nodes == 1 else ON_SEVERAL_NODES


def equally(part: Part) -> Tasks:
    """Return tasks with parts as equal as possible: they differ by at most one core or GPU."""
    n, cores, (gpu_type, n_gpus) = part.n_nodes, part.cores, part.gpus[0] if part.gpus else ("", 0)
    cuts = sorted({0, cores % n, n_gpus % n, n})
    memory = part.memory_bytes / n
    tasks = [
        Task(last - first, n_gpus // n + (first < n_gpus % n), cores // n + (first < cores % n), memory, gpu_type)
        for first, last in pairwise(cuts)
    ]
    return Tasks(NO_GANG if n == 1 else ANYWHERE, tuple(tasks))


def on_nodes(part: Part, mine: Kinds) -> Tasks | None:
    """Return the tasks of one part of a job on some of the nodes ``mine``; None if it does not fit."""
    if len(part.gpus) < 2:
        found = equally(part)
        if sum(n for node, n in mine.items() if _holds(node, found.tasks[0])) >= part.n_nodes:
            return found
    if part.n_nodes == 1:
        return _of_several_types(part, mine)
    return _unequally(part, mine) if len(part.gpus) < 2 else None


def _unequally(part: Part, mine: Kinds) -> Tasks | None:
    """Return tasks for the nodes with the most GPUs, cores and memory, as equal as their sizes allow."""
    gpu_type, n_gpus = part.gpus[0] if part.gpus else ("", 0)
    sizes = [(node.most_gpus(gpu_type), node.cores, node.memory_bytes) for node in mine.elements()]
    largest = sorted(sizes, reverse=True)[: part.n_nodes]
    amounts = n_gpus, part.cores, math.ceil(part.memory_bytes)
    if len(largest) < part.n_nodes or any(map(gt, amounts, map(sum, zip(*largest, strict=True)))):
        return None
    held = zip(*map(_filled, amounts, zip(*largest, strict=True)), strict=True)
    counts = sorted(Counter(held).items(), reverse=True)
    tasks = [Task(n, gpus, cores, memory, gpu_type) for (gpus, cores, memory), n in counts]
    return Tasks(ANYWHERE, tuple(tasks), is_unequal=True)


def _filled(amount: int, sizes: Sequence[int]) -> list[int]:
    """Divide an amount as equally as the sizes allow."""
    found = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
    for n_left, i in zip(range(len(sizes), 0, -1), smallest_first, strict=True):
        found[i] = min(sizes[i], amount // n_left)
        amount -= found[i]
    return found


def _of_several_types(part: Part, mine: Kinds) -> Tasks | None:
    """Return tasks that start together at one node, one for each type of its GPUs, with their share of the rest."""
    for node in sorted(mine, key=lambda node: sum(n for _, n in node.gpus)):
        gpus = _by_type(part, node)
        if gpus and node.cores >= part.cores and node.memory_bytes >= part.memory_bytes:
            n_gpus = sum(gpus.values())
            cores = {kind: part.cores * n // n_gpus for kind, n in gpus.items()}
            cores[next(iter(cores))] += part.cores - sum(cores.values())
            memory = part.memory_bytes / n_gpus
            return Tasks(NODE, tuple(Task(1, n, cores[kind], memory * n, kind) for kind, n in gpus.items()))
    return None


def _by_type(part: Part, node: SlurmNode) -> dict[str, int]:
    """Return the GPUs of a node that a job holds by type, most first; empty if the node has too few."""
    left, found = dict(node.gpus), Counter[str]()
    for kind, n in part.gpus:
        for own in [kind] if kind else sorted(left, key=left.__getitem__, reverse=True):
            taken = min(n, left.get(own, 0))
            found[own] += taken
            left[own] = left.get(own, 0) - taken
            n -= taken
        if n:
            return {}
    return {kind: n for kind, n in found.most_common() if n}


def _holds(node: SlurmNode, task: Task) -> bool:
    """Whether a task with GPUs of one type fits on an empty node."""
    is_large = node.cores >= task.cores and node.memory_bytes >= task.memory_bytes
    return is_large and node.most_gpus(task.gpu_type) >= task.n_gpus
