"""A workload as a table, one row a task: a Parquet or CSV file, of VineSim's or of the user's own.

The columns are declared in ``COLUMNS``; all but the arrival may be left out. Times may be in other units than us: the
column then ends in _ns, _ms, _s, _min or _h, as ``arrival_s``. A job's values repeat on each of its tasks. Types and
applications are written by name. A Parquet file's metadata holds the list of task types, so that codes come back the
same. In place of the arrival there may be a column ``period``, the number of the batch from 0, and ``time_us`` is a
measured time on all the types that have no column of their own.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through _text
import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from vinesim.formats.files import opened, replacing
from vinesim.formats.yaml_source import did_you_mean
from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, ProcessorType, TaskType
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

# name: (type, meaning and unit)
COLUMNS = {
    "job": ("BIGINT", "the job, from 0 in order of arrival; its rows are next to one another; left out: a job a row"),
    "job_id": ("BIGINT", "the job's number in its own source; null where it has none"),
    "task_type": ("VARCHAR", "name of the task type; one a job; left out: all are TASK, or told by their times"),
    "arrival_us": ("DOUBLE", "when the job arrives, us"),
    "deadline_us": ("DOUBLE", "when it should be done, us; null where nobody gave deadlines"),
    "application": ("VARCHAR", "name of the application the job belongs to; null where nobody gave applications"),
    "operations": ("DOUBLE", "number of operations of the task: its size; left out: 1"),
    "data_bytes": ("DOUBLE", "bytes to move to the unit; left out: 0"),
    "data_rack": ("INTEGER", "where the data is; left out: rack 0"),
    "data_shelf": ("INTEGER", "where the data is; left out: shelf 0"),
    "preferred_type": ("VARCHAR", "name of the processor type; null or UNSPECIFIED: any"),
    "demand": ("DOUBLE", "share of the unit's capacity, 0: all of it; null where nobody gave demands"),
    "estimate_us": ("DOUBLE", "what a scheduler is told about the task's time, us"),
    "time_factor": ("DOUBLE", "what the task's time is multiplied with, unknown to every scheduler"),
    "time_us.TYPE": ("DOUBLE", "measured time on a processor type, us; null where it cannot run the task"),
    "request.NAME": ("DOUBLE", "least of a resource that the unit's type must provide, as request.cores"),
}
# what a file may have in place of others, but is not written
ALTERNATIVES = {
    "period": ("BIGINT", "in place of arrival_us: number of the batch, from 0; arrivals: {iat: ...} is their distance"),
    "time_us": ("DOUBLE", "measured time, us, on every processor type without a column time_us.TYPE"),
}
_OF_JOB = ("job_id", "arrival_us", "deadline_us", "application")
_OPTIONAL = ("job_id", "deadline_us", "application", "demand", "estimate_us", "time_factor")
_DEFAULTS = {"operations": "1", "data_bytes": "0", "data_rack": "0", "data_shelf": "0", "preferred_type": "NULL"}
_UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}
_TIME = re.compile(r"time_(us|ns|ms|s|min|h)\.(.+)")
_PERIOD, _TIME_ANYWHERE = ALTERNATIVES
_REQUEST = re.compile(r"request\.(.+)")
_METADATA = "vinesim.task_types"
_ONLY_TYPE = "TASK"


def write_workload(
    path: str | os.PathLike[str], workload: Workload, processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> None:
    """Write a workload: whole or not at all. Raises :class:`InputError` if it cannot be written."""
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
        if name in names:  # a list counts from 1; outside it is null
            select.append(f"{_list(names[name])}[{name} + 1] AS {name}")
        elif name.startswith("time_us."):
            select.append(f"CASE WHEN isnan({_name(name)}) THEN NULL ELSE {_name(name)} END AS {_name(name)}")
        else:
            select.append(f"{_name(name) if name in tasks else 'NULL'}::{kind} AS {_name(name)}")
    tasks["preferred_type"] = np.where(tasks["preferred_type"] < 0, len(processor_types), tasks["preferred_type"])
    with replacing(path) as temporary:
        temporary.touch()  # for its messages: no such folder, no permission
        _run(
            path,
            f"COPY (SELECT {', '.join(select)} FROM tasks) TO {_text(str(temporary))} "
            "(FORMAT parquet, USE_TMP_FILE false, COMPRESSION zstd, "
            f"KV_METADATA {{'{_METADATA}': {_text(json.dumps(task_names))}}})",
            "a file that can be written",
            tasks=tasks,
        )


def read_workload(
    path: str | os.PathLike[str],
    processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES,
    task_types: Sequence[TaskType] | None = None,
    period_us: float | None = None,
) -> Workload:
    """Read what :func:`write_workload` wrote, or any Parquet or CSV file with such columns.

    ``task_types`` is by default the file's own list. Jobs that are not in order of arrival are sorted, if each row is a
    job. A column ``period`` says that a job arrives at its number x ``period_us``. Columns that are not of a workload
    are passed over with a warning. Raises :class:`InputError`.
    """
    source = _source(path)
    found = _matched(path, _columns(path, source), processor_types)
    if _PERIOD in found:
        _check_periods(path, source, period_us)
        found["arrival_us"] = f"{found.pop(_PERIOD)} * {period_us!r}::DOUBLE"
    if task_types is None:
        given = "task_type" in found and not str(path).lower().endswith(".csv")
        known = _task_names(path, source) if given else _used_names(path, source, found.get("task_type"))
        task_types = [TaskType(name) for name in known]
    names = {"task_type": [t.name for t in task_types], "preferred_type": [p.name for p in processor_types]}
    if "application" in found:
        names["application"] = _applications(_used_names(path, source, found["application"]))
    _check_names(path, source, found, names)
    select = []
    for name, expression in (_DEFAULTS | found).items():
        kind = COLUMNS[name][0] if name in COLUMNS else "DOUBLE"
        if name in names:
            position = f"list_position({_list(names[name])}, {expression}::VARCHAR) - 1"
            none = f"{expression} IS NULL" + (
                f" OR {expression} = '{ANY_PROCESSOR}'" if name == "preferred_type" else ""
            )
            code = f"CASE WHEN {none} THEN {NO_PREFERENCE} ELSE {position} END"
            select.append(f"({code})::INTEGER AS {name}")
        else:
            select.append(f"({expression})::{kind} AS {_name(name)}")
    order = "" if "job" in found else f" ORDER BY {found['arrival_us']}, _row"
    rows = f"(SELECT *, row_number() OVER () AS _row FROM {source})" if order else source
    table = _run(path, f"SELECT {', '.join(select)} FROM {rows}{order}")
    return _to_workload(path, table, names, tuple(task_types), found)


def _check_names(
    path: str | os.PathLike[str], source: str, found: Mapping[str, str], names: Mapping[str, list[str]]
) -> None:
    """Raise :class:`InputError` with the types that nobody has defined."""
    problems = []
    for name in ("task_type", "preferred_type"):
        for used in _used_names(path, source, found.get(name)):
            if used not in names[name] and used != ANY_PROCESSOR:
                remedy = did_you_mean(used, names[name]) or "Define the type first."
                problems.append(Problem(f"{path}: {name}", "one of " + ", ".join(names[name]), repr(used), remedy))
    if problems:
        raise InputError(problems)


def _matched(
    path: str | os.PathLike[str], present: list[str], processor_types: Sequence[ProcessorType]
) -> dict[str, str]:
    """Our name of each column that the file has -> its SQL, in our unit."""
    found: dict[str, str] = {}
    problems, unused = [], []
    types = [p.name for p in processor_types]
    for column in present:
        stem, _, unit = column.rpartition("_")
        time, request = _TIME.fullmatch(column), _REQUEST.fullmatch(column)
        ours, scale = column, 1.0
        if time:
            ours, scale = f"time_us.{time[2]}", _UNITS[time[1]]
            if time[2] not in types:
                remedy = did_you_mean(time[2], types) or "Define the type first."
                problems.append(Problem(f"{path}: {column}", "a processor type: " + ", ".join(types), time[2], remedy))
        elif unit in _UNITS and (f"{stem}_us" in COLUMNS or f"{stem}_us" == _TIME_ANYWHERE):
            ours, scale = f"{stem}_us", _UNITS[unit]
        elif column not in COLUMNS and not request and column != _PERIOD:
            unused.append(column)
            continue
        if ours in found:
            problems.append(Problem(f"{path}: {column}", f"{ours} once", "it a second time", "Keep one."))
        found[ours] = _name(column) if scale == 1.0 else f"{_name(column)} * {scale!r}"
    if _PERIOD in found and "arrival_us" in found:
        problems.append(Problem(str(path), "one column for when a job arrives", "period and arrival", "Keep one."))
    elif _PERIOD not in found and "arrival_us" not in found:
        close = [did_you_mean(name, ["arrival_us", "arrival_s", "arrival_ms"]) for name in unused]
        remedy = next((text for text in close if text), "Name the column so, with the unit at its end.")
        expected = "a column arrival_us (or _ms, _s), or period"
        problems.append(Problem(str(path), expected, ", ".join(present)[:80], remedy))
    if "time" in unused and not any(name.startswith(("operations", _TIME_ANYWHERE)) for name in found):
        problems.append(Problem(f"{path}: time", "its unit in its name", "time", "Call it time_s, time_ms or time_us."))
    if problems:
        raise InputError(problems)
    if unused:
        warnings.warn(
            f"{path}: columns that are not of a workload: {', '.join(unused[:10])}", InputWarning, stacklevel=3
        )
    return found


def _to_workload(
    path: str | os.PathLike[str],
    table: dict[str, Any],
    names: dict[str, list[str]],
    task_types: tuple[TaskType, ...],
    found: Mapping[str, str],
) -> Workload:
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
    for name, values in table.items():
        n_null = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
        if n_null and not (name in _OPTIONAL and n_null == len(values)):
            row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
            problems.append(Problem(f"{path}: {name}[{row}]", "a value", "null"))
        elif not n_null:
            columns[name] = np.asarray(values)
    if (columns.get("application", np.zeros(1)) < 0).all():
        del columns["application"]
    for name in ("task_type", "application"):
        for row in np.flatnonzero(columns.get(name, np.zeros(0)) < 0)[:5]:
            problems.append(Problem(f"{path}: {name}[{row}]", "a name", "null"))
    if problems:
        raise InputError(problems)
    if not len(columns["operations"]):
        raise InputError([Problem(str(path), "at least one row", "none")])
    job = columns.pop("job", np.arange(len(columns["operations"])))
    is_first = np.concatenate(([True], job[1:] != job[:-1]))
    first = np.flatnonzero(is_first)
    if not np.array_equal(job[first], np.arange(len(first))):
        problems.append(Problem(f"{path}: job", "0, 1, 2 ... with the rows of a job together", "another order"))
    for name in ("task_type", *_OF_JOB):
        if name in columns:
            differs = np.flatnonzero(~is_first[1:] & (columns[name][1:] != columns[name][:-1])) + 1
            if len(differs):
                problems.append(Problem(f"{path}: {name}[{differs[0]}]", "one value a job", "a second one"))
            columns[name] = columns[name][first]
    if problems:
        raise InputError(problems)
    requests = {name.removeprefix("request."): columns.pop(name) for name in found if name.startswith("request.")}
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
    """Whether the table says when jobs arrive by the number of a period. Raises :class:`InputError`."""
    return _PERIOD in _columns(path, _source(path))


def _source(path: str | os.PathLike[str]) -> str:
    """The file as a table in SQL."""
    with opened(path):
        pass  # for its messages: no file, a folder, no permission
    file = _text(_literal(str(path)))
    return f"read_csv({file}, header = true)" if str(path).lower().endswith(".csv") else f"read_parquet({file})"


def _columns(path: str | os.PathLike[str], source: str) -> list[str]:
    names: list[str] = _run(path, f"DESCRIBE SELECT * FROM {source}")["column_name"].tolist()
    return names


def _check_periods(path: str | os.PathLike[str], source: str, period_us: float | None) -> None:
    """Raise :class:`InputError` if the length of a period is missing or a number of one is not 0, 1, 2 ..."""
    if period_us is None:
        remedy = "Add arrivals: {iat: 10 s} to the scenario."
        raise InputError([Problem(f"{path}: {_PERIOD}", "the length of a period", "nothing", remedy)])
    rows = f"SELECT {_PERIOD} AS p, row_number() OVER () - 1 AS row FROM {source}"
    bad = _run(path, f"SELECT p::VARCHAR AS p, row FROM ({rows}) WHERE NOT coalesce(p >= 0 AND p = floor(p), false)")
    problems = [
        Problem(f"{path}: {_PERIOD}[{row}]", "a whole number, 0 or more", "null" if text is None else str(text))
        for text, row in list(zip(bad["p"].tolist(), bad["row"].tolist(), strict=True))[:20]
    ]
    if problems:
        raise InputError(problems, len(bad["row"]))


def _types_by_times(
    times_us: np.ndarray, first: np.ndarray, processor_names: Sequence[str]
) -> tuple[np.ndarray, tuple[TaskType, ...]]:
    """Tasks told apart by the processor types that have a time for them: a task type for each such set, named by it."""
    able = np.isfinite(times_us[first])
    sets, code = np.unique(able, axis=0, return_inverse=True)
    names = ["+".join(np.array(processor_names)[row]) or "NOTHING" for row in sets]
    return code.astype(np.int16), tuple(map(TaskType, names))


def affinity_of_times(workload: Workload) -> np.ndarray | None:
    """[P, T] 1 where all tasks of the type have a time on the processor type, else 0; None without measured times."""
    if workload.times_us is None:
        return None
    kind = np.repeat(workload.job_task_type, np.diff(workload.job_first))
    able = np.isfinite(workload.times_us)
    rows = [
        able[kind == t].all(axis=0) if (kind == t).any() else np.zeros(able.shape[1], bool)
        for t in range(len(workload.task_types))
    ]
    return np.array(rows, np.float64).T


def _task_names(path: str | os.PathLike[str], source: str) -> list[str]:
    """The file's list of task types: from its metadata, else the names in use, sorted."""
    metadata = source.replace("read_parquet", "parquet_kv_metadata", 1)
    found = _run(path, f"SELECT value FROM {metadata} WHERE key = '{_METADATA}'")["value"].tolist()
    if found:
        try:
            names: list[str] = json.loads(found[0])
            if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
                return names
        except (ValueError, RecursionError):
            pass
        raise InputError([Problem(str(path), "a list of task types in its metadata", repr(found[0])[:60])])
    return _used_names(path, source, "task_type")


def _used_names(path: str | os.PathLike[str], source: str, column: str | None) -> list[str]:
    """The names in a column, sorted."""
    if column is None:
        return []
    used = _run(path, f"SELECT DISTINCT {column}::VARCHAR AS t FROM {source} WHERE {column} IS NOT NULL ORDER BY t")
    return [str(name) for name in used["t"].tolist()]


def _run(
    path: str | os.PathLike[str], query: str, expected: str = "a table of a workload", **tables: Any
) -> dict[str, Any]:
    """A query's columns; ``tables`` are dicts of arrays. DuckDB's refusals become :class:`InputError`."""
    try:
        with duckdb.connect() as connection:
            for name, columns in tables.items():
                connection.register(name, columns)
            return connection.execute(query).fetchnumpy()
    except RuntimeError as error:
        if "interrupt" in str(error).lower():  # Ctrl-C while DuckDB works
            raise KeyboardInterrupt from None
        raise
    except (duckdb.Error, UnicodeError) as error:
        text = str(error).split("\n")[0]
        raise InputError([Problem(str(path), expected, text)]) from None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _applications(used: list[str]) -> list[str]:
    """The application of each code: applications that are named by numbers keep them."""
    if all(name.isdecimal() and len(name) < 7 for name in used):
        return [str(number) for number in range(max(map(int, used), default=-1) + 1)]
    return used


def _is_numbered(names: Sequence[str]) -> bool:
    return all(name == str(number) for number, name in enumerate(names))


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _list(names: Sequence[str]) -> str:
    return f"CAST([{', '.join(map(_text, names))}] AS VARCHAR[])"


def _literal(path: str) -> str:
    """The path with the characters that DuckDB takes for a pattern in brackets, so that they mean themselves."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)
