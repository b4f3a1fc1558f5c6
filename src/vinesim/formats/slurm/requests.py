"""What a job of a Slurm site requests, as a text for the policy ``slurm``, and as tasks for the engine.

The text has the words of sbatch: ``nodes=2-2 tasks=8 cpus=1 per_node=4 mem_node=8000 gpus=2 gpu_type=t4``. The policy
decides how many CPUs a job gets at each of its nodes. The engine therefore sees a job on one node as one task, a job
with a number of tasks per node or with nodes to itself as one task per node, and any other job as Slurm's tasks.
"""

import math
from typing import NamedTuple

from vinesim.formats.slurm.values import exact, hosts

ALL = -1.0  # memory of a node: all of it
WHOLE = math.inf  # CPUs: all of a node


class Request(NamedTuple):
    """The request of a job."""

    least_nodes: int  # 0: not given
    most_nodes: int  # 0: any number
    tasks: int
    cpus: int  # per task
    per_node: int  # tasks per node; 0: any number
    mem_cpu: float  # MiB
    mem_node: float
    gpus: int  # per node
    gpu_type: str
    exclusive: bool
    constraint: str
    switches: int = 0  # the most leaf switches that it wants; 0: any number
    switch_wait_s: float = math.inf  # how long it waits for them
    nodelist: str = ""  # hosts that must all be among its nodes
    exclude: str = ""  # hosts that must not

    @property
    def is_by_node(self) -> bool:
        """Whether the job is one task per node for the engine."""
        return self.most_nodes == 1 or self.per_node > 0 or (self.exclusive and self.least_nodes > 0)

    @property
    def n_cpus(self) -> int:
        """The number of CPUs requested in total."""
        n = self.per_node * max(1, self.least_nodes) if self.per_node else self.tasks
        return n * self.cpus

    def __str__(self) -> str:
        words = {
            "nodes": f"{self.least_nodes}-{self.most_nodes}" if self.least_nodes else "",
            "tasks": str(self.tasks),
            "cpus": str(self.cpus) if self.cpus > 1 else "",
            "per_node": str(self.per_node or ""),
            "mem_cpu": exact(self.mem_cpu) if self.mem_cpu else "",
            "mem_node": exact(self.mem_node) if self.mem_node else "",
            "gpus": str(self.gpus or ""),
            "gpu_type": self.gpu_type,
            "exclusive": "1" if self.exclusive else "",
            "constraint": self.constraint,
            "switches": str(self.switches or ""),
            "switch_wait": exact(self.switch_wait_s) if math.isfinite(self.switch_wait_s) else "",
            "nodelist": self.nodelist,
            "exclude": self.exclude,
        }
        return " ".join(f"{name}={value}" for name, value in words.items() if value)


class Held(NamedTuple):
    """The equal tasks of a job in the engine."""

    n: int
    cpus: float
    memory_mib: float
    gpus: int


def parse(text: str) -> Request:
    """Parse the text of a request. Raises ValueError if it is invalid."""
    words = dict(word.split("=", 1) for word in text.split())
    unknown = set(words) - {"nodes", "tasks", "cpus", "per_node", "mem_cpu", "mem_node", "gpus", "gpu_type",
                            "exclusive", "constraint", "switches", "switch_wait", "nodelist", "exclude"}  # fmt: skip
    if unknown:
        raise ValueError(f"no words of a request: {', '.join(sorted(unknown))}")
    least, _, most = words.get("nodes", "0").partition("-")
    n_named = len(set(hosts(words.get("nodelist", ""))))
    hosts(words.get("exclude", ""))  # raises the error
    if n_named > int(least):
        raise ValueError(f"it names {n_named:,} nodes in nodelist, and wants {least} at least")
    return Request(
        int(least), int(most or least), int(words.get("tasks", 1)), int(words.get("cpus", 1)),
        int(words.get("per_node", 0)), float(words.get("mem_cpu", 0)), float(words.get("mem_node", 0)),
        int(words.get("gpus", 0)), words.get("gpu_type", ""), "exclusive" in words, words.get("constraint", ""),
        int(words.get("switches", 0)), float(words.get("switch_wait", math.inf)), words.get("nodelist", ""),
        words.get("exclude", ""),
    )  # fmt: skip


def held_by(request: Request) -> Held:
    """Return the tasks of a job in the engine."""
    if request.exclusive and request.least_nodes:
        return Held(request.least_nodes, WHOLE, 0.0, 0)
    if request.is_by_node:
        n = max(1, request.least_nodes) if request.per_node else 1
        cpus = request.n_cpus // n
        memory = request.mem_cpu * cpus if request.mem_cpu else max(0.0, request.mem_node)
        return Held(n, cpus, memory, request.gpus)
    return Held(request.tasks, request.cpus, request.mem_cpu * request.cpus, 0)
