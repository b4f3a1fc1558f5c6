"""Scenario -> Model: how fast tasks run that share a unit, by the number of them, the unit's type and the task's."""

from collections.abc import Mapping, Sequence

import numpy as np

from vinesim.model.catalog import ProcessorType
from vinesim.model.speed_curves import ANY_TASK, curves_of, throughput

BY_PARALLELISM, FULL_SPEED = 0, -1  # lengths of what is no curve: up to the unit's parallelism, or never slower
ONE_FOR_ALL = -1  # in place of a curve of a task type
NONE = np.empty((0, 0), np.int8)  # by its type loops are compiled without what follows from such curves


def speed_curves(types: Sequence[ProcessorType], task_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the columns of the model about speed curves; ``task_types`` are the names of its task types."""
    known = [curves_of(p.rates) for p in types]
    if not any(known):
        return {
            "curve_length": np.empty(0, np.int64),
            "curve_throughput": np.empty((0, 0)),
            "type_curve": NONE,
        }
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
        "type_curve": of_type if (of_type != ONE_FOR_ALL).any() else NONE,
    }


def _length(curves: Mapping[str, Sequence[float]]) -> int:
    """Return the length of the curve of a processor type for all task types without one of their own."""
    if not curves:
        return BY_PARALLELISM
    return len(curves[ANY_TASK]) if ANY_TASK in curves else FULL_SPEED
