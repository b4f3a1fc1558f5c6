"""The model: a scenario as read-only arrays, each made when it is first read (``state/build.py``)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from vinesim.model.workload import WHOLE_UNIT
from vinesim.state.arrays import MODEL, ModelArrays, ndim

ROWS = {row.name: row for row in MODEL}
OF_PART = {part: [row.name for row in MODEL if row.part == part] for part in {row.part for row in MODEL}}


class Model:
    """A scenario as read-only arrays: those of the table in ``state/arrays.py``, by their names."""

    def __init__(self, parts: Any):
        self._parts = parts

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in ROWS:
            raise AttributeError(name)
        part, made = ROWS[name].part, self.__dict__
        columns = getattr(self._parts, part)()
        for one in OF_PART[part]:
            if one not in made:
                made[one] = _fixed(ROWS[one].dtype, columns[one]) if one in columns else _EMPTY[one]
        return made[name]

    def __dir__(self) -> list[str]:
        return list(ROWS)

    def replaced(self, **columns: Any) -> "Model":
        """Return the model with other columns in place of some."""
        other = Model(self._parts)
        other.__dict__.update(self.__dict__ | columns)
        return other

    def arrays(self, wanted: Iterable[str]) -> Any:
        """Return the arrays that kernels are given; those whose names are not wanted have no elements."""
        return ModelArrays._make((_EMPTY | {name: getattr(self, name) for name in wanted}).values())


def _fixed(dtype: Any, column: Any) -> np.ndarray:
    """Return a read-only view of a column, as some are the scenario's own, of the dtype and the order that kernels
    expect."""
    view = np.ascontiguousarray(column, dtype).view()
    view.setflags(write=False)
    return view


_EMPTY = {row.name: _fixed(row.dtype, np.empty((0,) * ndim(row))) for row in MODEL}


def classes_of_tasks(model: Model, tasks: Any = slice(None)) -> np.ndarray:
    """The types of some tasks, or the classes of their demands if tasks hold several units."""
    group = model.task_group if len(model.task_group) else np.broadcast_to(0, len(model.task_operations))
    return np.asarray(model.group_task_type[group[tasks]])


def demands_of_tasks(model: Model, tasks: Any = slice(None)) -> np.ndarray:
    """The demands of some tasks, ``WHOLE_UNIT`` if each takes the whole of any unit; do not write to the result."""
    demand = model.task_demand if len(model.task_demand) else np.broadcast_to(WHOLE_UNIT, len(model.task_operations))
    return np.asarray(demand[tasks])
