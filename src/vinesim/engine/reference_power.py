"""What units draw in the reference engine, for power caps: the meaning of core/power.py, in plain Python."""

from collections.abc import Iterator
from typing import Any

from vinesim.state import queries
from vinesim.state.power import draw_of, level_of


class Draws:
    """What is held of each unit, as levels; the draw of a rack is added up each time."""

    def __init__(self, state: Any):
        self.state, self.model = state, state.model
        self.on: list[list[int]] = [[] for _ in state.model.unit_type]  # by unit, of each task that holds any of it
        self.peaks_mw = [self.draw_mw(pool) for pool in range(len(self.model.cap_mw))]

    def note_peaks(self) -> None:
        """Note what racks draw as a task has started."""
        self.peaks_mw = [max(peak, self.draw_mw(pool)) for pool, peak in enumerate(self.peaks_mw)]

    def copied(self) -> list[list[int]]:
        """What is held now, to be put back."""
        return [list(levels) for levels in self.on] if len(self.model.cap_mw) else self.on

    def hold(self, task: int, unit: int, amount: float) -> None:
        """Let a task hold an amount of a unit."""
        if len(self.model.cap_mw):
            self.on[unit].append(self._level(task, unit, amount))

    def release(self, task: int, unit: int, amount: float) -> None:
        """Let a task hold it no more."""
        if len(self.model.cap_mw):
            self.on[unit].remove(self._level(task, unit, amount))

    def are_kept(self) -> bool:
        """Whether no rack draws more than its cap, nor the datacenter."""
        return all(self.draw_mw(pool) <= cap for pool, cap in enumerate(self.model.cap_mw.tolist()))

    def draw_mw(self, pool: int) -> int:
        """What the units of a rack draw; of the datacenter after the last rack."""
        return sum(int(draw_of(self.model, u, len(self.on[u]) > 0, sum(self.on[u]))) for u in self._units(pool))

    def allow(self, task: int, unit: int) -> bool:
        """Whether the caps are kept if a task starts on a unit, where there is room for all that it holds."""
        if not len(self.model.cap_mw):
            return True
        with self.state.trial():
            self.state.hold_all(task, unit)
            return self.are_kept()

    def _level(self, task: int, unit: int, amount: float) -> int:
        return int(level_of(self.model, queries.task_type(self.model, self.state, task), unit, amount))

    def _units(self, pool: int) -> Iterator[int]:
        model, is_all = self.model, pool == len(self.model.cap_mw) - 1
        return (u for u in range(len(self.on)) if is_all or model.node_rack[model.unit_node[u]] == pool)
