"""What is held for a while in the reference engine: the meaning of core/gangs.py and core/trial.py, in plain Python.

A gang is a job whose tasks start at one instant or not at all. Only its first unstarted task is pending; the others are
attached to it. The policy names a unit for that task, the others are placed here: within the node or rack of that unit
or anywhere, on units of the same type as far as they can run there, at most ``tasks_per_node`` at a node. At a node a
task takes the first unit with room.

- If the job has a number of nodes, the tasks of each of them go to one node together, each of these to another node,
  the first one with room for all of its tasks.
- Packed, the node of the named unit comes first. If all tasks demand the same, the nodes that offer room for most of
  the rest come next, ties in order of the nodes. Otherwise each task goes to the first node with room.
- Spread, each node gets one task, round by round.
- Tasks that demand different things are placed largest first (``state/gangs.py``), and their places are searched
  for: where one of them finds none, the one before it goes to its next node with room, and so on.

A request of an application has each task on its own node that holds the application's data, all on units of one
type: of the nodes with room, each task after the first takes the least busy one, the first of several.

A trial lets running tasks hold nothing, and pending ones hold something, until it is over.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.state import queries
from vinesim.state.layout import ATTACHED, MOST_DEAD_ENDS, OF_REQUEST, OVERFULL
from vinesim.state.model import demands_of_tasks
from vinesim.state.places import gang_of


def attached_to(state: Any, task: int) -> list[int]:
    """The tasks that start with a pending task, in the order in which they are placed."""
    first, end = gang_of(state.model, task)
    order = state.model.gang_order[first:end].tolist() if len(state.model.gang_order) else range(task + 1, end)
    return [other for other in order if state.task_unit[other] == ATTACHED]


def is_of_gang(state: Any, task: int) -> bool:
    """Whether the tasks of the task's job start together."""
    gangs = state.model.job_gang
    return len(gangs) > 0 and bool(gangs[state.model.task_job[task]] != NO_GANG)


class Before:
    """What is held of units and quotas at some time."""

    def __init__(self, state: Any):
        self.state, quotas = state, state.quotas
        self.of_units = list(state.unit_load), dict(state.held), list(state.holders)
        self.of_quotas = list(quotas.held), list(quotas.n_tasks)

    def restore(self) -> None:
        """Let that be held again, with the very loads of then. Only once: what is held changes after that."""
        state, quotas = self.state, self.state.quotas
        state.unit_load, state.held, state.holders = self.of_units
        quotas.held, quotas.n_tasks = self.of_quotas


def are_all_held(state: Any, steps: Iterable[bool]) -> bool:
    """Hold things step by step, each of which says whether there was room. If there is none for one, none is held."""
    before = Before(state)
    if all(steps):
        return True
    before.restore()
    return False


def is_held_at(state: Any, task: int, units: Iterable[int]) -> bool:
    """Hold what a task by itself would hold on the first of some units that has room. Returns whether one has."""
    unit = next((unit for unit in units if queries.fits_itself(state.model, state, task, unit)), -1)
    if unit >= 0:
        state.hold_all(task, unit)
    return unit >= 0


class Place:
    """A trial: members are held one after another, and all are released in the end."""

    def __init__(self, state: Any, task: int, unit: int):
        self.state, self.model, self.task = state, state.model, task
        self.p = int(self.model.unit_type[unit])
        self.job, node = self.model.task_job[task], int(self.model.unit_node[unit])
        within = self.model.job_gang[self.job]
        self.home, self.nodes = node, range(len(self.model.node_rack))
        if within == NODE:
            self.nodes = range(node, node + 1)
        elif within == RACK:
            rack = self.model.node_rack[node]
            self.nodes = range(self.model.rack_node[rack], self.model.rack_node[rack + 1])
        self.members = attached_to(state, task)
        self.is_request = within == OF_REQUEST
        self.has_nodes = not self.is_request and bool(self.model.job_nodes[self.job] > 0)
        self.is_spread = self.has_nodes or (not self.is_request and bool(self.model.job_spread[self.job]))
        limit = 1 if self.is_request or self.has_nodes else int(self.model.job_per_node[self.job])
        self.limit = limit or len(self.members) + 1  # of items at a node: of tasks, or of all tasks for one node

    def find(self, unit: int) -> dict[int, int] | None:
        """The units of the task and of those that are attached to it, None if they have no room together."""
        state = self.state
        if self.model.affinity[self.p, state.task_type_of(self.task)] <= 0:
            return None
        if self.is_request and not queries.is_allowed(self.model, state, self.task, unit):
            return None
        with state.trial():
            if not queries.fits_itself(self.model, state, self.task, unit):
                return None
            state.hold_all(self.task, unit)
            return self._placed() if self._place_rest() else None

    def _placed(self) -> dict[int, int]:
        """The units of those tasks that are held."""
        held = self.state.held
        return {task: held[task][0][0] for task in (self.task, *self.members) if task in held}

    def _count(self) -> Counter[int]:
        """How many items each node has."""
        nodes = self.model.unit_node
        items = {(self._item_of(task), int(nodes[unit])) for task, unit in self._placed().items()}
        return Counter(node for _, node in items)

    def _place_rest(self) -> bool:
        """Hold the tasks that are attached. Returns whether all have room."""
        if self.is_request:
            return self._balance()
        if not self.is_spread and self._are_alike([self.task] * len(self.members), self.members):
            return self._pack_alike()
        items = [list(tasks) for _, tasks in groupby(self.members, self._item_of)]
        own = [item for item in items if self._item_of(item[0]) == self._item_of(self.task)]
        if own and not all(self._hold_at(task, self.home) for task in own[0]):
            return False
        return self._search([item for item in items if item not in own])

    def _item_of(self, task: int) -> int:
        """The number of what goes to one node together: all tasks for one of the job's nodes if they are numbered, else
        each task."""
        place = task - int(self.model.job_first[self.job])
        return place // int(self.model.job_per_node[self.job]) if self.has_nodes else place

    def _search(self, items: list[list[int]]) -> bool:
        """Hold each item at a node, those that come first at their first possible place. Returns whether all are held.

        If an item has no place, the one before it goes to its next one. Items that demand the same are in the order of
        their places; if one of them has none at once, it has none either where those like it are elsewhere.
        """
        places: list[tuple[int, Before]] = []  # of the items held, and what was held before each
        begin, is_new, n_dead_ends = 0, True, 0
        while len(places) < len(items):
            item, before = items[len(places)], Before(self.state)
            place = self._hold_from(item, begin)
            if place is not None:
                places.append((place, before))
                is_new, begin = True, 0
                if len(places) < len(items) and self._are_alike(item, items[len(places)]):
                    begin = place + self.is_spread
                continue
            n_dead_ends += 1
            n_back = 1
            while is_new and n_back <= len(places) and self._are_alike(items[len(places) - n_back], item):
                n_back += 1
            if n_dead_ends > MOST_DEAD_ENDS or n_back > len(places):
                return False
            place, before = places[-n_back]
            before.restore()
            del places[-n_back:]
            is_new, begin = False, place + 1
        return True

    def _hold_from(self, item: list[int], begin: int) -> int | None:
        """Hold an item at the first place with room, from number ``begin`` on. Returns its number.

        Packed, the places are the nodes, that of the named unit first; spread, those without items, then those with
        one, and so on.
        """
        others = [node for node in self.nodes if node != self.home]
        nodes = list(self.nodes) if self.is_spread else [self.home, *others]
        count = self._count()
        n_rounds = min(self.limit, 1 + max(count.values())) if self.is_spread else 1
        for place in range(begin, n_rounds * len(nodes)):
            n_items, node = place // len(nodes), nodes[place % len(nodes)]
            is_open = count[node] == n_items if self.is_spread else count[node] < self.limit
            if is_open and are_all_held(self.state, (self._hold_at(task, node) for task in item)):
                return place
        return None

    def _hold_at(self, task: int, node: int) -> bool:
        """Hold a task at a node: on a unit of the type of the first task's, or if it cannot run there of the fastest
        type that has one with room. Returns whether it has room."""
        task_class, model = self.state.task_type_of(task), self.model
        types = [self.p] if model.affinity[self.p, task_class] > 0 else [q for q in model.ranking[task_class] if q >= 0]
        return is_held_at(self.state, task, (unit for q in types for unit in self.state.units_at(node, q)))

    def _balance(self) -> bool:
        model, state = self.model, self.state
        for task in self.members:
            count = self._count()
            free = [
                unit
                for unit in range(len(model.unit_type))
                if model.unit_type[unit] == self.p
                and count[int(model.unit_node[unit])] == 0
                and queries.fits_itself(model, state, task, unit)
                and queries.is_allowed(model, state, task, unit)
            ]
            if not free:
                return False
            unit = min(free, key=lambda unit: queries.node_tasks(model, state, model.unit_node[unit]))
            state.hold_all(task, unit)
        return True

    def _pack_alike(self) -> bool:
        """The node of the named unit is filled, then those that offer room for most of the rest."""
        left = self._fill(self.members, self.home)
        offers = {node: self._offer(left, node) for node in self.nodes if node != self.home}
        for node in sorted(offers, key=lambda node: -offers[node]):
            left = self._fill(left, node)
        return not left

    def _fill(self, left: list[int], node: int) -> list[int]:
        """Hold tasks at a node while it takes them. Returns the rest."""
        for i, task in enumerate(left):
            if self._count()[node] == self.limit or not self._hold_at(task, node):
                return left[i:]
        return []

    def _offer(self, left: list[int], node: int) -> int:
        """How many of the rest a node has room for."""
        with self.state.trial():
            return len(left) - len(self._fill(left, node))

    def _are_alike(self, some: list[int], others: list[int]) -> bool:
        """Whether tasks demand the same, one by one."""
        demand, type_of = demands_of_tasks(self.model), self.state.task_type_of
        one, other = ([(type_of(task), str(demand[task])) for task in tasks] for tasks in (some, others))
        return one == other


class Trial:
    """What can be changed in a trial."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        self._noted: list[Before] = []

    def release(self, others: Any) -> None:
        """Let tasks, as far as they run, and those of their gangs hold nothing."""
        for task in self._that_run(others.tolist()):
            self.state.let_go(task)

    def leave_quotas(self, others: Any) -> None:
        """Let the same tasks count against no quota."""
        for task in self._that_run(others.tolist()):
            self.state.quotas.count(task, self.state.task_unit[task], -1)

    def _that_run(self, others: Iterable[int]) -> Iterator[int]:
        """The running ones of some tasks, each with the running tasks of its gang."""
        for other in others:
            if queries.is_running(self.model, self.state, other):
                gang = range(*gang_of(self.model, other))
                yield from (task for task in gang if queries.is_running(self.model, self.state, task))

    def put_back(self, other: int) -> bool:
        """Let a running task and its gang hold again what they held, if there is room for all. Returns whether there
        is."""
        return are_all_held(self.state, map(self._holds_again, self._that_run([other])))

    def _holds_again(self, task: int) -> bool:
        """Let a running task hold again what it held, if there is room. Returns whether there is power for it too."""
        state, capacity = self.state, self.model.unit_capacity
        if any(state.unit_load[unit] + amount > capacity[unit] * OVERFULL for unit, amount in state.held[task]):
            return False
        state.hold(task)
        return bool(state.draws.are_kept())

    def hold(self, task: int, unit: int) -> bool:
        """Let a pending task, with those that are attached to it, hold what they would hold. Returns whether there is
        room for that."""
        state = self.state
        if not queries.fits(self.model, state, task, unit):
            return False
        for member, own in state.place_of(task, unit).items():
            state.hold_all(member, own)
        return True

    def hold_at(self, task: int, processor_type: int, node: int) -> bool:
        """Let a task by itself hold what it would hold at a node, on the first unit of a type. Returns whether it has
        room."""
        return is_held_at(self.state, task, self.state.units_at(node, processor_type))

    def note(self) -> int:
        """Note what is held. Returns the position for ``undo``."""
        self._noted.append(Before(self.state))
        return len(self._noted) - 1

    def undo(self, position: int) -> None:
        """Let be held what was noted at a position; what was noted after it is forgotten."""
        self._noted[position].restore()
        self._noted[position:] = [Before(self.state)]
