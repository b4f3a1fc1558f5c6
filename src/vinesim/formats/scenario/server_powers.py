"""The powers in a table of servers: those of the servers' types."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import InputError, Problem

POWERS = ("idle_power", "dynamic_power", "sleep_power")


def powered(
    path: str | os.PathLike[str], columns: Mapping[str, np.ndarray], processor_types: Sequence[ProcessorType]
) -> tuple[ProcessorType, ...]:
    """Return the types with the powers that the columns of a table of servers give them. Raises :class:`InputError`."""
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
