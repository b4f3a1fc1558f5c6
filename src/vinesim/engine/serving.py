"""How requests fared on serving engines, from the state of a run of the compiled engine."""

from typing import Any

import numpy as np

from vinesim.model.result import Serving
from vinesim.model.step_times import step_us
from vinesim.state.layout import STEP


def serving_columns(model: Any, state: Any, end_us: float) -> Serving:
    """Return the columns; of the stretch of steps that an engine runs at the end, those that ended count."""
    peak, memory_us = np.full((2, len(model.unit_type)), np.nan)
    for engine, unit in zip(state.engine, model.engine_unit, strict=True):
        peak[unit], memory_us[unit] = engine["peak"], engine["memory_us"]
        kind = model.type_batching[model.unit_type[unit], STEP]
        n_running, n_tokens, at_us = int(engine["n_running"]), int(engine["memory"]), float(engine["at_us"])
        n_tokens += int(engine["grows"]) * int(engine["n_ended"])
        twice = int(engine["twice"])
        if engine["n_ended"] > 0:  # else it has what was admitted to a step that runs
            peak[unit] = max(peak[unit], n_tokens - twice)
        for _ in range(int(engine["n_ended"]) + 1, int(engine["n_steps"])):
            n_tokens += n_running
            took_us = float(step_us(model, kind, 0, 0, 0, n_running, n_tokens))
            at_us += took_us
            if at_us > end_us:
                break
            peak[unit] = max(peak[unit], n_tokens - twice)
            memory_us[unit] += (n_tokens - twice) * took_us
    return Serving(
        state.task_scheduled_us, state.task_first_us, state.task_preempted, state.task_found, peak, memory_us
    )
