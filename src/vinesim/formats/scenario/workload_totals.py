"""Jobs that ask for GPUs in total, over any nodes, from the column total_gpus of a table.

One row stands for a gang with a task for each GPU, among which the job's cores, memory and companions are shared.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_cells import first_rows
from vinesim.formats.scenario.workload_columns import COMPANION, TOTAL
from vinesim.formats.scenario.workload_gangs import MAX_TASKS
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import ANYWHERE, NO_GANG

(TOTAL_GPUS,) = TOTAL
NOT_WITH = ("gpus", "nodes", "gang", "tasks_per_node", "job", "units", "types")


def read_totals(
    source: TableSource, table: dict[str, Any], match: Mapping[str, tuple[str, float]]
) -> dict[str, tuple[str, float]]:
    """Replace this column by gpus and a row for each task; return the columns of the file by our names.

    Raises :class:`InputError`.
    """
    if TOTAL_GPUS not in table:
        return dict(match)
    given = match[TOTAL_GPUS]
    if both := [name for name in NOT_WITH if name in match]:
        remedy = "Keep one way to say how many GPUs a job has, and where."
        raise InputError([Problem(f"{source.path}: {given[0]}", f"no column {both[0]}", match[both[0]][0], remedy)])
    total = np.ma.filled(table.pop(TOTAL_GPUS), 0).astype(np.int64)
    if rows := first_rows(table["_row"], total > MAX_TASKS):
        texts = source.texts_of(given[0], rows)
        cells = [(row, given[0], f"at most {MAX_TASKS:,} GPUs", texts[row]) for row in rows]
        raise InputError([replace(one, remedy="Each GPU is a task.") for one in source.cells(cells)])
    counts = np.maximum(total, 1)
    for name in table:
        if name in ("cores", "memory") or COMPANION.fullmatch(name):
            table[name] = table[name] / counts
    table["gang_within"] = np.where(total > 1, ANYWHERE, NO_GANG)
    table["gpus"] = np.minimum(total, 1).astype(np.float64)
    if (counts > 1).any():
        table["job"] = np.arange(len(counts))
        for name in list(table):
            table[name] = table[name].repeat(counts)
    return {ours: file for ours, file in match.items() if ours != TOTAL_GPUS} | {"gpus": given}
