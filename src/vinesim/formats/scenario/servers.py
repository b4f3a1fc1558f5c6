"""The datacenter as a table with one row per server or per group of equal servers: a CSV or Parquet file.

- ``type``: the name of the processor type. Each server is one unit of its type. All other columns are optional.
- ``name``: the server's name, such as its host name.
- ``count`` (default 1), ``rack`` (default 0) and ``shelf`` (default: the number of servers before it, which keeps the
  order of the rows). Racks may have names; they are numbered in the order in which they first appear.
- ``cores`` or ``capacity``: the server's own capacity. ``memory``: the memory of the node, such as 512 GiB.
- ``units.TYPE``: the number of units of another type at the node, such as ``units.A100``.
- ``idle_power``, ``dynamic_power``, ``sleep_power`` (W): replace those of the server's type, and must be equal for all
  servers of that type.

An empty cell stands for the default, or for none.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.formats.source.database import pattern_of, reading
from vinesim.formats.source.files import opened
from vinesim.formats.source.quantities import MEMORY, amount, size_bytes
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType, codes_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem

POWERS = ("idle_power", "dynamic_power", "sleep_power")
COLUMNS = ("type", "name", "count", "rack", "shelf", "cores", "capacity", "memory", *POWERS)
UNITS = "units."
SUFFIXES = (".csv", ".parquet")
MAX_UNITS = 10_000_000


def read_servers(
    path: str | os.PathLike[str], processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> Datacenter:
    """Read the datacenter of a table, units in the order of its rows. Raises :class:`InputError`."""
    columns, codes = columns_of(path), codes_of(processor_types)
    _check_columns(path, columns, codes)
    names = [str(name).strip() for name in columns["type"].tolist()]
    problems = [
        Problem(f"{path}: type[{row}]", "one of " + ", ".join(codes), repr(name), "Define the type first.")
        for row, name in enumerate(names)
        if name not in codes
    ]
    numbers = {}
    rack_names = _named_racks(columns)
    for name, least in (("count", 1), ("rack", 0), ("shelf", 0)):
        if name in columns:
            numbers[name] = _whole(path, name, columns[name], least, problems)
    others = [(n, _whole(path, n, _filled(columns[n]), 0, problems)) for n in columns if n.startswith(UNITS)]
    sizes = {
        name: _amounts(path, name, columns[name], problems) for name in ("cores", "capacity", MEMORY) if name in columns
    }
    is_cpu = {p.name: p.is_cpu for p in processor_types}
    for row in np.flatnonzero(~np.isnan(sizes["cores"])) if "cores" in sizes else ():
        if not is_cpu.get(names[row], True):
            expected = "cores of a CPU: a type whose name begins with CPU, or with the attribute cores"
            problems.append(Problem(f"{path}: cores[{row}]", expected, f"cores of {names[row]}", "Use capacity."))
    if not names:
        problems.append(Problem(str(path), "at least one row", "none"))
    if problems:
        raise InputError(problems[:20], len(problems))
    count = numbers.get("count", np.ones(len(names), np.int64))
    hosts = _hosts(path, columns, count)
    none = np.full(len(names), np.nan)
    own = sizes.get("cores", sizes.get("capacity", none))
    memory = sizes.get(MEMORY, none)
    # for each row: the type of its units, their capacity, and their number per server
    pieces = [(np.array([codes[name] for name in names]), own, np.ones(len(names), np.int64))]
    pieces += [(np.full(len(names), codes[name.removeprefix(UNITS)]), none, n) for name, n in others]
    if MEMORY in sizes:
        pieces.append((np.full(len(names), codes[MEMORY]), memory, (~np.isnan(memory)).astype(np.int64)))
    n_units = int((sum(n for *_, n in pieces) * count).sum())
    if n_units > MAX_UNITS:
        raise InputError([Problem(f"{path}: count", f"at most {MAX_UNITS:,} units", f"{n_units:,}")])
    server = np.repeat(np.arange(len(names)), count)  # the row of each server
    kind, capacity, of = _units(pieces, server)
    rack = numbers["rack"][server][of] if "rack" in numbers else np.zeros(len(of), np.int64)
    shelf = numbers["shelf"][server][of] if "shelf" in numbers else of
    of_type = np.array([p.capacity for p in processor_types])[kind]
    capacity = np.where(np.isnan(capacity), of_type, capacity)
    return Datacenter(
        kind,
        rack,
        shelf,
        tuple(processor_types),
        capacity=capacity,
        node_names=None if hosts is None else hosts[server][of],
        rack_names=rack_names,
    )


def _units(
    pieces: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], server: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the type, the capacity and the server of each unit, server by server."""
    units = [np.repeat(np.arange(len(server)), n[server]) for *_, n in pieces]
    kind = np.concatenate([kind[server][of] for (kind, _, _), of in zip(pieces, units, strict=True)])
    capacity = np.concatenate([size[server][of] for (_, size, _), of in zip(pieces, units, strict=True)])
    of = np.concatenate(units)
    order = np.argsort(of, kind="stable")
    return kind[order], capacity[order], of[order]


def _check_columns(path: str | os.PathLike[str], columns: Iterable[str], codes: Iterable[str]) -> None:
    """Raise :class:`InputError` for columns that are missing, unknown, or exclude each other."""
    if "type" not in columns:
        raise InputError([Problem(str(path), "a column type", "only " + ", ".join(columns) or "none")])
    known = [*COLUMNS, *(UNITS + name for name in codes)]
    if unknown := [name for name in columns if name not in known]:
        expected = "one of " + ", ".join([*COLUMNS, UNITS + "TYPE"])
        raise InputError(
            [
                Problem(f"{path}: {name}", expected, repr(name), did_you_mean(name, known) or "Remove the column.")
                for name in unknown
            ]
        )
    if {"cores", "capacity"} <= {*columns}:
        raise InputError([Problem(str(path), "a column cores or capacity", "both", "Keep one.")])


def types_with_powers(
    path: str | os.PathLike[str], processor_types: Sequence[ProcessorType]
) -> tuple[ProcessorType, ...]:
    """Return the types with the powers in a table of servers. Raises :class:`InputError` for invalid powers.

    If the table cannot be read, the types are unchanged; the reader of the datacenter reports it.
    """
    try:
        columns = columns_of(path)
    except InputError:
        return tuple(processor_types)
    return powered(path, columns, processor_types)


def _named_racks(columns: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Replace a column of rack names by numbers; return the names, empty if the column has numbers already."""
    racks = columns.get("rack")
    if racks is None or np.ma.getdata(racks).dtype.kind in "iuf" or np.ma.getmaskarray(racks).any():
        return ()
    texts = [str(name).strip() for name in racks.tolist()]
    names = tuple(dict.fromkeys(texts))
    columns["rack"] = np.array([names.index(name) for name in texts], np.int64)
    return names


def _hosts(path: str | os.PathLike[str], columns: dict[str, np.ndarray], count: np.ndarray) -> np.ndarray | None:
    """Return [servers] the names of the servers; None if they have none. Raises :class:`InputError`."""
    if "name" not in columns:
        return None
    values = columns["name"]
    missing = np.ma.getmaskarray(values)
    names = np.array(["" if none else str(name).strip() for name, none in zip(values.tolist(), missing, strict=True)])
    first: dict[str, int] = {}
    problems = []
    for row, name in enumerate(names.tolist()):
        if name and count[row] > 1:
            found = f"{name!r} for {count[row]} servers"
            problems.append(Problem(f"{path}: name[{row}]", "one server of that name", found, "Give each a row."))
        elif name and name in first:
            problems.append(Problem(f"{path}: name[{row}]", "each name once", f"that of row {first[name]}: {name!r}"))
        first.setdefault(name, row)
    if problems:
        raise InputError(problems[:20], len(problems))
    return np.repeat(names, count)


def resources_in(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the resources in a table of servers; empty if it cannot be read, which the datacenter's reader reports."""
    try:
        return (MEMORY,) if MEMORY in columns_of(path) else ()
    except InputError:
        return ()


def _filled(values: np.ndarray) -> np.ndarray:
    """Return a column of counts with 0 in its empty cells."""
    return np.ma.filled(values, 0) if np.ma.getdata(values).dtype.kind in "iuf" else values


def _amounts(path: str | os.PathLike[str], name: str, values: np.ndarray, problems: list[Problem]) -> np.ndarray:
    """Return a column of capacities, NaN where it is empty; invalid ones are added to the problems."""
    read = size_bytes if name == MEMORY else amount
    found = np.full(len(values), np.nan)
    missing = np.ma.getmaskarray(values)
    for row, value in enumerate(np.ma.getdata(values).tolist()):
        if missing[row] or value is None:
            continue
        try:
            found[row] = read(value.strip() if isinstance(value, str) else value, f"{path}: {name}[{row}]")
        except InputError as error:
            problems += error.problems
            continue
        if not found[row] > 0:
            problems.append(Problem(f"{path}: {name}[{row}]", "a value above 0, or an empty cell", f"{value}"))
    return found


def columns_of(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the columns of a table of servers. Raises :class:`InputError`."""
    with opened(path):
        pass  # reports a missing file, a folder or a missing permission
    reader = "read_csv(?, header = true)" if str(path).lower().endswith(".csv") else "read_parquet(?)"
    with reading(path, "a CSV or Parquet file with a column type") as connection:
        return connection.execute(f"SELECT * FROM {reader}", [pattern_of(path)]).fetchnumpy()  # noqa: S608


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


def powered(
    path: str | os.PathLike[str], columns: Mapping[str, np.ndarray], processor_types: Sequence[ProcessorType]
) -> tuple[ProcessorType, ...]:
    """Return the types with the powers from the columns of a table of servers. Raises :class:`InputError`."""
    problems: list[Problem] = []
    found: dict[str, dict[str, Any]] = {}
    names = [str(name).strip() for name in columns["type"].tolist()] if "type" in columns else []
    for column in (name for name in POWERS if name in columns):
        values = columns[column]
        missing = np.ma.getmaskarray(values)
        for row, value in enumerate(np.ma.getdata(values).tolist()):
            if missing[row] or value is None:
                continue
            if isinstance(value, str) or not 0 <= value < np.inf:
                problems.append(Problem(f"{path}: {column}[{row}]", "a power in W, 0 or more", repr(value)))
                continue
            own = found.setdefault(names[row], {}).setdefault(f"{column}_w", float(value))
            if own != value:
                expected = f"one {column} for all servers of the type {names[row]}: {own:g}"
                remedy = "Give servers with other powers their own type."
                problems.append(Problem(f"{path}: {column}[{row}]", expected, f"{value:g}", remedy))
    if problems:
        raise InputError(problems[:20], len(problems))
    return tuple(replace(p, **found[p.name]) if p.name in found else p for p in processor_types)
