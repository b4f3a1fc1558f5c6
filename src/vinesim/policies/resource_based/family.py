"""What the policies of the family share: their options, their promises, and the arrays that their kernels work on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy

BY_ARRIVAL, SHORTEST, LONGEST, LONGEST_AGED = range(4)  # orders of the queues
STRICT, RELAXES, TWO_PHASE, SKIPS_EMPTY = 0, 1, 2, 4  # how requests are relaxed, added up
STAYS, FROM_TAIL, FROM_HEAD = 0, -1, 1  # whether accelerator tasks may move to a CPU, and which end is tried first
IN_ORDER, BY_LENGTH, TO_MOVE, BY_CPU_TIME = 1, 2, 4, 8  # the heaps that hold a task, as bits

# Each queue has a heap a group of tasks (of one type and requests), so that one task tells where all of them fit.
SCRATCH: Mapping[str, tuple[str, str]] = {
    "ready": ("i8", "one"),  # whether device_order is filled
    "device_order": ("i8", "types"),  # processor types in the order in which a node's devices are tried
    "in_call": ("i8", "one"),  # a call of SCHEDULE has begun and may start more
    "calls": ("i8", "one"),  # calls so far that count as free passes
    "passed": ("i8", "units"),  # by first unit of a node: free passes are the calls since this one
    "started": ("i8", "one"),  # the call has started a job
    "stuck": ("i8", "one"),  # calls that started nothing since the last event that could change anything
    "waiting": ("i8", "one"),  # tasks in the queues
    "running": ("i8", "one"),
    "arrived": ("i8", "one"),
    "has_empty": ("i8", "one"),  # a task without operations has come: all devices are as fast for it
    "changed": ("i8", "one"),  # the queues have changed since `head` and `wanted` were found
    "head": ("i8", "types"),  # first task, counted from 1, of the queue that fits the type; 0 = none
    "wanted": ("i8", "types"),  # whether a unit of the type may get a task
    "in_second_phase": ("i8", "one"),
    "node": ("i8", "one"),  # the node that is tried; -1 = find the next
    "rank": ("i8", "one"),  # position in device_order, twice through it
    "unit": ("i8", "one"),  # next unit to try
    "order_root": ("i4", "groups*2"),  # cpu_jobs and acc_jobs in queue order
    "order_key": ("f8", "tasks"),
    "order_left": ("i4", "tasks"),
    "order_right": ("i4", "tasks"),
    "short_root": ("i4", "groups*2"),  # the same by estimate
    "estimate": ("f8", "tasks"),
    "short_left": ("i4", "tasks"),
    "short_right": ("i4", "tasks"),
    "move_root": ("i4", "groups"),  # accelerator tasks with a CPU version, from the end that is tried first
    "move_left": ("i4", "tasks"),
    "move_right": ("i4", "tasks"),
    "cpu_root": ("i4", "groups"),  # the same by their time on a CPU
    "cpu_us": ("f8", "tasks"),
    "cpu_left": ("i4", "tasks"),
    "cpu_right": ("i4", "tasks"),
    "was_down": ("u1", "units"),  # by first unit of a node, at the last outages
    "aside": ("i4", "tasks"),  # chain of tasks taken out of a heap for the moment
    "held": ("u1", "tasks"),  # heaps that hold the task; what has started stays until it comes to a root
    "for_accelerator": ("u1", "tasks"),
    "ended": ("i8", "task_types"),  # tasks that finished, and their times
    "ended_us": ("f8", "task_types"),
}


@dataclass(frozen=True)
class ResourceBased(OnlinePolicy):
    """The options of the family.

    ``node_rule`` fit: a node is optimal for a job when it provides what the job requests; fastest: and no other free
    device of that kind is faster for it. ``kind`` best: a job is for the kind of device that is fastest for it; acc:
    for an accelerator wherever one can run it. ``sharing``: jobs share a device as their demands allow; else one runs
    alone. ``polling_us``: SCHEDULE at multiples of this period, 0: after each instant at which jobs arrive or end.
    ``estimate`` told: as the workload says; learned: the mean time of the jobs of its type that have ended.
    """

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("requests",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = SCRATCH

    node_rule: Literal["fit", "fastest"] = "fit"
    kind: Literal["best", "acc"] = "best"
    sharing: bool = False
    polling_us: float = 0.0
    estimate: Literal["told", "learned"] = "told"
