"""A workload as one Parquet file, one row a task, for VineSim and for any other tool that reads Parquet.

The columns are declared in ``COLUMNS``. A job's values repeat on each of its tasks; absent ones are null. Types are
written by name. The file's metadata holds the list of task types, so that codes come back the same.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through _text
import json
import os
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from vinesim.formats.files import opened, replacing
from vinesim.model.catalog import ANY_PROCESSOR, PROCESSOR_TYPES, ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import NO_PREFERENCE, Workload

# name: (Parquet type, meaning and unit)
COLUMNS = {
    "job": ("BIGINT", "the job, from 0 in order of arrival; its rows are next to one another"),
    "job_id": ("BIGINT", "the job's number in its own source; null where it has none"),
    "task_type": ("VARCHAR", "name of the task type; one a job"),
    "arrival_us": ("DOUBLE", "when the job arrives, us"),
    "deadline_us": ("DOUBLE", "when it should be done, us; null where nobody gave deadlines"),
    "application": ("INTEGER", "the application the job belongs to; null where nobody gave applications"),
    "operations": ("DOUBLE", "number of operations of the task"),
    "data_bytes": ("DOUBLE", "bytes to move to the unit"),
    "data_rack": ("INTEGER", "where the data is"),
    "data_shelf": ("INTEGER", "where the data is"),
    "preferred_type": ("VARCHAR", "name of the processor type; null or UNSPECIFIED: any"),
    "demand": ("DOUBLE", "share of the unit's capacity, 0: all of it; null where nobody gave demands"),
}
_OF_JOB = ("job_id", "arrival_us", "deadline_us", "application")
_OPTIONAL = ("job_id", "deadline_us", "application", "demand")
_UNKNOWN = -2  # code of a name that is no type
_METADATA = "vinesim.task_types"


def write_workload(
    path: str | os.PathLike[str], workload: Workload, processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> None:
    """Write a workload: whole or not at all. Raises :class:`InputError` if it cannot be written."""
    counts = np.diff(workload.job_first)
    tasks: dict[str, Any] = {"job": np.repeat(np.arange(workload.n_jobs), counts)}
    for name in COLUMNS:
        values = getattr(workload, name, None)
        if values is not None:
            tasks[name] = np.repeat(values, counts) if name in _OF_JOB else values
    tasks["task_type"] = np.repeat(workload.job_task_type, counts).astype(np.int64)
    tasks["preferred_type"] = tasks["preferred_type"].astype(np.int64)
    task_names = [t.name for t in workload.task_types]
    names = {"task_type": task_names, "preferred_type": [p.name for p in processor_types]}
    select = []
    for name, (kind, _) in COLUMNS.items():
        if name in names:  # a list counts from 1; outside it is null
            select.append(f"{_list(names[name])}[{name} + 1] AS {name}")
        else:
            select.append(f"{name if name in tasks else 'NULL'}::{kind} AS {name}")
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
) -> Workload:
    """Read what :func:`write_workload` wrote, or any Parquet file with its columns (optional ones may be left out).

    ``task_types`` is by default the file's own list. Raises :class:`InputError`.
    """
    with opened(path):
        pass  # for its messages: no file, a folder, no permission
    source = f"read_parquet({_text(_literal(str(path)))})"
    described = _run(path, f"DESCRIBE SELECT * FROM {source}")
    present = dict(zip(described["column_name"].tolist(), described["column_type"].tolist(), strict=True))
    missing = [name for name in COLUMNS if name not in present and name not in _OPTIONAL]
    if missing:
        needed = "the columns " + ", ".join(name for name in COLUMNS if name not in _OPTIONAL)
        raise InputError([Problem(str(path), needed, "no " + ", ".join(missing), "Write it with vinesim import.")])
    if task_types is None:
        task_types = [TaskType(name) for name in _task_names(path, source)]
    names = {"task_type": [t.name for t in task_types], "preferred_type": [p.name for p in processor_types]}
    select = []
    for name, (kind, _) in COLUMNS.items():
        if name in names:
            position = f"list_position({_list(names[name])}, {name}::VARCHAR) - 1"
            any_type = f"OR {name} = '{ANY_PROCESSOR}'" if name == "preferred_type" else ""
            code = f"CASE WHEN {name} IS NULL {any_type} THEN {NO_PREFERENCE} ELSE coalesce({position}, {_UNKNOWN}) END"
            select.append(f"({code})::INTEGER AS {name}")
        elif name in present:
            select.append(f"{name}::{kind} AS {name}")
    table = _run(path, f"SELECT {', '.join(select)} FROM {source}")
    return _to_workload(path, table, names, tuple(task_types), source)


def _to_workload(
    path: str | os.PathLike[str],
    table: dict[str, Any],
    names: dict[str, list[str]],
    task_types: tuple[TaskType, ...],
    source: str,
) -> Workload:
    columns: dict[str, np.ndarray] = {}
    problems = []
    for name, values in table.items():
        n_null = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
        if n_null and not (name in _OPTIONAL and n_null == len(values)):
            row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
            problems.append(Problem(f"{path}: {name}[{row}]", "a value", "null"))
        elif not n_null:
            columns[name] = np.asarray(values)
    for name in names:
        least = 0 if name == "task_type" else NO_PREFERENCE
        for row in np.flatnonzero(columns[name] < least)[:5]:
            found = _run(path, f"SELECT {name}::VARCHAR AS v FROM {source} LIMIT 1 OFFSET {int(row)}")["v"].tolist()[0]
            expected = "one of " + ", ".join(names[name])
            problems.append(Problem(f"{path}: {name}[{row}]", expected, repr(found), "Define the type first."))
    if problems:
        raise InputError(problems)
    job = columns.pop("job")
    if not len(job):
        raise InputError([Problem(str(path), "at least one row", "none")])
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
    job_task_type = columns.pop("task_type")
    return Workload(job_task_type=job_task_type, job_first=np.append(first, len(job)), task_types=task_types, **columns)


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
    used = _run(path, f"SELECT DISTINCT task_type::VARCHAR AS t FROM {source} WHERE task_type IS NOT NULL ORDER BY t")
    return [str(name) for name in used["t"].tolist()]


def _run(
    path: str | os.PathLike[str], query: str, expected: str = "a Parquet file of a workload", **tables: Any
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


def _list(names: list[str]) -> str:
    return f"CAST([{', '.join(map(_text, names))}] AS VARCHAR[])"


def _literal(path: str) -> str:
    """The path with the characters that DuckDB takes for a pattern in brackets, so that they mean themselves."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)
