"""The deployment file: ``type x y``, one line per processing unit. Source: VineSim report, section 5.2.1.

``type`` is the processor type's code, ``x`` the rack, ``y`` the shelf; all start at 0.
"""

import os
from collections.abc import Sequence

import numpy as np

from vinesim.formats.papers.columns import read_columns
from vinesim.formats.papers.lines import Column, locate
from vinesim.formats.source.files import replacing
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem

COLUMNS = (Column("type"), Column("x"), Column("y"))
MAX_COORDINATE = 2**31 - 2  # so that the number of racks also fits int32


def read_deployment(
    path: str | os.PathLike[str], processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> Datacenter:
    """Read the datacenter of a deployment file, one unit per line in order. Raises :class:`InputError`."""
    columns = read_columns(path, COLUMNS)
    known = ", ".join(f"{code} {p.name}" for code, p in enumerate(processor_types))
    checks = (
        (len(processor_types) - 1, f"type: one of {known}", "Define the type in a scenario file."),
        (MAX_COORDINATE, f"x: a rack, 0 to {MAX_COORDINATE}", ""),
        (MAX_COORDINATE, f"y: a shelf, 0 to {MAX_COORDINATE}", ""),
    )
    bad = [
        (int(row), field) for field, (top, _, _) in enumerate(checks) for row in np.flatnonzero(columns[field] > top)
    ]
    if bad:
        shown = sorted(bad)[:20]
        problems = [
            Problem(where, checks[field][1], str(columns[field][row]), checks[field][2])
            for where, (row, field) in zip(locate(path, shown), shown, strict=True)
        ]
        raise InputError(problems, len(bad))
    unit_type, rack, shelf = columns
    return Datacenter(unit_type, rack, shelf, tuple(processor_types))


def write_deployment(path: str | os.PathLike[str], datacenter: Datacenter) -> None:
    """Write a deployment file, completely or not at all. Raises :class:`InputError` if it cannot be written."""
    names = ", ".join(f"{code} {p.name}" for code, p in enumerate(datacenter.processor_types))
    rows = zip(datacenter.unit_type.tolist(), datacenter.rack.tolist(), datacenter.shelf.tolist(), strict=True)
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        stream.write(f"# type x y; types: {' '.join(names.split())}\n")
        stream.writelines(f"{unit_type} {rack} {shelf}\n" for unit_type, rack, shelf in rows)
