"""Scenario -> Model: the serving engines, how they form their steps, and the tokens of requests."""

from typing import Any

import numpy as np

from vinesim.model.batching import RESUME, ROLES
from vinesim.model.scenario import Scenario
from vinesim.model.step_times import StepTime, step_columns
from vinesim.model.tokens import NO_PREFIX
from vinesim.model.workload import Workload
from vinesim.state.layout import BLOCKS, CACHES, MAX_SEQUENCES, MAX_TOKENS, RESUMES


def engine_columns(scenario: Scenario, unit_type: np.ndarray) -> dict[str, Any]:
    """Return the columns of the model about serving engines; none if no unit is one."""
    types, work = scenario.datacenter.processor_types, scenario.workload
    engine_types = scenario.engine_types.tolist()
    if not engine_types:
        return {}
    steps: list[StepTime] = []
    limits = np.zeros((len(types), 9), np.int64)
    for p in engine_types:
        b, step = types[p].batching, scenario.step_on(p)
        if b is None or step is None:
            continue
        n_blocks = min(b.n_blocks, _most_blocks(work, b.block_tokens))
        n_most = min(b.max_sequences, n_blocks, work.n_tasks)  # a running sequence has at least one block
        is_resumed = b.when_full == RESUME
        limits[p, :RESUMES] = n_most, b.max_batched_tokens, n_blocks, b.block_tokens
        limits[p, RESUMES:] = is_resumed, b.prefix_caching, len(steps), ROLES.index(b.role), b.token_bytes
        steps.append(step)
    if not steps or work.input_tokens is None or work.output_tokens is None:
        return {}
    is_engine = limits[unit_type, MAX_SEQUENCES] > 0
    units = np.flatnonzero(is_engine)
    n_cached = np.where(limits[:, CACHES] > 0, limits[:, BLOCKS], 0)
    return {
        "unit_engine": np.where(is_engine, np.cumsum(is_engine) - 1, -1),
        "engine_unit": units,
        "engine_first": np.concatenate([[0], np.cumsum(limits[unit_type[units], MAX_SEQUENCES])]),
        "engine_block": np.concatenate([[0], np.cumsum(n_cached[unit_type[units]])]),
        "type_batching": limits,
        "task_input": work.input_tokens,
        "task_output": work.output_tokens,
        **_prefix_columns(work, n_cached[unit_type[units]].any()),
        **step_columns(steps, int(limits[:, MAX_TOKENS].max()), int(limits[:, MAX_SEQUENCES].max())),
    }


def _most_blocks(work: Workload, block_tokens: int) -> int:
    """How many blocks all requests need together, which no memory can have a use for more than."""
    assert work.input_tokens is not None
    assert work.output_tokens is not None
    return int((-(-(work.input_tokens + work.output_tokens) // block_tokens)).sum())


def _prefix_columns(work: Workload, is_cached: bool) -> dict[str, np.ndarray]:
    """Return what requests share, where an engine can find it again: prefixes by numbers from 0."""
    if work.prefix is None or work.prefix_tokens is None or not is_cached:
        return {}
    known, numbers = np.unique(work.prefix, return_inverse=True)
    has_none = int(known[0] == NO_PREFIX)
    return {
        "task_prefix": numbers - has_none,
        "task_prefix_tokens": np.where(numbers < has_none, 0, work.prefix_tokens),
    }
