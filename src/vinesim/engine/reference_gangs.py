"""How the tasks of a gang start together in the reference engine: the meaning of state/gangs.py, in plain Python.

A gang is a job whose tasks start at one instant or not at all. Only its first unstarted task is pending; the others are
attached to it. The policy names a unit for that task, the others are placed here: within the node or rack of that unit
or anywhere, on units of the same type as far as they can run there, at most ``tasks_per_node`` at a node.
A request of an application has each task on a node of its own that holds the application's data, all on units of one
type: of the nodes with room, each task after the first takes the least busy one, the first of several.
Packed, the node of the first task is filled first; if all demand the same, those that offer room for most of the rest
come next, ties in order of the nodes; otherwise each task goes to the first node with room. Spread, each node gets one
task, round by round. At a node a task takes the first unit with room.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, OF_REQUEST
from vinesim.state.places import gang_of


def attached_to(state: Any, task: int) -> list[int]:
    """The tasks that start with a pending task."""
    _, end = gang_of(state.model, task)
    return [other for other in range(task + 1, end) if state.task_unit[other] == ATTACHED]


def is_of_gang(state: Any, task: int) -> bool:
    """Whether the tasks of the task's job start together."""
    gangs = state.model.job_gang
    return len(gangs) > 0 and bool(gangs[state.model.task_job[task]] != NO_GANG)


@contextmanager
def as_before(state: Any) -> Iterator[None]:
    """Release all that is held in between, with the very loads of before."""
    loads, held, held_by = list(state.unit_load), dict(state.held), list(state.held_by)
    try:
        yield
    finally:
        state.unit_load, state.held, state.held_by = loads, held, held_by


class Place:
    """A trial: members are held one after another, and all are released in the end."""

    def __init__(self, state: Any, task: int, unit: int):
        self.state, self.model, self.task = state, state.model, task
        self.p = int(self.model.unit_type[unit])
        job, node = self.model.task_job[task], int(self.model.unit_node[unit])
        within = self.model.job_gang[job]
        self.home, self.nodes = node, range(len(self.model.node_rack))
        if within == NODE:
            self.nodes = range(node, node + 1)
        elif within == RACK:
            rack = self.model.node_rack[node]
            self.nodes = range(self.model.rack_node[rack], self.model.rack_node[rack + 1])
        self.members = attached_to(state, task)
        self.is_request = within == OF_REQUEST
        self.limit = 1 if self.is_request else int(self.model.job_per_node[job]) or len(self.members) + 1
        self.is_spread = not self.is_request and bool(self.model.job_spread[job])
        self.count = dict.fromkeys(self.nodes, 0)
        self.units: list[int] = []

    def find(self, unit: int) -> list[int] | None:
        """The unit of the task and of each member, None if they have no room together."""
        state = self.state
        if self.model.affinity[self.p, state.task_type_of(self.task)] <= 0:
            return None
        if self.is_request and not queries.is_allowed(self.model, state, self.task, unit):
            return None
        with as_before(state):
            if not queries.fits_itself(self.model, state, self.task, unit):
                return None
            self._hold(self.task, unit)
            is_found = self._balance() if self.is_request else self._spread() if self.is_spread else self._pack()
        return self.units if is_found else None

    def _hold(self, task: int, unit: int) -> None:
        state = self.state
        self.count[int(self.model.unit_node[unit])] += 1
        self.units.append(unit)
        state.unit_load[unit] += queries.demand(self.model, state, task, unit)
        state.hold_rest(task, unit)

    def _unit_at(self, task: int, node: int) -> int:
        """The first unit at a node where a task has room: of the type of the first task's, or if it cannot run there of
        the fastest type that has one."""
        kind, model = self.state.task_type_of(task), self.model
        types = [self.p] if model.affinity[self.p, kind] > 0 else [q for q in model.ranking[kind] if q >= 0]
        for q in types:
            for unit in self.state.units_at(node, q):
                if queries.fits_itself(model, self.state, task, unit):
                    return unit
        return -1

    def _takes(self, task: int, node: int, most: int) -> bool:
        """Hold the task at a node with less than ``most`` members. Returns whether it has room."""
        unit = self._unit_at(task, node) if self.count[node] < most else -1
        if unit >= 0:
            self._hold(task, unit)
        return unit >= 0

    def _spread(self) -> bool:
        for task in self.members:
            rounds = range(1, self.limit + 1)
            if not any(self._takes(task, node, level) for level in rounds for node in self.nodes):
                return False
        return True

    def _balance(self) -> bool:
        model, state = self.model, self.state
        for task in self.members:
            free = [
                unit
                for unit in range(len(model.unit_type))
                if model.unit_type[unit] == self.p
                and self.count[int(model.unit_node[unit])] == 0
                and queries.fits_itself(model, state, task, unit)
                and queries.is_allowed(model, state, task, unit)
            ]
            if not free:
                return False
            self._hold(task, min(free, key=lambda unit: queries.node_tasks(model, state, model.unit_node[unit])))
        return True

    def _pack(self) -> bool:
        if not self._are_alike():
            nodes = [self.home, *self.nodes]
            return all(any(self._takes(task, node, self.limit) for node in nodes) for task in self.members)
        left = list(self.members)
        while left and self._takes(left[0], self.home, self.limit):
            left.pop(0)
        offers = {node: self._offer(left, node) for node in self.nodes if node != self.home}
        for node in sorted(offers, key=lambda node: -offers[node]):
            while left and self._takes(left[0], node, self.limit):
                left.pop(0)
        return not left

    def _are_alike(self) -> bool:
        demands = self.model.task_demand

        def asked(task: int) -> tuple[int, str]:
            return self.state.task_type_of(task), str(demands[task]) if len(demands) else ""

        return all(asked(task) == asked(self.task) for task in self.members)

    def _offer(self, left: list[int], node: int) -> int:
        """How many of the rest a node has room for."""
        n, count = len(self.units), self.count[node]
        with as_before(self.state):
            for task in left:
                if not self._takes(task, node, self.limit):
                    break
        offer, self.count[node] = len(self.units) - n, count
        del self.units[n:]
        return offer
