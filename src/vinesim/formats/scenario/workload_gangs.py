"""Jobs whose tasks start together, from the columns gang, spread, tasks_per_node, nodes and total_gpus of a table.

One row with ``nodes`` describes all tasks of its job. A job with one row per task has the same number of nodes in every
row; its rows are the tasks of its first node, then those of its second node, and so on. One row with ``total_gpus``
describes a gang with one task per GPU, on any nodes; the tasks share the job's cores, memory and companions equally.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_cells import first_rows
from vinesim.formats.scenario.workload_columns import COMPANION, GANG, TOTAL
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import ANYWHERE, NO_GANG

MAX_TASKS = 1_000_000  # tasks of one row


def read_gangs(source: TableSource, table: dict[str, Any], match: Mapping[str, tuple[str, float]]) -> None:
    """Replace these columns by the workload's, and each row with nodes by one row per task.

    Raises :class:`InputError`.
    """
    given = {name: table.pop(name) for name in GANG if name in table}
    if not given:
        return
    n_rows = len(table["_row"])
    nodes = np.ma.filled(given.get("nodes", np.zeros(n_rows, np.int64)), 0).astype(np.int64)
    per_node = np.ma.filled(given.get("tasks_per_node", np.zeros(n_rows, np.int64)), 0).astype(np.int64)
    per_node = np.where((nodes > 0) & (per_node == 0), 1, per_node)
    within = np.asarray(given.get("gang", np.full(n_rows, -1))) + 1
    within = np.where((nodes > 0) & (within == NO_GANG), ANYWHERE, within)
    spread = np.asarray(given.get("spread", np.zeros(n_rows))) == 1
    wrong = [
        ("spread", spread & (within == NO_GANG), "nothing, as the job has no gang", "Give gang, or nodes."),
        (
            "tasks_per_node",
            (per_node > 0) & (within == NO_GANG),
            "nothing, as the job has no gang",
            "Give gang, or nodes.",
        ),
        ("nodes", nodes * per_node > MAX_TASKS, f"at most {MAX_TASKS:,} tasks", "They are nodes x tasks_per_node."),
    ]
    problems = []
    for name, is_wrong, expected, remedy in wrong:
        rows = first_rows(table["_row"], is_wrong)
        texts = source.texts_of(match[name][0], rows) if rows else {}
        cells = [(row, match[name][0], expected, texts[row]) for row in rows]
        problems += [replace(problem, remedy=remedy) for problem in source.cells(cells)]
    if problems:
        raise InputError(problems)
    counts = np.where((nodes > 0) & ~_shares_job(table), nodes * per_node, 1)
    table |= {"gang_within": within, "gang_spread": spread, "tasks_per_node": per_node, "gang_nodes": nodes}
    if (counts > 1).any():
        table.setdefault("job", np.arange(n_rows))
        for name in list(table):
            table[name] = table[name].repeat(counts)


def _shares_job(table: Mapping[str, Any]) -> np.ndarray:
    """Whether each row has the job of another row."""
    if "job" not in table:
        return np.zeros(len(table["_row"]), bool)
    number, count = np.unique(np.asarray(table["job"]), return_inverse=True, return_counts=True)[1:]
    return np.asarray(count[number] > 1)


(TOTAL_GPUS,) = TOTAL
NOT_WITH = ("gpus", "nodes", "gang", "tasks_per_node", "job", "units", "types")


def read_totals(
    source: TableSource, table: dict[str, Any], match: Mapping[str, tuple[str, float]]
) -> dict[str, tuple[str, float]]:
    """Replace this column by gpus and a row for each task; return the columns of the file by VineSim's names.

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
