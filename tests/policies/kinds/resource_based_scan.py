"""The slow twins of the RBSS policies: plain lists, every job and every node looked at, the whole call at once."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vinesim.model.time import FOREVER_US
from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.resource_based.family import ResourceBased
from vinesim.policies.resource_based.ljf_ba import RbLjfBa
from vinesim.policies.resource_based.ljf_ocl import RbLjfOcl
from vinesim.state.layout import ARRIVAL, ATTACHED, FINISH, FULL, OUTAGE, OVERFULL
from vinesim.state.queries import demand, estimate_us, meets, more_at_once, nothing, start, wait_until

RUNS: dict[int, "Memory"] = {}


class Memory:
    """The memory of one run."""

    def __init__(self, model, scratch):
        self.scratch = scratch  # kept, so that its address stays its own
        self.calls = 0
        self.passes = [0] * (len(model.node_first) - 1)
        self.plan: list[tuple[int, int]] = []
        self.estimate: dict[int, float] = {}
        self.times: dict[int, list[float]] = {}
        self.polls = 0
        self.futile = 0
        self.called_at = -1
        self.down: set[int] = set()


class Room:
    """The loads of the units as the call goes on."""

    def __init__(self, model, state, options):
        self.model, self.state, self.options = model, state, options
        self.load = [float(load) for load in state.unit_load]
        self.n_tasks = [len(tasks) for tasks in state.running]
        self.open = state.unit_open

    def is_free(self, unit):
        capacity = self.open[unit]
        return self.load[unit] < capacity * FULL and (self.options.sharing or self.n_tasks[unit] == 0)

    def takes(self, task, unit):
        wanted = demand(self.model, self.state, task, unit)
        return self.is_free(unit) and self.load[unit] + wanted <= self.open[unit] * OVERFULL

    def take(self, task, unit):
        self.load[unit] += demand(self.model, self.state, task, unit)
        self.n_tasks[unit] += 1

    def place_of(self, task, unit, members=None):
        """The units on which the task and those of its gang would start, of tasks that take whole units; or None."""
        model, members = self.model, members or together(self.model, self.state, task)
        if not self.takes(task, unit):
            return None
        if len(members) == 1:
            return [unit]
        job = model.task_job[task]
        home, limit = model.unit_node[unit], model.job_per_node[job] or model.job_first[job + 1] - model.job_first[job]
        scope = {NODE: model.unit_node == home, RACK: model.node_rack[model.unit_node] == model.node_rack[home]}
        is_near = scope.get(model.job_gang[job], np.ones(len(model.unit_type), bool))
        free = {int(node): [] for node in np.unique(model.unit_node[is_near])}
        for other in np.flatnonzero(is_near & (model.unit_type == model.unit_type[unit])).tolist():
            if other != unit and self.takes(task, other):
                free[int(model.unit_node[other])].append(other)
        if len(model.job_nodes) and model.job_nodes[job] > 0:
            return self._by_nodes(members, unit, home, free, limit)
        free = {node: units[: limit - (node == home)] for node, units in free.items()}
        if model.job_spread[job]:
            rounds = [(i + (node == home), node, one) for node, units in free.items() for i, one in enumerate(units)]
            found = [one for _, _, one in sorted(rounds)]
        else:
            left = len(members) - 1 - len(free[home])
            order = sorted(free, key=lambda node: (node != home, -min(left, len(free[node])), node))
            found = [one for node in order for one in free[node]]
        return [unit, *found[: len(members) - 1]] if len(found) >= len(members) - 1 else None

    def _by_nodes(self, members, unit, home, free, per_node):
        """The same for a job with a number of nodes: the tasks for one of them stay together."""
        first = self.model.job_first[self.model.task_job[members[0]]]
        sizes = Counter((member - first) // per_node for member in members)
        own = sizes.pop((members[0] - first) // per_node) - 1
        if len(free[home]) < own:
            return None
        found, others = [unit, *free[home][:own]], [node for node in sorted(free) if node != home]
        for size in sizes.values():
            node = next((node for node in others if len(free[node]) >= size), None)
            if node is None:
                return None
            others.remove(node)
            found += free[node][:size]
        return found


def together(model, state, task):
    """Return the tasks that start together with a pending one."""
    if not len(model.job_gang) or model.job_gang[model.task_job[task]] == NO_GANG:
        return [task]
    end = model.job_first[model.task_job[task] + 1]
    return [other for other in range(task, end) if other == task or state.task_unit[other] == ATTACHED]


class Call:
    """One call of SCHEDULE, as the paper and docs/explanation/rbss.md describe it."""

    def __init__(self, model, state, memory, options, heuristic):
        self.model, self.state, self.memory, self.options = model, state, memory, options
        self.heuristic = heuristic
        self.room = Room(model, state, options)
        self.starts: list[tuple[int, int]] = []
        self.got: set[int] = set()  # nodes that have got a job, or a task of a gang
        waiting = sorted(state.pending, key=self.key)
        self.queues = {True: [], False: []}  # by whether they are for a CPU
        for task in waiting:
            self.queues[self.is_for_cpu(task)].append(task)

    def key(self, task):
        estimate = self.memory.estimate[task]
        arrival = self.model.job_arrival_us[self.model.task_job[task]]
        keys = {"fifo": 0.0, "sjf": estimate, "ljf": -estimate, "ba": arrival - estimate, "ocl": arrival - estimate}
        return keys[self.heuristic], task

    def time(self, task, p):
        """The time of a task on a type; of a gang, that of its longest."""
        return max(self.time_alone(member, p) for member in together(self.model, self.state, task))

    def time_alone(self, task, p):
        model, own_type = self.model, self.state.task_type_of(task)
        if model.affinity[p, own_type] <= 0:
            return float("inf")
        if len(model.task_times_us):
            return min(FOREVER_US, model.overhead_us[p, own_type] + model.task_times_us[task, p])
        time_us = model.overhead_us[p, own_type] + model.task_operations[task] / model.affinity[p, own_type]
        return min(FOREVER_US, time_us)

    def is_for_cpu(self, task):
        deployed = {p for p in set(self.model.unit_type.tolist()) if self.may_hold(task, p)}
        on_cpu = min((self.time(task, p) for p in deployed if self.model.type_is_cpu[p]), default=float("inf"))
        on_other = min((self.time(task, p) for p in deployed if not self.model.type_is_cpu[p]), default=float("inf"))
        return on_cpu <= on_other if self.options.kind.best else on_other == float("inf")

    def may_hold(self, task, p):
        """Whether the task, or its whole gang, would have a place if nothing ran."""
        model, job, members = self.model, self.model.task_job[task], [task]
        if len(model.job_gang) and model.job_gang[job] != NO_GANG:
            members = list(range(model.job_first[job], model.job_first[job + 1]))
        room = Room(model, self.state, self.options)
        room.load, room.n_tasks, room.open = [0.0] * len(room.load), [0] * len(room.load), model.unit_capacity
        return any(room.place_of(members[0], unit, members) for unit in np.flatnonzero(model.unit_type == p).tolist())

    def can_be(self, task, unit, share=1.0):
        """Whether the unit's type can run the task and provides a share of its requests."""
        p = self.model.unit_type[unit]
        able = self.model.affinity[p, self.state.task_type_of(task)] > 0
        members = together(self.model, self.state, task)
        return able and all(meets(self.model, self.state, member, unit, share) for member in members)

    def is_optimal(self, task, unit):
        if not self.can_be(task, unit) or not self.room.place_of(task, unit):
            return False
        model, p = self.model, self.model.unit_type[unit]
        return self.options.node_rule.fit or not any(
            self.time(task, model.unit_type[other]) < self.time(task, p)
            and model.type_is_cpu[model.unit_type[other]] == model.type_is_cpu[p]
            and self.can_be(task, other)
            and self.room.place_of(task, other)
            for other in range(len(model.unit_type))
        )

    def devices(self, node):
        """The node's units in the order in which they are tried."""
        model = self.model
        units = [u for u in range(len(model.unit_type)) if model.unit_node[u] == node]

        def rank(unit):
            p = model.unit_type[unit]
            is_cpu = bool(model.type_is_cpu[p])
            return (0, 0.0, p, unit) if is_cpu else (1, -model.type_sms[p], p, unit)

        return sorted(units, key=rank)

    def give(self, task, unit):
        self.starts.append((task, unit))
        for one in self.room.place_of(task, unit):
            self.room.take(task, one)
            self.got.add(int(self.model.unit_node[one]))
        for queue in self.queues.values():
            if task in queue:
                queue.remove(task)

    def first_three(self, node):
        """Steps 1 to 3. Returns whether the node got a job."""
        got = False
        units = self.devices(node)
        for unit in units:
            if self.room.is_free(unit):
                queue = self.queues[bool(self.model.type_is_cpu[self.model.unit_type[unit]])]
                job = next((task for task in queue if self.is_optimal(task, unit)), None)
                if job is not None:
                    self.give(job, unit)
                    got = True
        if self.heuristic == "ocl":
            for unit in units:
                if self.model.type_is_cpu[self.model.unit_type[unit]] and self.room.is_free(unit):
                    job = self.job_to_move(unit, units)
                    if job is not None:
                        self.give(job, unit)
                        got = True
        return got

    def job_to_move(self, cpu, units):
        others = [unit for unit in units if not self.model.type_is_cpu[self.model.unit_type[unit]]]
        first = next((task for task in self.queues[False] if any(self.can_be(task, u) for u in others)), None)
        if first is None:
            return None
        type_of = self.model.unit_type
        limit = min(self.time(first, type_of[u]) for u in others if self.can_be(first, u))
        queue = self.queues[False] if self.options.scan.head else self.queues[False][::-1]
        for task in queue:
            if self.is_optimal(task, cpu) and self.time(task, type_of[cpu]) <= limit:
                return task
        return None

    def decay(self, node, passes):
        """Step 4. Returns whether the node got a job."""
        jobs = sorted(self.queues[True] + self.queues[False], key=lambda task: (self.memory.estimate[task], task))
        for task in jobs:
            for unit in self.devices(node):
                is_cpu = bool(self.model.type_is_cpu[self.model.unit_type[unit]])
                if (
                    task in self.queues[is_cpu]
                    and self.room.place_of(task, unit)
                    and self.can_be(task, unit, 0.5**passes)
                ):
                    self.give(task, unit)
                    return True
        return False

    def run(self):
        passes = self.memory.passes
        relaxes = self.heuristic in ("ba", "ocl")
        counts = relaxes and bool(self.state.pending or self.options.count_empty)
        left = []
        for node in range(len(passes)):
            if self.first_three(node) or node in self.got:
                passes[node] = 0
            elif counts and any(self.room.is_free(unit) for unit in self.devices(node)):
                passes[node] += 1
                left.append(node)
                if not self.options.two_phase:
                    self.decay(node, passes[node])
        for node in left if relaxes and self.options.two_phase else []:
            if node not in self.got:
                self.decay(node, passes[node])
        for node in self.got:
            passes[node] = 0
        return self.starts


def scan(model, state, view, heuristic):
    """Decide by scanning: the call is planned whole, and handed out start by start."""
    if not RUNS or id(view.scratch) not in RUNS:
        RUNS.clear()
        RUNS[id(view.scratch)] = Memory(model, view.scratch)
    memory = RUNS[id(view.scratch)]
    if memory.plan:
        return start(*memory.plan.pop(0))
    called = memory.called_at == state.n_events
    if view.scratch.seen[0] != state.n_events:
        view.scratch.seen[0] = state.n_events
        note(model, state, view, memory)
        period = view.options.polling_us
        if not more_at_once(model, state) and (period <= 0 or is_multiple(view.now_us, period)):
            called, memory.called_at = True, state.n_events
            skipped_empty = not state.pending
            memory.plan = Call(model, state, memory, view.options, heuristic).run()
            n_free_calls = 0
            while not memory.plan and state.pending and is_over(model, state) and heuristic in ("ba", "ocl"):
                n_free_calls += 1
                if period > 0 or n_free_calls > 1100:
                    break
                memory.plan = Call(model, state, memory, view.options, heuristic).run()
            memory.futile = memory.futile + 1 if not memory.plan and not skipped_empty else 0
    if memory.plan:
        return start(*memory.plan.pop(0))
    has_hope = not called or not is_over(model, state) or (heuristic in ("ba", "ocl") and memory.futile < 1099)
    if view.options.polling_us > 0 and state.pending and has_hope:
        polls = int(view.now_us // view.options.polling_us)
        while polls * view.options.polling_us <= view.now_us:
            polls += 1
        return wait_until(polls * view.options.polling_us)
    return nothing()


def is_multiple(now, period):
    near = int(now // period)
    return any(k * period == now for k in (near, near + 1))


def is_over(model, state):
    """Whether nothing runs and nothing will arrive."""
    return not any(state.running) and state.next_job == len(model.job_arrival_us)


def note(model, state, view, memory):
    """Record an event: estimates of arrived tasks, times of ended ones, and nodes that are free again."""
    if view.event in (FINISH, ARRIVAL, OUTAGE):
        memory.futile = 0
    down = {int(model.unit_node[u]) for u in range(len(model.unit_type)) if state.unit_open[u] == 0.0}
    for node in memory.down - down:
        memory.passes[node] = 0
    memory.down = down
    if view.event == FINISH:
        own_type = state.task_type_of(view.task)
        memory.times.setdefault(own_type, []).append(view.now_us - state.task_start_us[view.task])
        node = model.unit_node[view.unit]
        room = Room(model, state, view.options)
        if not any(
            room.is_free(u) for u in range(len(model.unit_type)) if model.unit_node[u] == node and u != view.unit
        ):
            memory.passes[node] = 0
    for task in state.pending:
        if task not in memory.estimate:
            seen = memory.times.get(state.task_type_of(task), [])
            is_learned = view.options.estimate.learned and seen
            longest = max(estimate_us(model, state, member) for member in together(model, state, task))
            memory.estimate[task] = sum(seen, 0.0) / len(seen) if is_learned else longest


@dataclass(frozen=True)
class ScanFifo(ResourceBased):
    """RB-FIFO by scanning."""

    name: ClassVar[str] = "test_scan_fifo"
    compiled: ClassVar[bool] = False
    scratch: ClassVar = {"seen": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return scan(model, state, view, "fifo")


@dataclass(frozen=True)
class ScanSjf(ScanFifo):
    """RB-SJF by scanning."""

    name: ClassVar[str] = "test_scan_sjf"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return scan(model, state, view, "sjf")


@dataclass(frozen=True)
class ScanLjf(ScanFifo):
    """RB-LJF by scanning."""

    name: ClassVar[str] = "test_scan_ljf"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return scan(model, state, view, "ljf")


@dataclass(frozen=True)
class ScanBa(RbLjfBa):
    """RB-LJF-BA by scanning."""

    name: ClassVar[str] = "test_scan_ba"
    compiled: ClassVar[bool] = False
    scratch: ClassVar = {"seen": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return scan(model, state, view, "ba")


@dataclass(frozen=True)
class ScanOcl(RbLjfOcl):
    """RB-LJF-OCL by scanning."""

    name: ClassVar[str] = "test_scan_ocl"
    compiled: ClassVar[bool] = False
    scratch: ClassVar = {"seen": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return scan(model, state, view, "ocl")


TWINS: dict[str, type[OnlinePolicy]] = {
    "rb_fifo": ScanFifo,
    "rb_sjf": ScanSjf,
    "rb_ljf": ScanLjf,
    "rb_ljf_ba": ScanBa,
    "rb_ljf_ocl": ScanOcl,
}
