"""A workload as a table with one row per task: a Parquet or CSV file, written by VineSim or by the user.

The columns are declared in ``COLUMNS``; all but the arrival are optional. Times may have other units than us: the
column then ends in _ns, _ms, _s, _min or _h, such as ``arrival_s``. A job's values repeat on each of its tasks. Types
and applications are given by name. A Parquet file's metadata holds the list of task types, so that their codes are
preserved. A column ``period``, the number of the batch from 0, can replace the arrival; ``time_us`` is a measured time
on all types that have no column of their own.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.formats.source.files import replacing
from vinesim.formats.source.table_source import TableSource, name_of, open_table, run, text_of
from vinesim.formats.source.yaml_source import did_you_mean
from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, ProcessorType, TaskType
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

# name: (type, meaning and unit)
COLUMNS = {
    "job": ("BIGINT", "the job, from 0 in order of arrival; its rows are consecutive; default: one job per row"),
    "job_id": ("BIGINT", "the job's number in its source; null where it has none"),
    "task_type": ("VARCHAR", "name of the job's task type; default: TASK for all, or one per set of types with times"),
    "arrival_us": ("DOUBLE", "when the job arrives, us"),
    "deadline_us": ("DOUBLE", "when it should be done, us; all null: no deadlines"),
    "application": ("VARCHAR", "name of the application the job belongs to; all null: no applications"),
    "operations": ("DOUBLE", "number of operations of the task, its size; default 1"),
    "data_bytes": ("DOUBLE", "bytes to transfer to the unit; default 0"),
    "data_rack": ("INTEGER", "where the data is; default rack 0"),
    "data_shelf": ("INTEGER", "where the data is; default shelf 0"),
    "preferred_type": ("VARCHAR", "name of the processor type; null or UNSPECIFIED: any"),
    "demand": ("DOUBLE", "what it takes of its unit's capacity; whole (infinity): all of it; null or absent: one slot"),
    "estimate_us": ("DOUBLE", "the scheduler's estimate of the task's run time, us"),
    "time_factor": ("DOUBLE", "factor on the task's run time, unknown to every scheduler"),
    "time_us.TYPE": ("DOUBLE", "measured time on a processor type, us; null where it cannot run the task"),
    "request.NAME": ("DOUBLE", "minimum of a resource that the unit's type must provide, such as request.cores"),
}
# columns that a file may have in place of others, and that are never written
ALTERNATIVES = {
    "period": ("BIGINT", "replaces arrival_us: number of the batch, from 0; arrivals: {iat: ...} is the period"),
    "time_us": ("DOUBLE", "measured time, us, on every processor type without a column time_us.TYPE"),
}
_OF_JOB = ("job_id", "arrival_us", "deadline_us", "application")
_OPTIONAL = ("job_id", "deadline_us", "application", "demand", "estimate_us", "time_factor")
_DEFAULTS = {"operations": "1", "data_bytes": "0", "data_rack": "0", "data_shelf": "0", "preferred_type": "NULL"}
_UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}
_TIME = re.compile(r"time_(us|ns|ms|s|min|h)\.(.+)")
_PERIOD, _TIME_ANYWHERE = ALTERNATIVES
_TEXT_OR_NUMBER = ("demand", "VARCHAR")
_PLAIN = [name for name in (*COLUMNS, *ALTERNATIVES) if "." not in name]
_LIMITS = {"INTEGER": 2**31, "BIGINT": 2**63}  # whole numbers must be smaller
_REQUEST = re.compile(r"request\.(.+)")
_METADATA = "vinesim.task_types"
_WHOLE = "whole"  # the demand for a whole unit, in text; infinity in a column of numbers
_ONLY_TYPE = "TASK"


def write_workload(
    path: str | os.PathLike[str], workload: Workload, processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> None:
    """Write a workload, completely or not at all. Raises :class:`InputError` if it cannot be written."""
    counts = np.diff(workload.job_first)
    tasks: dict[str, Any] = {"job": np.repeat(np.arange(workload.n_jobs), counts)}
    columns = {name: kind for name, (kind, _) in COLUMNS.items() if "." not in name}
    for name in columns:
        values = getattr(workload, name, None)
        if values is not None:
            tasks[name] = np.repeat(values, counts) if name in _OF_JOB else values
    tasks["task_type"] = np.repeat(workload.job_task_type, counts).astype(np.int64)
    tasks["preferred_type"] = tasks["preferred_type"].astype(np.int64)
    task_names = [t.name for t in workload.task_types]
    names = {"task_type": task_names, "preferred_type": [p.name for p in processor_types]}
    if workload.application is not None:
        own = workload.application_names
        n_applications = max(len(own), int(workload.application.max()) + 1)
        names["application"] = [*own, *map(str, range(len(own), n_applications))]
    for i, processor in enumerate(processor_types if workload.times_us is not None else ()):
        columns[f"time_us.{processor.name}"] = "DOUBLE"
        tasks[f"time_us.{processor.name}"] = workload.times_us[:, i]  # type: ignore[index]
    for resource, values in (workload.requests or {}).items():
        columns[f"request.{resource}"] = "DOUBLE"
        tasks[f"request.{resource}"] = values
    select = []
    for name, kind in columns.items():
        if name in names:  # SQL lists count from 1; an index outside the list gives null
            select.append(f"{_list(names[name])}[{name} + 1] AS {name}")
        elif name.startswith("time_us.") or (name == "demand" and name in tasks):
            select.append(f"CASE WHEN isnan({name_of(name)}) THEN NULL ELSE {name_of(name)} END AS {name_of(name)}")
        else:
            select.append(f"{name_of(name) if name in tasks else 'NULL'}::{kind} AS {name_of(name)}")
    tasks["preferred_type"] = np.where(tasks["preferred_type"] < 0, len(processor_types), tasks["preferred_type"])
    with replacing(path) as temporary:
        temporary.touch()  # reports a missing folder or permission
        run(
            path,
            f"COPY (SELECT {', '.join(select)} FROM tasks) TO {text_of(str(temporary))} "
            "(FORMAT parquet, USE_TMP_FILE false, COMPRESSION zstd, "
            f"KV_METADATA {{'{_METADATA}': {text_of(json.dumps(task_names))}}})",
            "a file that can be written",
            tasks=tasks,
        )


def read_workload(
    path: str | os.PathLike[str],
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    task_types: Sequence[TaskType] | None = None,
    period_us: float | None = None,
) -> Workload:
    """Read a file of :func:`write_workload`, or any Parquet or CSV file with such columns.

    ``task_types`` defaults to the file's own list. If each row is one job, unsorted jobs are sorted by arrival. With a
    column ``period``, a job arrives at its period times ``period_us``. Other columns are errors.
    Raises :class:`InputError`.
    """
    source = open_table(path)
    match = _matched(source, processor_types)
    if _PERIOD in match and period_us is None:
        remedy = "Add arrivals: {iat: 10 s} to the scenario."
        raise InputError([Problem(f"{path}: {_PERIOD}", "the length of a period", "nothing", remedy)])
    cells = {ours: source.columns[column] for ours, (column, _) in match.items()}
    if task_types is None:
        given = "task_type" in match and not source.is_csv
        known = _task_names(source) if given else _used_names(source, cells.get("task_type"))
        task_types = [TaskType(name) for name in known]
    names = {"task_type": [t.name for t in task_types], "preferred_type": [p.name for p in processor_types]}
    if "application" in match:
        names["application"] = _applications(_used_names(source, cells["application"]))
    _check_names(source, cells, names)
    wrong = {
        ours: _is_wrong(ours, cell, is_text=source.is_csv or match[ours][0] in source.texts)
        for ours, cell in cells.items()
        if _kind(ours) != "VARCHAR"
    }
    count = " + ".join(f"({condition})::INTEGER" for condition in wrong.values())
    select = ["_row", f"{count} AS _wrong"]
    for name in _DEFAULTS | match:
        cell, scale = cells.get(name, _DEFAULTS.get(name)), match[name][1] if name in match else 1.0
        if name in names:
            position = f"list_position({_list(names[name])}, {cell}::VARCHAR) - 1"
            none = f"{cell} IS NULL" + (f" OR {cell} = '{ANY_PROCESSOR}'" if name == "preferred_type" else "")
            select.append(f"(CASE WHEN {none} THEN {NO_PREFERENCE} ELSE {position} END)::INTEGER AS {name}")
        elif name == _PERIOD:
            select.append(f"TRY_CAST({cell} AS DOUBLE) * {period_us!r}::DOUBLE AS arrival_us")
        else:
            value = _number(name, cell) + (f" * {scale!r}::DOUBLE" if scale != 1.0 else "")
            select.append(f"{value} AS {name_of(name)}")
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
    order = "" if "job" in match else " ORDER BY arrival_us, _row"
    table = source.query(f"SELECT {', '.join(select)} FROM {rows}{order}")
    if not len(table["_row"]):
        expected = "a header and at least one row" if source.is_csv else "at least one row"
        raise InputError([Problem(str(path), expected, "no row")])
    n_wrong = int(table.pop("_wrong").sum())
    if n_wrong:
        raise InputError(_wrong_cells(source, rows, match, wrong), n_wrong)
    _check_requests(source, table, match, processor_types)
    return _to_workload(source, table, names, tuple(task_types), match)


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
        request = _REQUEST.fullmatch(column)
        if known and request and request[1] not in known and (table[column] > 0).any():
            remedy = did_you_mean(column, [f"request.{name}" for name in known])
            expected = "a resource that a processor type has: " + ", ".join(known)
            remedy = remedy or "Give a processor type this attribute."
            problems.append(Problem(f"{source.path}: {column}", expected, repr(request[1]), remedy))
    if problems:
        raise InputError(problems)


def _kind(name: str) -> str:
    """Return the SQL type of a column, by our name."""
    return (COLUMNS | ALTERNATIVES).get(name, ("DOUBLE", ""))[0]


def _number(name: str, cell: str | None) -> str:
    """Return the cell as a number in SQL; null if it holds none."""
    number = f"TRY_CAST({cell} AS {_kind(name)})"
    return (
        f"CASE WHEN {cell}::VARCHAR = '{_WHOLE}' THEN 'inf'::DOUBLE ELSE {number} END" if name == "demand" else number
    )


def _is_wrong(name: str, cell: str, is_text: bool) -> str:
    """Return an SQL condition that is true if the cell holds no valid number for the column."""
    number = f"TRY_CAST({cell} AS DOUBLE)"
    right = f"{number} >= 0 AND {number} < 'inf'::DOUBLE"
    if name == "deadline_us":
        right = f"{number} >= 0 AND NOT isnan({number})"
    if name == "demand":
        right = f"{cell} = '{_WHOLE}' OR ({right})" if is_text else f"{number} >= 0"  # in numbers, NaN counts as null
    if _kind(name) in _LIMITS:
        right = f"{number} >= {0 if name != 'job_id' else -_LIMITS['BIGINT']} AND {number} < {_LIMITS[_kind(name)]}"
        right += f" AND {number} = floor({number})"
    is_time = name.startswith(_TIME_ANYWHERE)
    if is_time and not is_text:  # some tools write NaN for missing values
        right = f"({right}) OR isnan({number})"
    wrong = f"NOT coalesce({right}, false)"
    return f"{cell} IS NOT NULL AND {wrong}" if is_time or name in _OPTIONAL else wrong


def _wrong_cells(
    source: TableSource, rows: str, match: Mapping[str, tuple[str, float]], wrong: Mapping[str, str]
) -> list[Problem]:
    """Return the first problems of cells, in the order of the rows."""
    select = [
        f"{part} AS {name_of(f'{kind} {ours}')}"
        for ours, condition in wrong.items()
        for kind, part in (("is", condition), ("text", f"{source.columns[match[ours][0]]}::VARCHAR"))
    ]
    some = " OR ".join(f"({condition})" for condition in wrong.values())
    table = source.query(
        f"SELECT _row, {', '.join(select)} FROM {rows} WHERE {some} ORDER BY _row LIMIT {MAX_PROBLEMS}"
    )
    columns = {name: values.tolist() for name, values in table.items()}
    found = []
    for i, row in enumerate(columns["_row"]):
        for ours in wrong:
            if columns[f"is {ours}"][i]:
                least = "" if ours == "job_id" else ", 0 or more"
                expected = ("a whole number" if _kind(ours) in _LIMITS else "a number") + least
                expected += f", or {_WHOLE}" if ours == "demand" else ""
                found.append((row, match[ours][0], expected, columns[f"text {ours}"][i]))
    return source.cells(found[:MAX_PROBLEMS])


def _check_names(source: TableSource, cells: Mapping[str, str], names: Mapping[str, list[str]]) -> None:
    """Raise :class:`InputError` for types that are not defined."""
    problems = []
    for name in ("task_type", "preferred_type"):
        for used in _used_names(source, cells.get(name)):
            if used not in names[name] and used != ANY_PROCESSOR:
                remedy = did_you_mean(used, names[name]) or "Define the type first."
                problems.append(
                    Problem(f"{source.path}: {name}", "one of " + ", ".join(names[name]), repr(used), remedy)
                )
    if problems:
        raise InputError(problems)


def _matched(source: TableSource, processor_types: Sequence[ProcessorType]) -> dict[str, tuple[str, float]]:
    """Map our name of each column in the file to its name there and the factor to our unit."""
    match: dict[str, tuple[str, float]] = {}
    problems = []
    path, types = source.path, [p.name for p in processor_types]
    for column in source.columns:
        stem, _, unit = column.rpartition("_")
        time = _TIME.fullmatch(column)
        ours, scale = column, 1.0
        if time:
            ours, scale = f"{_TIME_ANYWHERE}.{time[2]}", _UNITS[time[1]]
            if time[2] not in types:
                remedy = did_you_mean(time[2], types) or "Define the type first."
                problems.append(Problem(f"{path}: {column}", "a processor type: " + ", ".join(types), time[2], remedy))
        elif unit in _UNITS and f"{stem}_us" in _PLAIN:
            ours, scale = f"{stem}_us", _UNITS[unit]
        elif column not in _PLAIN and not _REQUEST.fullmatch(column):
            problems.append(_unknown(path, column, types))
            continue
        if ours in match:
            problems.append(Problem(f"{path}: {column}", f"{ours} once", "a second time", "Keep one."))
        elif column in source.texts and _kind(ours) != "VARCHAR" and (ours, source.texts[column]) != _TEXT_OR_NUMBER:
            problems.append(Problem(f"{path}: {column}", "numbers", f"a column of {source.texts[column]}"))
        match[ours] = column, scale
    present = ", ".join(source.columns)[:80]
    if _PERIOD in match and "arrival_us" in match:
        problems.append(Problem(path, "one column for when a job arrives", "period and arrival", "Keep one."))
    elif _PERIOD not in match and "arrival_us" not in match:
        remedy = "Name the column of arrival times so, with the unit at its end."
        problems.append(Problem(path, "a column arrival_us (or _ms, _s), or period", present, remedy))
    if problems:
        raise InputError(problems)
    return match


def _unknown(path: str, column: str, types: Sequence[str]) -> Problem:
    """Return the problem of a column that a workload does not have."""
    if column == "time":
        return Problem(f"{path}: time", "its unit in its name", "time", "Call it time_s, time_ms or time_us.")
    timed = [name.removesuffix("_us") for name in _PLAIN if name.endswith("_us")]
    known = [*_PLAIN, *(f"{name}_{unit}" for name in timed for unit in _UNITS)]
    known += [f"time_{unit}.{name}" for unit in _UNITS for name in types]
    if "." in column:
        known.append("request." + column.partition(".")[2])
    expected = "one of " + ", ".join([*COLUMNS, *ALTERNATIVES])
    return Problem(f"{path}: {column}", expected, repr(column), did_you_mean(column, known) or "Remove the column.")


def _to_workload(
    source: TableSource,
    table: dict[str, Any],
    names: dict[str, list[str]],
    task_types: tuple[TaskType, ...],
    match: Mapping[str, tuple[str, float]],
) -> Workload:
    path, row_of = source.path, table.pop("_row")
    columns: dict[str, Any] = {}
    problems = []
    times = [name for name in table if name.startswith("time_us.")]
    anywhere = table.pop(_TIME_ANYWHERE, None)
    times_us = None
    if times or anywhere is not None:
        times_us = np.full((len(table["operations"]), len(names["preferred_type"])), np.nan)
        if anywhere is not None:
            times_us[:] = np.ma.filled(anywhere.astype(np.float64), np.nan)[:, None]
        for name in times:
            p = names["preferred_type"].index(name.removeprefix("time_us."))
            times_us[:, p] = np.ma.filled(table.pop(name).astype(np.float64), np.nan)
    if isinstance(table.get("demand"), np.ma.MaskedArray):
        table["demand"] = table["demand"].filled(np.nan)
    for name, values in table.items():
        n_null = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
        if n_null and not (name in _OPTIONAL and n_null == len(values)):
            row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
            problems += source.cells([(int(row_of[row]), match[name][0], "a value, or none in all rows", None)])
        elif not n_null:
            columns[name] = np.asarray(values)
    if (columns.get("application", np.zeros(1)) < 0).all():
        del columns["application"]
    for name in ("task_type", "application"):
        for row in np.flatnonzero(columns.get(name, np.zeros(0)) < 0)[:5]:
            problems += source.cells([(int(row_of[row]), match[name][0], "a name", None)])
    if problems:
        raise InputError(problems)
    job = columns.pop("job", np.arange(len(columns["operations"])))
    is_first = np.concatenate(([True], job[1:] != job[:-1]))
    first = np.flatnonzero(is_first)
    if not np.array_equal(job[first], np.arange(len(first))):
        problems.append(Problem(f"{path}: job", "0, 1, 2 ... with the rows of a job together", "another order"))
    for name in ("task_type", *_OF_JOB):
        if name in columns:
            differs = np.flatnonzero(~is_first[1:] & (columns[name][1:] != columns[name][:-1])) + 1
            if len(differs):
                problems.append(Problem(f"{path}: {name}[{differs[0]}]", "one value per job", "a second one"))
            columns[name] = columns[name][first]
    if problems:
        raise InputError(problems)
    requests = {name.removeprefix("request."): columns.pop(name) for name in match if name.startswith("request.")}
    job_task_type = columns.pop("task_type", None)
    if job_task_type is None:
        job_task_type, task_types = np.zeros(len(first), np.int16), (TaskType(_ONLY_TYPE),)
        if times and times_us is not None:
            job_task_type, task_types = _types_by_times(times_us, first, names["preferred_type"])
    return Workload(
        job_task_type=job_task_type,
        job_first=np.append(first, len(job)),
        task_types=task_types,
        times_us=times_us,
        requests=requests or None,
        application_names=() if _is_numbered(names.get("application", [])) else tuple(names["application"]),
        **columns,
    )


def has_periods(path: str | os.PathLike[str]) -> bool:
    """Whether the table gives arrivals as period numbers. Raises :class:`InputError`."""
    return _PERIOD in open_table(path).columns


def _types_by_times(
    times_us: np.ndarray, first: np.ndarray, processor_names: Sequence[str]
) -> tuple[np.ndarray, tuple[TaskType, ...]]:
    """Group jobs by the set of processor types that have a time for all their tasks; each set is a task type named
    after it."""
    able = np.logical_and.reduceat(np.isfinite(times_us), first, axis=0)
    sets, code = np.unique(able, axis=0, return_inverse=True)
    names = ["+".join(np.array(processor_names)[row]) or "NOTHING" for row in sets]
    return code.astype(np.int16), tuple(map(TaskType, names))


def affinity_of_times(workload: Workload) -> np.ndarray | None:
    """Return [P, T]: 1 if all tasks of the type have a time on the processor type, else 0; None without times."""
    if workload.times_us is None:
        return None
    kind = np.repeat(workload.job_task_type, np.diff(workload.job_first))
    able = np.isfinite(workload.times_us)
    rows = [
        able[kind == t].all(axis=0) if (kind == t).any() else np.zeros(able.shape[1], bool)
        for t in range(len(workload.task_types))
    ]
    return np.array(rows, np.float64).T


def _task_names(source: TableSource) -> list[str]:
    """Return the file's list of task types: from its metadata, or else the names in use, sorted."""
    metadata = source.sql.replace("read_parquet", "parquet_kv_metadata", 1)
    found = source.query(f"SELECT value FROM {metadata} WHERE key = '{_METADATA}'")["value"].tolist()
    if found:
        try:
            names: list[str] = json.loads(found[0])
            if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
                return names
        except (ValueError, RecursionError):
            pass
        raise InputError([Problem(source.path, "a list of task types in its metadata", repr(found[0])[:60])])
    return _used_names(source, "task_type")


def _used_names(source: TableSource, column: str | None) -> list[str]:
    """Return the names in a column, sorted."""
    if column is None:
        return []
    used = source.query(
        f"SELECT DISTINCT {column}::VARCHAR AS t FROM {source.sql} WHERE {column} IS NOT NULL ORDER BY t"
    )
    return [str(name) for name in used["t"].tolist()]


def _applications(used: list[str]) -> list[str]:
    """Return the applications in the order of their codes; numbered applications keep their numbers."""
    if all(name.isdecimal() and len(name) < 7 and name == str(int(name)) for name in used):
        return [str(number) for number in range(max(map(int, used), default=-1) + 1)]
    return used


def _is_numbered(names: Sequence[str]) -> bool:
    return all(name == str(number) for number, name in enumerate(names))


def _list(names: Sequence[str]) -> str:
    return f"CAST([{', '.join(map(text_of, names))}] AS VARCHAR[])"
