"""Convert the rows of a sweep, each a run's place in the study and its numbers, to and from Parquet columns."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.source.database import pattern_of, reading
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import OWN_COLUMNS
from vinesim.studies.layout import Kinds, stored_label
from vinesim.studies.run import Run


def columns_of(runs: Sequence[Run], numbers: Mapping[str, Numbers], kinds: Kinds) -> dict[str, np.ndarray]:
    """Return the rows of the runs that have numbers, as columns.

    Columns of numbers are in alphabetical order, and those without any value are left out, so that the columns depend
    only on the runs.
    """
    done = [run for run in runs if run.run_id in numbers]
    columns: dict[str, np.ndarray] = {
        "run_id": np.array([run.run_id for run in done], object),
        "point": np.array([run.point_number for run in done], np.int32),
        "replication": np.array([run.replication for run in done], np.int32),
        "seed": np.array([run.seed for run in done], np.int64),
    }
    for name, kind in kinds.items():
        columns[name] = _labels([run.point[name] for run in done], kind)
    for name in sorted({name for run in done for name in numbers[run.run_id]}):
        values = [numbers[run.run_id].get(name) for run in done]
        if any(isinstance(value, str) for value in values):
            columns[name] = np.array(values, object)
        else:
            column = np.array([np.nan if value is None else value for value in values], np.float64)
            if not np.isnan(column).all():
                columns[name] = column
    return columns


def _labels(labels: Sequence[Any], kind: type) -> np.ndarray:
    if kind is float:
        return np.array([np.nan if label is None else label for label in labels], np.float64)
    return np.array([stored_label(label, kind) for label in labels], object)


def check_columns(names: Iterable[str], axes: Iterable[str] = (), known: dict[str, str] | None = None) -> None:
    """Raise :class:`InputError` for numbers that differ only in case, from each other or from an axis, or have the name
    of an axis: a Parquet file has one column for both. ``known`` has the numbers of other points by their lower case;
    these are added to it."""
    found = {} if known is None else known
    taken = {name.lower(): name for name in (*OWN_COLUMNS, *axes)}
    expected, remedy = "numbers whose names differ, ignoring case, from each other and from axes", "Rename one."
    problems = []
    for name in names:
        lower = name.lower()
        other = taken.get(lower) or found.setdefault(lower, name)
        if other != name or lower in taken:
            problems.append(Problem(("record",), expected, f"{other} and {name}", remedy))
    if problems:
        raise InputError(problems)


def read_rows(files: Sequence[Path]) -> Table:
    """Return the rows of these files in the order of the study; a run in several files appears once.

    Raises :class:`InputError` for files that are not parts of a sweep.
    """
    if not files:
        return Table(columns_of([], {}, {}))
    query = "SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY run_id) = 1 ORDER BY point, replication"
    return Table({name: _plain(values) for name, values in _query(query, files).items()})


def stored_ids(files: Sequence[Path]) -> dict[str, set[str]]:
    """Return the ids of the runs in each file, by the file's name."""
    found: dict[str, set[str]] = {file.name: set() for file in files}
    if files:
        rows = _query('SELECT run_id, parse_filename("run_id.file") AS file FROM rows', files)
        for run_id, file in zip(rows["run_id"].tolist(), rows["file"].tolist(), strict=True):
            found[file].add(run_id)
    return found


def stored_places(files: Sequence[Path]) -> dict[str, tuple[int, int]]:
    """Return the point and the replication of each run in these files, by run id."""
    if not files:
        return {}
    rows = _query("SELECT run_id, point, replication FROM rows", files)
    places = zip(rows["point"].tolist(), rows["replication"].tolist(), strict=True)
    return dict(zip(rows["run_id"].tolist(), places, strict=True))


def number_columns(table: Iterable[str], axes: Iterable[str]) -> list[str]:
    """Return the columns of a table that hold numbers of runs, as opposed to their place in the study."""
    return [name for name in table if name not in {*OWN_COLUMNS, *axes}]


def stored_numbers(files: Sequence[Path], axes: Iterable[str]) -> dict[str, Numbers]:
    """Return the numbers of all runs in these files, by run id; ``axes`` are the columns of the axes."""
    table = read_rows(files)
    columns = {name: table[name].tolist() for name in number_columns(table, axes)}
    found = {}
    for row, run_id in enumerate(table["run_id"].tolist()):
        values = {name: column[row] for name, column in columns.items()}
        found[run_id] = {name: value for name, value in values.items() if value is not None and value == value}
    return found


def _query(query: str, files: Sequence[Path]) -> dict[str, np.ndarray]:
    source = "FROM read_parquet(?, union_by_name = true, filename = 'run_id.file')"  # a name that nothing else has
    text = query.replace("FROM rows", source).replace("SELECT *", 'SELECT * EXCLUDE "run_id.file"')
    with reading(files[0].parent, "Parquet files of a sweep") as connection:
        return connection.execute(text, [[*map(pattern_of, files)]]).fetchnumpy()


def _plain(values: np.ndarray) -> np.ndarray:
    """Return a column without a mask: NULL becomes NaN in numbers, otherwise None."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    column = values.data.astype(object)
    column[mask] = None
    return column
