"""Build a workload from the rows of its table, and trace its problems back to rows and columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_after import read_after
from vinesim.formats.scenario.workload_cells import first_rows
from vinesim.formats.scenario.workload_columns import (
    ATTRIBUTE,
    EMPTY,
    GANG_COLUMNS,
    NAMED,
    OF_JOB,
    ONLY_TYPE,
    OPTIONAL,
    TIME_ANYWHERE,
)
from vinesim.formats.source.table_source import TableSource
from vinesim.model.catalog import TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import COLUMNS, Workload


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
    row_of = table.pop("_row")
    texts = {name: table.pop(name) for name in match if ATTRIBUTE.fullmatch(name)}
    after = table.pop("after", None)
    has_times_by_type = any(name.startswith("time_us.") for name in table)
    times_us, problems = _times(source, table, match, row_of, names["preferred_type"])
    columns, empty = _given(source, table, match, row_of)
    problems += empty
    _name_users(columns, names)
    for name in ("task_type", "application"):
        if name in columns:
            nameless = first_rows(row_of, columns[name] < 0)
            problems += source.cells((row, match[name][0], "a name", None) for row in nameless)
    if problems:
        raise InputError(problems)
    job = columns.pop("job", np.arange(len(columns["operations"])))
    ids = job if "job" in match else columns.get("job_id", row_of)
    if after is not None:
        after = np.array([None if cell is np.ma.masked else cell for cell in after], object)
    first = _per_job(source, columns, job, None if after is None else (match["after"][0], after))
    if after is not None:
        columns |= read_after(source, match["after"][0], after[first].tolist(), ids[first], row_of[first])
    attributes, words = _attributes({name: texts[name][first] for name in texts})
    requests = {name.removeprefix("request."): columns.pop(name) for name in match if name.startswith("request.")}
    job_task_type = columns.pop("task_type", None)
    if job_task_type is None:
        job_task_type, task_types = np.zeros(len(first), np.int16), (TaskType(ONLY_TYPE),)
        if has_times_by_type and times_us is not None:
            job_task_type, task_types = _types_by_times(times_us, first, names["preferred_type"])
    try:
        return Workload(
            job_task_type=job_task_type,
            job_first=np.append(first, len(job)),
            task_types=task_types,
            times_us=times_us,
            requests=requests or None,
            **_names_of(names, columns),
            attributes=attributes or None,
            attribute_words=words or None,
            **columns | demands,
        )
    except InputError as error:
        raise InputError([_at_row(source, one, match, row_of, first) for one in error.problems]) from None


def _times(
    source: TableSource,
    table: dict[str, Any],
    match: Mapping[str, tuple[str, float]],
    row_of: np.ndarray,
    processor_names: Sequence[str],
) -> tuple[np.ndarray | None, list[Problem]]:
    """Remove the measured times from a table; return them [N, P], or None without any, and the rows that have none."""
    times = {name: table.pop(name) for name in list(table) if name.startswith("time_us.")}
    anywhere = table.pop(TIME_ANYWHERE, None)
    if not times and anywhere is None:
        return None, []
    times_us = np.full((len(row_of), len(processor_names)), np.nan)
    if anywhere is not None:
        times_us[:] = np.ma.filled(anywhere.astype(np.float64), np.nan)[:, None]
    for name, values in times.items():
        p = processor_names.index(name.removeprefix("time_us."))
        times_us[:, p] = np.ma.filled(values.astype(np.float64), np.nan)
    if anywhere is None:
        return times_us, []
    empty = first_rows(row_of, np.isnan(times_us).all(axis=1))
    return times_us, source.cells((row, match[TIME_ANYWHERE][0], "a time", None) for row in empty)


def _given(
    source: TableSource, table: dict[str, Any], match: Mapping[str, tuple[str, float]], row_of: np.ndarray
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the columns with empty cells replaced by their meaning, and problems for other empty cells."""
    if isinstance(table.get("demand"), np.ma.MaskedArray):
        table["demand"] = table["demand"].filled(np.nan)
    for name, value in EMPTY.items():
        cells = table.get(name)
        if isinstance(cells, np.ma.MaskedArray) and not cells.mask.all():
            table[name] = cells.filled(value)
    columns, problems = {}, []
    for name, values in table.items():
        n_null = int(np.ma.getmaskarray(values).sum()) if isinstance(values, np.ma.MaskedArray) else 0
        if n_null and not (name in OPTIONAL and n_null == len(values)):
            row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
            problems += source.cells([(int(row_of[row]), match[name][0], "a value, or none in all rows", None)])
        elif not n_null:
            columns[name] = np.asarray(values)
    return columns, problems


def _name_users(columns: dict[str, Any], names: dict[str, list[str]]) -> None:
    """Drop applications and users if no job has one, and give jobs without a user one without a name."""
    for name in ("application", "user"):
        if (columns.get(name, np.zeros(1)) < 0).all():
            del columns[name]
    if (nameless := columns.get("user", np.zeros(1)) < 0).any():
        names["user"] = list(dict.fromkeys([*names["user"], ""]))
        columns["user"] = np.where(nameless, names["user"].index(""), columns["user"]).astype(np.int32)


def _per_job(
    source: TableSource, columns: dict[str, Any], job: np.ndarray, after: tuple[str, np.ndarray] | None
) -> np.ndarray:
    """Reduce the columns about jobs to one value per job; return the first row of each job, [J].

    ``after`` is another such column, with its name in the table. Raises :class:`InputError` for jobs out of order, or
    with different values.
    """
    is_first, problems = np.concatenate(([True], job[1:] != job[:-1])), []
    first = np.flatnonzero(is_first)
    if not np.array_equal(job[first], np.arange(len(first))):
        expected = "0, 1, 2 ... with the rows of a job together"
        problems.append(Problem(f"{source.path}: job", expected, "another order"))
    for name in ("task_type", *OF_JOB, *GANG_COLUMNS):
        if name in columns:
            problems += _second_values(source, GANG_COLUMNS.get(name, name), columns[name], is_first)
            columns[name] = columns[name][first]
    if after is not None:
        problems += _second_values(source, *after, is_first)
    if problems:
        raise InputError(problems)
    return first


def _second_values(source: TableSource, column: str, values: np.ndarray, is_first: np.ndarray) -> list[Problem]:
    """Find a row whose value differs from that of the previous row of the same job."""
    differs = np.flatnonzero(~is_first[1:] & (values[1:] != values[:-1])) + 1
    return [Problem(f"{source.path}: {column}[{row}]", "one value per job", "a second one") for row in differs[:1]]


def _names_of(names: Mapping[str, Sequence[str]], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names for the codes of columns, by field; empty for applications given as numbers."""
    given = {name: names.get(name, ()) if name in columns else () for name in NAMED}
    if _is_numbered(given["application"]):
        given["application"] = ()
    return {NAMED[name]: tuple(listed) for name, listed in given.items()}


def _attributes(texts: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Encode the attributes of jobs, given as texts, as codes and words."""
    codes, words = {}, {}
    for column, values in texts.items():
        name = column.removeprefix("attribute.")
        given = np.ma.filled(values.astype(object), "") if isinstance(values, np.ma.MaskedArray) else values
        given = np.array(["" if text is None else str(text) for text in given], object)
        found, code = np.unique(given, return_inverse=True)
        has_none = len(found) > 0 and found[0] == ""
        codes[name], words[name] = code.astype(np.int32) - has_none, tuple(found[has_none:].tolist())
    return codes, words


def _at_row(
    source: TableSource,
    problem: Problem,
    match: Mapping[str, tuple[str, float]],
    row_of: np.ndarray,
    first: np.ndarray,
) -> Problem:
    """Move a problem with a value of the workload to the cell of the table that the value is from, if there is one."""
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


def item_of(problem: Problem, job_first: np.ndarray) -> tuple[str, int] | None:
    """Return the column and the task that a problem with a workload is about; None if it is about neither.

    The column is "" if the problem is not about a single column. For a job, the task is its first.
    """
    if len(problem.path) < 3 or problem.path[0] != "workload" or isinstance(problem.path[-1], str):
        return None
    _, *columns, number = problem.path
    column = "" if columns == ["task"] else ".".join(map(str, columns))
    is_of_job = column in COLUMNS and COLUMNS[column].of == "jobs"
    return column, int(job_first[number]) if is_of_job else int(number)
