"""The price list: ``type price`` per line, the purchase cost of one unit. Source: VineSim report, 5.2.1."""

import os
from collections.abc import Sequence

from vinesim.formats.papers.columns import read_columns
from vinesim.formats.papers.lines import Column, locate
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType
from vinesim.model.errors import InputError, Problem

COLUMNS = (Column("type"), Column("price", is_number=True))


def read_prices(
    path: str | os.PathLike[str], processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> dict[int, float]:
    """Read the price of each processor type by its code; each type may occur once. Raises :class:`InputError`."""
    codes, prices = read_columns(path, COLUMNS)
    known = ", ".join(f"{code} {p.name}" for code, p in enumerate(processor_types))
    result: dict[int, float] = {}
    bad: list[tuple[int, str, str]] = []
    for row, (code, price) in enumerate(zip(codes.tolist(), prices.tolist(), strict=True)):
        if code >= len(processor_types):
            bad.append((row, f"type: one of {known}", "Define the type in a scenario file."))
        elif code in result:
            bad.append((row, "each type once", "Keep one price."))
        else:
            result[code] = price
    if bad:
        places = locate(path, [(row, 0) for row, _, _ in bad[:20]])
        problems = [
            Problem(where, expected, str(codes[row]), remedy)
            for where, (row, expected, remedy) in zip(places, bad, strict=False)
        ]
        raise InputError(problems, len(bad))
    return result
