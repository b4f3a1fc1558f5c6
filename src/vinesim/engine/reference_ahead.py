"""Units that take tasks while they compute another one, in the reference engine: the twin of core/offered.py and
core/laws/in_turn.py."""

from typing import Any

import numpy as np

from vinesim.state.layout import DOWN


class Ahead:
    """The tasks that wait on units for those before them, and the places that the units offer."""

    def __init__(self, state: Any):
        self.state = state
        self.granted_us: dict[int, float] = {}  # task -> when it was given to its unit
        self.there_us: dict[int, float] = {}  # leader -> when its data is there
        self.execution_us: dict[int, float] = {}

    def is_possible(self, unit: int) -> bool:
        """Whether a unit takes tasks ahead."""
        model = self.state.model
        return len(model.type_ahead) > 0 and bool(model.type_ahead[model.unit_type[unit]] > 0)

    def times(self, started: list[int], unit: int, transfer: float, execution: float) -> tuple[float, float]:
        """Return when a unit is free for tasks that start as one now, and when their data is there too."""
        state, task = self.state, started[0]
        if not len(state.model.type_ahead):
            return state.now_us, state.now_us + transfer
        self.granted_us.update(dict.fromkeys(started, state.now_us))
        self.there_us[task], self.execution_us[task] = state.now_us + transfer, execution
        before = state.running[unit] if self.is_possible(unit) else []
        init_us = state.task_finish_us[before[-1]] if before else state.now_us
        return init_us, max(self.there_us[task], init_us)

    def waits(self, task: int) -> bool:
        """Whether its unit has not come to a task yet."""
        return len(self.state.model.type_ahead) > 0 and bool(self.state.task_init_us[task] > self.state.now_us)

    def close_up(self, unit: int, behind: list[int]) -> None:
        """Let the last tasks of a unit, which all wait, begin as early as they can, as one before them has left."""
        state, before = self.state, self.state.running[unit][: -len(behind) or None]
        free_us = state.task_finish_us[before[-1]] if before else state.now_us
        for task in behind:
            start_us = max(self.there_us[task], free_us)
            state.progress.before[task] = start_us - free_us
            for one in [task, *state.followers[task]]:
                state.task_init_us[one], state.task_start_us[one] = free_us, start_us
                state.task_finish_us[one] = start_us + self.execution_us[task]
            state.queue_finish(task)
            free_us = state.task_finish_us[task]

    def offer(self, unit: int) -> None:
        """Open the units of a unit's type for as many tasks as the one with the fewest has, and one more."""
        if not self.is_possible(unit):
            return
        state, model = self.state, self.state.model
        of_type = [u for u in range(len(model.unit_type)) if model.unit_type[u] == model.unit_type[unit]]
        up = [u for u in of_type if state.unit_open[u] != DOWN]
        fewest = min([int(model.type_ahead[model.unit_type[unit]]), *(len(state.running[u]) for u in up)])
        for one in up:
            state.unit_open[one] = float(model.unit_capacity[one] * (1.0 + fewest))

    def column(self) -> np.ndarray:
        """[N] us: when each task was given to its unit; NaN: never."""
        return np.array([self.granted_us.get(task, np.nan) for task in range(len(self.state.task_unit))])
