"""How the tables of studies write numbers, labels and names; loaded with every command, so it loads little."""

import math
from collections import Counter
from typing import Any


def shown_number(name: str, value: float) -> str:
    """Write a number of a run for a table: with its unit, times in three digits, shares as percent."""
    if math.isnan(value):
        return "-"
    from vinesim.formats.source.quantities import format_time_us
    from vinesim.model.titles import number_title

    unit = number_title(name).unit
    if unit == "us":
        return format_time_us(value)
    if unit == "share":
        return f"{value:.1%}"
    text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{text} {unit}".rstrip()


def shown_label(value: Any) -> str:
    """Write a label of an axis for a table."""
    from vinesim.studies.points import plain

    label = plain(value)
    return "-" if label is None else f"{label:g}" if isinstance(label, float) else str(label)


def short_names(names: list[str]) -> dict[str, str]:
    """Map each name to the shortest ending, in whole steps, that distinguishes it from the others."""
    ends = {name: [".".join(name.split(".")[-k:]) for k in range(1, name.count(".") + 2)] for name in names}
    taken = Counter(end for found in ends.values() for end in found)
    return {name: next((end for end in found if taken[end] == 1), name) for name, found in ends.items()}
