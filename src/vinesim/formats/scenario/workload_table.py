"""A workload as a table with one row per task: a Parquet or CSV file, written by VineSim or by the user.

The columns are declared in ``COLUMNS``; all but the arrival are optional. Times are in us, or in the unit at the end of
the column's name (_ns, _ms, _s, _min, _h), as in ``arrival_s``. Each row of a job repeats the job's values. Types and
applications are given by name. The metadata of a Parquet file holds the list of task types, which preserves their
codes. A column ``period``, the number of the batch from 0, can replace the arrival. ``time_us`` is a measured time on
all types that have no column of their own.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.formats.scenario.offer import Offer
from vinesim.formats.scenario.workload_cells import check_names, is_wrong, list_of, number_of, used_names, wrong_cells
from vinesim.formats.scenario.workload_columns import (
    AFTER,
    ATTRIBUTE,
    DEFAULTS,
    METADATA,
    NAMED,
    PERIOD,
    REQUEST,
    WORDS,
    is_set,
    kind_of,
    matched,
)
from vinesim.formats.scenario.workload_forms import as_columns
from vinesim.formats.scenario.workload_gangs import read_gangs, read_totals
from vinesim.formats.scenario.workload_resources import Demands
from vinesim.formats.scenario.workload_rows import application_names_of, to_workload
from vinesim.formats.source.database import name_of
from vinesim.formats.source.quantities import MEMORY
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource, open_table
from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload


def read_workload(
    path: str | os.PathLike[str],
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    task_types: Sequence[TaskType] | None = None,
    period_us: float | None = None,
    offer: Offer | None = None,
    columns: Mapping[str, str] | None = None,
) -> Workload:
    """Read a file of :func:`write_workload`, or any Parquet or CSV file with such columns.

    ``task_types`` defaults to the file's own list. If each row is one job, unsorted jobs are sorted by arrival. With a
    column ``period``, a job arrives at its period times ``period_us``. ``offer`` is what the nodes have, for cores and
    gpus; by default a unit of each type. ``columns`` maps names in the file
    to such names with their unit, or to ``ignore``. Other columns are errors.
    Raises :class:`InputError`.
    """
    return read_with_places(path, processor_types, task_types, period_us, offer, columns)[0]


def read_with_places(
    path: str | os.PathLike[str],
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    task_types: Sequence[TaskType] | None = None,
    period_us: float | None = None,
    offer: Offer | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Workload, Callable[[int], str], dict[str, str]]:
    """Return the workload as :func:`read_workload` does, a function that gives the place of a task in the file, and the
    file's column for each column of the workload."""
    file = open_table(path)
    source, columns = as_columns(file, columns)
    match = matched(source, processor_types, columns)
    if PERIOD in match and period_us is None:
        remedy = "Add arrivals: {iat: 10 s} to the scenario."
        raise InputError([Problem(f"{path}: {PERIOD}", "the length of a period", "nothing", remedy)])
    cells = {ours: source.columns[column] for ours, (column, _) in match.items()}
    if task_types is None:
        given = "task_type" in match and not source.is_csv
        known = task_names_of(file) if given else used_names(source, cells.get("task_type"))
        task_types = [TaskType(name) for name in known]
    names = {"task_type": [t.name for t in task_types], "preferred_type": [p.name for p in processor_types]}
    if "application" in match:
        names["application"] = application_names_of(used_names(source, cells["application"]))
    for name in NAMED:
        if name in match and name not in names:
            names[name] = used_names(source, cells[name])
    check_names(source, cells, names)
    words = {name: WORDS[name] for name in WORDS if name in match}
    sets = {name: used_names(source, cells[name]) for name in match if is_set(name)}
    wrong = wrong_of(source, match)
    count = " + ".join(f"({condition})::INTEGER" for condition in wrong.values())
    select = ["_row", f"{count} AS _wrong"]
    for name in DEFAULTS | match:
        cell, scale = cells.get(name, DEFAULTS.get(name)), match[name][1] if name in match else 1.0
        if "job" in match and ATTRIBUTE.fullmatch(name):  # a job may have thousands of tasks, but its texts only once
            cell = f"CASE WHEN {cells['job']} IS DISTINCT FROM _job_before THEN {cell} END"
        select.append(_selected(name, cell, scale, (names | sets | words).get(name), period_us))
    before = f", lag({source.columns[match['job'][0]]}) OVER () AS _job_before" if "job" in match else ""
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row{before} FROM {source.sql})"
    order = "" if "job" in match else " ORDER BY arrival_us, _row"
    table = source.query(f"SELECT {', '.join(select)} FROM {rows}{order}")
    if not len(table["_row"]):
        expected = "a header and at least one row" if source.is_csv else "at least one row"
        raise InputError([Problem(str(path), expected, "no row")])
    n_wrong = int(table.pop("_wrong").sum())
    if n_wrong:
        raise InputError(wrong_cells(source, rows, match, wrong), n_wrong)
    _check_requests(source, table, match, processor_types)
    match = read_totals(source, table, match)
    read_gangs(source, table, match)
    row_of = table["_row"]
    offer = offer or Offer.of(processor_types)
    demands = Demands(source, table, match, sets, offer).read()
    work = to_workload(source, table, names, tuple(task_types), match, demands)
    return work, lambda task: source.place(int(row_of[task])), _given_as(match, offer)


def _selected(name: str, cell: str | None, scale: float, known: Sequence[str] | None, period_us: float | None) -> str:
    """Return SQL for one of the workload's columns, given its cell: its index in the ``known`` names, or its value."""
    if known is not None:
        position = f"list_position({list_of(known)}, {cell}::VARCHAR) - 1"
        none = f"{cell} IS NULL" + (f" OR {cell} = '{ANY_PROCESSOR}'" if name == "preferred_type" else "")
        return f"(CASE WHEN {none} THEN {NO_PREFERENCE} ELSE {position} END)::INTEGER AS {name}"
    if ATTRIBUTE.fullmatch(name) or name in AFTER:
        return f"({cell})::VARCHAR AS {name_of(name)}"
    if name == PERIOD:
        return f"TRY_CAST({cell} AS DOUBLE) * {period_us!r}::DOUBLE AS arrival_us"
    value = number_of(name, cell) + (f" * {scale!r}::DOUBLE" if scale != 1.0 else "")
    return f"{value} AS {name_of(name)}"


def _given_as(match: Mapping[str, tuple[str, float]], offer: Offer) -> dict[str, str]:
    """Return the file's column for each column of the workload; for example, cores give companions.CPU."""
    given = {name.replace("companion.", "companions."): column for name, (column, _) in match.items()}
    if "cores" in given:
        for name in ("demand", *(f"companions.{cpu}" for cpu in offer.cpus)):
            given.setdefault(name, given["cores"])
    if "memory" in given:
        given.setdefault(f"companions.{MEMORY}", given["memory"])
    return given


def wrong_of(source: TableSource, match: Mapping[str, tuple[str, float]]) -> dict[str, str]:
    """Return, for each column of numbers by VineSim's name, an SQL condition that is true for invalid cells."""
    return {
        ours: is_wrong(ours, source.columns[given], is_text=source.is_csv or given in source.texts)
        for ours, (given, _) in match.items()
        if kind_of(ours) != "VARCHAR"
    }


def _check_requests(
    source: TableSource,
    table: Mapping[str, Any],
    match: Mapping[str, tuple[str, float]],
    processor_types: Sequence[ProcessorType],
) -> None:
    """Raise :class:`InputError` for requests above 0 of a resource that no type has, if any type has resources."""
    known = sorted({name for p in processor_types for name in p.attributes})
    problems = []
    for column in match:
        request = REQUEST.fullmatch(column)
        if known and request and request[1] not in known and (table[column] > 0).any():
            remedy = did_you_mean(column, [f"request.{name}" for name in known])
            expected = "a resource that a processor type has: " + ", ".join(known)
            remedy = remedy or "Give a processor type this attribute."
            problems.append(Problem(f"{source.path}: {column}", expected, repr(request[1]), remedy))
    if problems:
        raise InputError(problems)


def has_periods(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> bool:
    """Whether the table gives arrivals as period numbers. Raises :class:`InputError`."""
    return PERIOD in {(columns or {}).get(name, name) for name in open_table(path).columns}


def affinity_of_times(workload: Workload) -> np.ndarray | None:
    """Return [P, T] 1 if all tasks of the type have a time on the processor type, otherwise 0; None without times."""
    if workload.times_us is None:
        return None
    type_of_task = np.repeat(workload.job_task_type, np.diff(workload.job_first))
    able = np.isfinite(workload.times_us)
    rows = [
        able[type_of_task == t].all(axis=0) if (type_of_task == t).any() else np.zeros(able.shape[1], bool)
        for t in range(len(workload.task_types))
    ]
    return np.array(rows, np.float64).T


def task_names_of(source: TableSource) -> list[str]:
    """Return the file's list of task types from its metadata or, without it, the sorted names in use."""
    metadata = source.sql.replace("read_parquet", "parquet_kv_metadata", 1)
    found = source.query(f"SELECT value FROM {metadata} WHERE key = '{METADATA}'")["value"].tolist()
    if found:
        try:
            names: list[str] = json.loads(found[0])
            if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
                return names
        except (ValueError, RecursionError):
            pass
        raise InputError([Problem(source.path, "a list of task types in its metadata", repr(found[0])[:60])])
    return used_names(source, "task_type")
