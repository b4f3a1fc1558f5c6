"""Open a result folder for reading: its summary, and its tables as SQL views."""

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.checksums import SUMS, check_sums
from vinesim.formats.results.folder import CHECKED, STUDY, SUMMARY
from vinesim.formats.results.place_names import PlaceNames
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.database import Connection, QueryError, connected, explained, pattern_of, text_of
from vinesim.formats.source.files import problem_of, read_text
from vinesim.model.columns import LABELS, TABLES, ResultTable
from vinesim.model.errors import InputError, InputWarning, Problem

_KEYS = ("jobs", "tasks", "utilization", "makespan_us", "cost", "energy_j", "exit_reason", "provenance")
_HELD = """
CREATE TEMP VIEW held AS SELECT given.*, amount / capacity AS share FROM ({given}) AS given JOIN units USING (unit)
"""
_OF_TASKS = """
SELECT task, 0 AS segment, unit, 0 AS part, init_us AS begin_us, start_us, finish_us AS end_us,
    CASE WHEN finish_us IS NULL THEN 'unfinished' ELSE 'finished' END AS outcome, {amount} AS amount
FROM tasks JOIN units USING (unit)
"""
_ELIGIBLE = """
ALTER VIEW tasks RENAME TO kept_tasks;
CREATE TEMP VIEW tasks AS SELECT kept_tasks.*, eligible_us FROM kept_tasks JOIN jobs USING (job)
"""
_AT_ARRIVAL = """
ALTER VIEW {name} RENAME TO kept_{name};
CREATE TEMP VIEW {name} AS SELECT *, arrival_us AS eligible_us FROM kept_{name}
"""  # if no job depends on others
_CAPACITIES = "SELECT DISTINCT capacity FROM units"
_RUN_AGAIN = "Write it again with vinesim run --out."
PIECE = 20_000  # rows of a query that are in memory at a time


@dataclass(frozen=True, eq=False)
class ResultTables:
    """The summary, and one SQL view per table.

    The view ``held`` has one row for each time that a task held a unit, from the table ``segments`` if the result has
    one, with the share of the unit that the task held. ``part`` is 0 for the unit that the task ran on, and larger for
    its further units. A missing end means that the task still held the unit when the run ended. Jobs and tasks have a
    column ``eligible_us``, which is the arrival if no job depends on others.
    """

    folder: Path
    summary: dict[str, Any]
    names: frozenset[str]  # the tables in the folder
    is_shared: bool  # whether allocated and active can differ: units hold several tasks, or differ in capacity
    connection: Connection
    _names_of_columns: dict[str, set[str]] = field(default_factory=dict, init=False)  # of tables already requested

    def rows(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises :class:`InputError` if a file is damaged."""
        with _readable(self.folder):
            return self.connection.execute(query, values).fetchall()

    def columns(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> dict[str, np.ndarray]:
        """Return the columns of a query, NaN for NULL in a float column. Raises :class:`InputError` for damage."""
        with _readable(self.folder):
            found = self.connection.execute(query, values).fetchnumpy()
        return {
            name: np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
            for name, values in found.items()
        }

    def table(self, name: str) -> dict[str, np.ndarray] | None:
        """Return all columns of a table, sorted by its key; None if the result lacks it."""
        if name not in self.names:
            return None
        (declared,) = (table for table in TABLES if table.name == name)
        return self.columns(f"SELECT * FROM {name} ORDER BY {declared.key}")  # noqa: S608

    def in_pieces(self, query: str, values: dict[str, Any]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query in lists of limited length, so that few are in memory."""
        with _readable(self.folder):
            cursor = self.connection.execute(query, values)
            while rows := cursor.fetchmany(PIECE):
                yield rows

    @cached_property
    def processor_types(self) -> dict[int, str]:
        """Names of the processor types in use, by code."""
        codes = [code for (code,) in self.rows("SELECT DISTINCT unit_type FROM units ORDER BY 1")]
        names = self.summary["provenance"].get("processor_types")
        if names is None:  # by_type names the types in use in the order of their codes
            by_type = list(self.summary["utilization"]["by_type"])
            names = dict(zip(codes, by_type, strict=True)) if len(by_type) == len(codes) else {}
        return {code: _name(names, code, "type") for code in codes}

    @property
    def kinds_of_labels(self) -> list[str]:
        """The columns of the table of labels, by which jobs can be broken down."""
        if "labels" not in self.names:
            return []
        return [column.name for column in LABELS.columns if column.is_optional and self.has("labels", column.name)]

    @property
    def clock(self) -> Clock:
        """The clock of the run."""
        return Clock.of(self.summary["provenance"].get("start_date"), f"{self.folder / SUMMARY}: start_date")

    def has(self, table: str, column: str) -> bool:
        """Whether a table has this optional column."""
        if table not in self._names_of_columns:
            with _readable(self.folder):
                self._names_of_columns[table] = _column_names(self.connection, table)
        return column in self._names_of_columns[table]

    @cached_property
    def place_names(self) -> PlaceNames:
        """The names of nodes and racks."""
        nodes = self.rows("SELECT DISTINCT rack, shelf, node FROM units") if self.has("units", "node") else []
        racks = self.rows("SELECT DISTINCT rack, rack_name FROM units") if self.has("units", "rack_name") else []
        return PlaceNames({(rack, shelf): name for rack, shelf, name in nodes if name}, dict(racks))

    @property
    def runs_tasks(self) -> np.ndarray:
        """[U] whether the unit's type runs tasks; only such units count in overall figures."""
        names, resources = self.processor_types, self.summary["provenance"].get("resources", ())
        codes = self.columns("SELECT unit_type FROM units ORDER BY unit")["unit_type"]
        return ~np.isin(codes, [code for code, name in names.items() if name in resources])

    @cached_property
    def task_types(self) -> dict[int, str]:
        """Names of the task types in use, by code."""
        codes = [code for (code,) in self.rows("SELECT DISTINCT task_type FROM jobs ORDER BY 1")]
        names = self.summary["provenance"].get("task_types") or {}
        return {code: _name(names, code, "task type") for code in codes}


def _name(names: list[str] | dict[int, str], code: int, what: str) -> str:
    known = code in names if isinstance(names, dict) else 0 <= code < len(names)
    return str(names[code]) if known else f"{what} {code}"


@contextmanager
def open_result(folder: str | Path) -> Iterator[ResultTables]:
    """Open a result folder. Raises :class:`InputError` that lists everything missing or damaged.

    A result without a list of checksums is from an earlier version; reading it gives a warning.
    """
    path = Path(folder)
    _check_kind(path)
    if damaged := _damaged(path):  # damaged files are not opened: DuckDB may crash on them
        raise InputError(damaged)
    problems: list[Problem] = []
    summary = _summary(path, problems)
    with connected() as connection:
        with _readable(path):
            there = [one for one in TABLES if one.is_required or (path / f"{one.name}.parquet").exists()]
            names = [one.name for one in there if _view(connection, path, one, problems)]
            if problems:
                raise InputError(problems)
            has_eligible = "eligible_us" in _column_names(connection, "jobs")
            for name in () if has_eligible else ("jobs", "tasks"):
                connection.execute(_AT_ARRIVAL.format(name=name))
            if has_eligible:
                connection.execute(_ELIGIBLE)
            has_amounts = "amount" in _column_names(connection, "tasks")
            is_shared = has_amounts or len(connection.execute(_CAPACITIES).fetchall()) > 1
            given = _OF_TASKS.format(amount="amount" if has_amounts else "capacity")
            if "segments" in names:
                has_parts = "part" in _column_names(connection, "segments")
                given = "SELECT * FROM segments" if has_parts else "SELECT *, 0 AS part FROM segments"
            connection.execute(_HELD.format(given=given))
        yield ResultTables(path, summary, frozenset(names), is_shared, connection)


def _check_kind(folder: Path) -> None:
    """Raise :class:`InputError` if a folder is not a result; damaged results are reported elsewhere, file by file."""
    if not any((folder / name).exists() for name in (SUMMARY, "tasks.parquet")):
        is_sweep = (folder / STUDY).exists()
        is_there = "none" if folder.is_dir() else "a file" if folder.exists() else "no such folder"
        found = "the folder of a sweep" if is_sweep else is_there
        remedy = "Give the folder of one run." if is_sweep else "vinesim run --out DIR writes one."
        raise InputError([Problem(str(folder), f"a result folder with {SUMMARY}", found, remedy)])


def _damaged(folder: Path) -> list[Problem]:
    """Return the problems of files that changed since they were written."""
    if (folder / SUMS).exists():
        return check_sums(folder, CHECKED, _RUN_AGAIN)
    text = f"{folder} has no {SUMS}: it is read without a check. {_RUN_AGAIN}"
    warnings.warn(text, InputWarning, stacklevel=4)
    return []


def _summary(folder: Path, problems: list[Problem]) -> dict[str, Any]:
    file = folder / SUMMARY
    try:
        found = json.loads(read_text(file))
    except InputError as error:
        problems += error.problems
        return {}
    except RecursionError:
        problems.append(Problem(str(file), "JSON", "too many levels", _RUN_AGAIN))
        return {}
    except json.JSONDecodeError as error:
        problems.append(Problem(f"{file}:{error.lineno}:{error.colno}", "JSON", error.msg, _RUN_AGAIN))
        return {}
    missing = [key for key in _KEYS if key not in found] if isinstance(found, dict) else list(_KEYS)
    if missing:
        problems.append(Problem(str(file), f"the summary of a run with {', '.join(missing)}", "none", _RUN_AGAIN))
    return found if not missing else {}


def _view(connection: Connection, folder: Path, declared: ResultTable, problems: list[Problem]) -> bool:
    """Make a view of a table's file; return False and add a problem if that fails."""
    name = declared.name
    file = folder / f"{name}.parquet"
    try:
        file.open("rb").close()
        source = text_of(pattern_of(file))
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({source})")  # noqa: S608
    except OSError as error:
        problems.append(problem_of(file, f"the table {name} of a result", error))
        return False
    except QueryError as error:
        problems.append(Problem(str(file), "a Parquet file", error.reason, _RUN_AGAIN))
        return False
    there = _column_names(connection, name)
    missing = [column for column in declared.always if column not in there]
    if missing:
        problems.append(Problem(str(file), f"columns {', '.join(missing)}", ", ".join(sorted(there)), _RUN_AGAIN))
    return not missing


def _column_names(connection: Connection, name: str) -> set[str]:
    return {row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()}


def _readable(folder: Path) -> AbstractContextManager[None]:
    return explained(folder, "tables that can be read", _RUN_AGAIN)
