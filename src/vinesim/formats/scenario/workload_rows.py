"""A workload from the rows of its table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_cells import first_rows
from vinesim.formats.scenario.workload_columns import EMPTY, OF_JOB, ONLY_TYPE, OPTIONAL, TIME_ANYWHERE
from vinesim.formats.scenario.workload_gangs import GANG_COLUMNS
from vinesim.formats.scenario.workload_items import item_of
from vinesim.formats.source.table_source import TableSource
from vinesim.model.catalog import TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload


def to_workload(
    source: TableSource,
    table: dict[str, Any],
    names: dict[str, list[str]],
    task_types: tuple[TaskType, ...],
    match: Mapping[str, tuple[str, float]],
    demands: dict[str, Any],
) -> Workload:
    """Return the workload of a table's checked columns, by VineSim's names; ``demands`` are those about its leads and
    companions. Raises :class:`InputError`."""
    path, row_of = source.path, table.pop("_row")
    columns: dict[str, Any] = {}
    problems = []
    times = [name for name in table if name.startswith("time_us.")]
    anywhere = table.pop(TIME_ANYWHERE, None)
    times_us = None
    if times or anywhere is not None:
        times_us = np.full((len(table["operations"]), len(names["preferred_type"])), np.nan)
        if anywhere is not None:
            times_us[:] = np.ma.filled(anywhere.astype(np.float64), np.nan)[:, None]
        for name in times:
            p = names["preferred_type"].index(name.removeprefix("time_us."))
            times_us[:, p] = np.ma.filled(table.pop(name).astype(np.float64), np.nan)
        if anywhere is not None:
            empty = first_rows(row_of, np.isnan(times_us).all(axis=1))
            problems += source.cells((row, match[TIME_ANYWHERE][0], "a time", None) for row in empty)
    if isinstance(table.get("demand"), np.ma.MaskedArray):
        table["demand"] = table["demand"].filled(np.nan)
    for name, value in EMPTY.items():
        cells = table.get(name)
        if isinstance(cells, np.ma.MaskedArray) and not cells.mask.all():
            table[name] = cells.filled(value)
    for name, values in table.items():
        n_null = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
        if n_null and not (name in OPTIONAL and n_null == len(values)):
            row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
            problems += source.cells([(int(row_of[row]), match[name][0], "a value, or none in all rows", None)])
        elif not n_null:
            columns[name] = np.asarray(values)
    for name in ("application", "user"):
        if (columns.get(name, np.zeros(1)) < 0).all():
            del columns[name]
    if (nameless := columns.get("user", np.zeros(1)) < 0).any():
        names["user"] = list(dict.fromkeys([*names["user"], ""]))
        columns["user"] = np.where(nameless, names["user"].index(""), columns["user"]).astype(np.int32)
    for name in ("task_type", "application"):
        if name in columns:
            empty = first_rows(row_of, columns[name] < 0)
            problems += source.cells((row, match[name][0], "a name", None) for row in empty)
    if problems:
        raise InputError(problems)
    job = columns.pop("job", np.arange(len(columns["operations"])))
    is_first = np.concatenate(([True], job[1:] != job[:-1]))
    first = np.flatnonzero(is_first)
    if not np.array_equal(job[first], np.arange(len(first))):
        problems.append(Problem(f"{path}: job", "0, 1, 2 ... with the rows of a job together", "another order"))
    for name in ("task_type", *OF_JOB, *GANG_COLUMNS):
        if name in columns:
            differs = np.flatnonzero(~is_first[1:] & (columns[name][1:] != columns[name][:-1])) + 1
            if len(differs):
                problems.append(
                    Problem(
                        f"{path}: {GANG_COLUMNS.get(name, name)}[{differs[0]}]", "one value per job", "a second one"
                    )
                )
            columns[name] = columns[name][first]
    if problems:
        raise InputError(problems)
    requests = {name.removeprefix("request."): columns.pop(name) for name in match if name.startswith("request.")}
    job_task_type = columns.pop("task_type", None)
    if job_task_type is None:
        job_task_type, task_types = np.zeros(len(first), np.int16), (TaskType(ONLY_TYPE),)
        if times and times_us is not None:
            job_task_type, task_types = _types_by_times(times_us, first, names["preferred_type"])
    try:
        return Workload(
            job_task_type=job_task_type,
            job_first=np.append(first, len(job)),
            task_types=task_types,
            times_us=times_us,
            requests=requests or None,
            application_names=() if _is_numbered(names.get("application", [])) else tuple(names["application"]),
            user_names=tuple(names["user"]) if "user" in columns else (),
            partition_names=tuple(names.get("partition", ())),
            **columns | demands,
        )
    except InputError as error:
        raise InputError([_at_row(source, one, match, row_of, first) for one in error.problems]) from None


def _at_row(
    source: TableSource,
    problem: Problem,
    match: Mapping[str, tuple[str, float]],
    row_of: np.ndarray,
    first: np.ndarray,
) -> Problem:
    """Return a problem with a value of the workload at the cell of the table that it is from, if it is from one."""
    item = item_of(problem, first)
    if item is None:
        return problem
    name = GANG_COLUMNS.get(item[0], item[0])
    if name not in match:
        return problem
    column, row = match[name][0], int(row_of[item[1]])
    (found,) = source.cells([(row, column, problem.expected, source.texts_of(column, [row])[row])])
    return replace(found, remedy=problem.remedy)


def _types_by_times(
    times_us: np.ndarray, first: np.ndarray, processor_names: Sequence[str]
) -> tuple[np.ndarray, tuple[TaskType, ...]]:
    """Group jobs by the set of processor types that have a time for all their tasks; each set is a task type named
    after it."""
    able = np.logical_and.reduceat(np.isfinite(times_us), first, axis=0)
    sets, code = np.unique(able, axis=0, return_inverse=True)
    names = ["+".join(np.array(processor_names)[row]) or "NOTHING" for row in sets]
    return code.astype(np.int16), tuple(map(TaskType, names))


def application_names_of(used: list[str]) -> list[str]:
    """Return the applications in the order of their codes; numbered applications keep their numbers."""
    if all(name.isdecimal() and len(name) < 7 and name == str(int(name)) for name in used):
        return [str(number) for number in range(max(map(int, used), default=-1) + 1)]
    return used


def _is_numbered(names: Sequence[str]) -> bool:
    return all(name == str(number) for number, name in enumerate(names))
