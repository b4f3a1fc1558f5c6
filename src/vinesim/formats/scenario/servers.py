"""The datacenter as a table with one row per server or group of equal servers: the user's own CSV or Parquet file.

Columns: ``type`` (name of the processor type) and optionally ``count`` (default 1), ``rack`` (default 0) and ``shelf``
(default: the number of units before it, so that units are in the order of the rows).
"""

import os
from collections.abc import Sequence

import numpy as np

from vinesim.formats.source.files import opened
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType, codes_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem

COLUMNS = ("type", "count", "rack", "shelf")
SUFFIXES = (".csv", ".parquet")
MAX_UNITS = 10_000_000


def read_servers(
    path: str | os.PathLike[str], processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> Datacenter:
    """Read the datacenter of a table, units in the order of its rows. Raises :class:`InputError`."""
    columns = _columns(path)
    if "type" not in columns:
        raise InputError([Problem(str(path), "a column type", "only " + ", ".join(columns) or "none")])
    if unknown := [name for name in columns if name not in COLUMNS]:
        expected = "one of " + ", ".join(COLUMNS)
        raise InputError(
            [
                Problem(f"{path}: {name}", expected, repr(name), did_you_mean(name, COLUMNS) or "Remove the column.")
                for name in unknown
            ]
        )
    codes = codes_of(processor_types)
    names = [str(name).strip() for name in columns["type"].tolist()]
    problems = [
        Problem(f"{path}: type[{row}]", "one of " + ", ".join(codes), repr(name), "Define the type first.")
        for row, name in enumerate(names)
        if name not in codes
    ]
    numbers = {}
    for name, least in (("count", 1), ("rack", 0), ("shelf", 0)):
        if name in columns:
            numbers[name] = _whole(path, name, columns[name], least, problems)
    if not names:
        problems.append(Problem(str(path), "at least one row", "none"))
    if problems:
        raise InputError(problems[:20], len(problems))
    count = numbers.get("count", np.ones(len(names), np.int64))
    if count.sum() > MAX_UNITS:
        raise InputError([Problem(f"{path}: count", f"at most {MAX_UNITS:,} units", f"{count.sum():,}")])
    kind = np.repeat([codes[name] for name in names], count)
    rack = np.repeat(numbers["rack"], count) if "rack" in numbers else np.zeros(len(kind), np.int64)
    shelf = np.repeat(numbers["shelf"], count) if "shelf" in numbers else np.arange(len(kind))
    return Datacenter(kind, rack, shelf, tuple(processor_types))


def _columns(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    import duckdb

    with opened(path):
        pass  # reports a missing file, a folder or a missing permission
    reader = "read_csv(?, header = true)" if str(path).lower().endswith(".csv") else "read_parquet(?)"
    try:
        with duckdb.connect() as connection:
            return connection.execute(f"SELECT * FROM {reader}", [str(path)]).fetchnumpy()  # noqa: S608
    except (duckdb.Error, UnicodeError) as error:
        text = str(error).split("\n")[0]
        raise InputError([Problem(str(path), "a CSV or Parquet file with a column type", text)]) from None


def _whole(
    path: str | os.PathLike[str], name: str, values: np.ndarray, least: int, problems: list[Problem]
) -> np.ndarray:
    """Return the column as whole numbers; values that are not, or are too small, are added to the problems."""
    missing = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    is_number = plain.dtype.kind in "iuf"
    bad = missing | (~(np.mod(plain, 1) == 0) | (plain < least) | (plain >= 2**31 - 1) if is_number else True)
    for row in np.flatnonzero(bad)[:20]:
        found = "nothing" if missing[row] else repr(plain[row].item() if is_number else str(plain[row]))
        problems.append(Problem(f"{path}: {name}[{row}]", f"a whole number, {least} or more", found))
    return np.zeros(len(plain), np.int64) if bad.any() else plain.astype(np.int64)
