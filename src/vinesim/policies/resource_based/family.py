"""The common part of the family's policies: options, promises, and the arrays that their kernels use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.resource_based.queues import queue_again

# Each queue has one heap per group of tasks (same type and requests), so that one task tells where all of them fit.
SCRATCH: Mapping[str, tuple[str, str]] = {
    "ready": ("i8", "one"),  # whether device_order is filled
    "device_order": ("i8", "types"),  # processor types in the order in which a node's devices are tried
    "in_call": ("i8", "one"),  # a call of SCHEDULE is in progress and may start more
    "calls": ("i8", "one"),  # calls so far that count as free passes
    "passed": ("i8", "units"),  # at the first unit of a node: free passes are the calls since this one
    "started": ("i8", "one"),  # the call has started a job
    "stuck": ("i8", "one"),  # calls without a start since the last event that could change anything
    "waiting": ("i8", "one"),  # tasks in the queues
    "waits": ("u1", "tasks"),  # whether a task is one of them
    "running": ("i8", "one"),
    "has_empty": ("i8", "one"),  # a task without operations has arrived: all devices are equally fast for it
    "changed": ("i8", "one"),  # the queues have changed since `head` and `wanted` were computed
    "head": ("i8", "types"),  # first task of the queue that fits the type, numbered from 1; 0 = none
    "wanted": ("i8", "types"),  # whether a unit of the type may get a task
    "in_second_phase": ("i8", "one"),
    "node": ("i8", "one"),  # the node being tried; -1 = find the next
    "rank": ("i8", "one"),  # position in device_order, which is passed through twice
    "unit": ("i8", "one"),  # next unit to try
    "order_root": ("i4", "groups*2"),  # cpu_jobs and acc_jobs in queue order
    "order_key": ("f8", "tasks"),
    "order_left": ("i4", "tasks"),
    "order_right": ("i4", "tasks"),
    "short_root": ("i4", "groups*2"),  # the same by estimate
    "estimate": ("f8", "tasks"),
    "short_left": ("i4", "tasks"),
    "short_right": ("i4", "tasks"),
    "move_from": ("i8", "one"),  # the end that is tried first
    "move_root": ("i4", "groups"),  # accelerator tasks with a CPU version, from the end that is tried first
    "move_left": ("i4", "tasks"),
    "move_right": ("i4", "tasks"),
    "cpu_root": ("i4", "groups"),  # the same by their time on a CPU
    "cpu_us": ("f8", "tasks"),
    "cpu_left": ("i4", "tasks"),
    "cpu_right": ("i4", "tasks"),
    "was_down": ("u1", "units"),  # at the first unit of a node, as of the last outages
    "is_vacated": ("u1", "units"),  # a withdrawn task ran there until this event
    "aside": ("i4", "tasks"),  # chain of tasks temporarily removed from a heap
    "held": ("u1", "tasks"),  # heaps that hold the task; a started task stays until it reaches a root
    "for_accelerator": ("u1", "tasks"),
    "gang": ("i8", "one"),  # the first task, from 1, of the gang that has just been started; 0: none
    "gang_call": ("i8", "one"),  # the call that started it
    "gang_us": ("f8", "one"),  # when
    "ended": ("i8", "task_types"),  # tasks that finished, and their times
    "ended_us": ("f8", "task_types"),
}


@dataclass(frozen=True)
class ResourceBased(OnlinePolicy):
    """The options of the family.

    ``node_rule`` fit: a node is optimal for a job if it provides what the job requests; fastest: and no other free
    device of that kind is faster for it. ``kind`` best: a job is for the kind of device that is fastest for it; acc:
    for an accelerator if one can run it. ``sharing``: jobs share a device as their demands allow; otherwise each job
    has a device to itself. ``polling_us``: SCHEDULE runs at multiples of this period; 0: after each instant at which
    jobs arrive or end. ``estimate`` given: as in the workload; learned: the mean time of the finished jobs of its type.
    """

    sees_every_event: ClassVar[bool] = True
    takes_back: ClassVar[bool] = True
    takes_withdrawals: ClassVar[bool] = True
    takes_dependencies: ClassVar[bool] = True
    needs_estimates: ClassVar[bool] = True
    supports_multi_unit_tasks: ClassVar[bool] = False
    takes_gangs: ClassVar[bool] = True
    is_exclusive: ClassVar[bool] = True
    unsupported_because: ClassVar[str] = "its source gives each task one device of a node, and says nothing of several"
    groups: ClassVar[tuple[str, ...]] = ("requests",)
    scratch: ClassVar[Mapping[str, tuple[str, str]]] = SCRATCH
    task_numbers: ClassVar[Mapping[str, str]] = {}  # the heaps are rebuilt

    node_rule: Literal["fit", "fastest"] = "fit"
    kind: Literal["best", "acc"] = "best"
    sharing: bool = False
    polling_us: float = 0.0
    estimate: Literal["given", "learned"] = "given"

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_exclusive", not self.sharing)

    @staticmethod
    def renumbered(model: Any, state: Any, view: Any) -> None:
        queue_again(model, state, view.scratch)
