"""What would have room if some running tasks left, in the reference engine: the meaning of core/trial.py."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vinesim.engine.reference_gangs import all_held, as_before, attached_to, hold_again
from vinesim.state import queries
from vinesim.state.layout import FULL, OVERFULL
from vinesim.state.places import gang_of


@contextmanager
def trial(state: Any) -> Iterator["Trial"]:
    """Loads that are changed for a while."""
    with as_before(state):
        yield Trial(state)


class Trial:
    """What can be changed in a trial."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        self._noted: list[Any] = []

    def release(self, others: Any) -> None:
        """Let tasks, as far as they run, and those of their gangs hold nothing."""
        for other in others.tolist():
            if queries.is_running(self.model, self.state, other):
                for task in self._with_gang(other):
                    self._add_all(task, -1.0)

    def leave_quotas(self, others: Any) -> None:
        """Let the same tasks count against no quota."""
        for other in others.tolist():
            if queries.is_running(self.model, self.state, other):
                for task in self._with_gang(other):
                    self.state.quotas.count(task, self.state.task_unit[task], -1)

    def put_back(self, other: int) -> bool:
        """Let a task and its gang hold again what they held, if there is room for all. Returns whether there is."""
        tasks = list(self._with_gang(other))
        for i, task in enumerate(tasks):
            held = list(self._held(task))
            capacity = self.model.unit_capacity
            if any(self.state.unit_load[unit] + amount > capacity[unit] * OVERFULL for unit, amount in held):
                for before in tasks[:i]:
                    self._add_all(before, -1.0)
                return False
            self._add_all(task, 1.0)
            if not self.state.draws.are_kept():
                for before in tasks[: i + 1]:
                    self._add_all(before, -1.0)
                return False
        return True

    def hold(self, task: int, unit: int) -> bool:
        """Let a pending task, with those that are attached to it, hold what they would hold. Returns whether there is
        room for that."""
        state = self.state
        if not queries.fits(self.model, state, task, unit):
            return False
        units = state.place_of(task, unit)
        for member, own in zip([task, *attached_to(state, task)][: len(units)], units, strict=True):
            state.hold_all(member, own)
        return True

    def hold_at(self, task: int, processor_type: int, node: int) -> bool:
        """Let a task by itself hold what it would hold at a node, on the first unit of a type. Returns whether it has
        room."""
        for unit in self.state.units_at(node, processor_type):
            if queries.fits_itself(self.model, self.state, task, unit):
                self.state.hold_all(task, unit)
                return True
        return False

    def note(self) -> int:
        """Note what is held. Returns the position for ``undo``."""
        self._noted.append(all_held(self.state))
        return len(self._noted) - 1

    def undo(self, position: int) -> None:
        """Let be held what was noted at a position; what was noted after it is forgotten."""
        hold_again(self.state, self._noted[position])
        del self._noted[position:]
        self.note()

    def _with_gang(self, task: int) -> Iterator[int]:
        """A running task, or all running tasks of its gang."""
        members = range(*gang_of(self.model, task))
        return (member for member in members if queries.is_running(self.model, self.state, member))

    def _held(self, task: int) -> Iterator[tuple[int, float]]:
        """The units that a running task holds, and how much of each."""
        state = self.state
        own = state.task_unit[task]
        yield own, queries.demand(self.model, state, task, own)
        for unit in state.held.get(task, []):
            yield unit, state.amount_held(task, unit, own)

    def _add_all(self, task: int, sign: float) -> None:
        for unit, amount in self._held(task):
            self._add(unit, sign * amount)
            count = self.state.draws.hold if sign > 0 else self.state.draws.release
            count(task, unit, amount)

    def _add(self, unit: int, amount: float) -> None:
        """Change the load of a unit; what rounding leaves of an empty unit is nothing."""
        load = self.state.unit_load[unit] + amount
        self.state.unit_load[unit] = load if load > self.model.unit_capacity[unit] * (1.0 - FULL) else 0.0
