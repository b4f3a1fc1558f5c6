"""Scenario -> Model: how units serve several tasks at once, by speed curves or as serving engines.

A speed curve says how fast tasks run that share a unit, by their number, the unit's type and the task's. Of serving
engines the model has how they form their steps, and the tokens of requests.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.model.batching import RESUME, ROLES
from vinesim.model.catalog import ProcessorType
from vinesim.model.scenario import Scenario
from vinesim.model.speed_curves import ANY_TASK, curves_of, throughput
from vinesim.model.step_times import StepTime, step_columns
from vinesim.model.tokens import NO_PREFIX
from vinesim.model.workload import Workload
from vinesim.state.layout import BLOCKS, CACHES, MAX_SEQUENCES, MAX_TOKENS, RESUMES

BY_PARALLELISM, FULL_SPEED = 0, -1  # lengths of what is no curve: up to the unit's parallelism, or never slower
ONE_FOR_ALL = -1  # in place of a curve of a task type


def speed_curves(types: Sequence[ProcessorType], task_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the columns of the model about speed curves, if there are any; ``task_types`` are the names of its task
    types."""
    known = [curves_of(p.rates) for p in types]
    if not any(known):
        return {}
    tables = [throughput(curves.get(ANY_TASK, ())) for curves in known]
    lengths = [_length(curves) for curves in known]
    of_type = np.full((len(types), len(task_types)), ONE_FOR_ALL, np.int32)
    for p, curves in enumerate(known):
        if not curves.keys() - {ANY_TASK}:
            continue
        of_type[p] = p
        for name, curve in curves.items():
            if name != ANY_TASK:
                of_type[p, [t for t, other in enumerate(task_types) if other == name]] = len(tables)
                tables.append(throughput(curve))
                lengths.append(len(curve))
    most = max(map(len, tables))
    rows = [[*table, *[np.nan] * (most - len(table))] for table in tables]
    return {
        "curve_length": np.array(lengths, np.int64),
        "curve_throughput": np.array(rows, np.float64),
        **({"type_curve": of_type} if (of_type != ONE_FOR_ALL).any() else {}),
    }


def _length(curves: Mapping[str, Sequence[float]]) -> int:
    """Return the length of the curve of a processor type for all task types without one of their own."""
    if not curves:
        return BY_PARALLELISM
    return len(curves[ANY_TASK]) if ANY_TASK in curves else FULL_SPEED


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
