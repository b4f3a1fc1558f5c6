"""How the tables of studies write labels and names; loaded with every command, so it loads little."""

from collections import Counter
from collections.abc import Iterable
from typing import Any


def shown_label(value: Any) -> str:
    """Write a label of an axis for a table."""
    from vinesim.studies.points import plain

    label = plain(value)
    return "-" if label is None else f"{label:g}" if isinstance(label, float) else str(label)


def short_names(names: list[str], least: int = 1) -> dict[str, str]:
    """Map each name to the shortest ending of ``least`` steps or more that distinguishes it from the others."""
    ends = {
        name: [".".join(name.split(".")[-k:]) for k in range(least, max(least, name.count(".") + 1) + 1)]
        for name in names
    }
    taken = Counter(end for found in ends.values() for end in found)
    return {name: next((end for end in found if taken[end] == 1), name) for name, found in ends.items()}


def axis_headers(names: list[str], *, is_short: bool) -> list[str]:
    """Return what a table writes above each axis: its name and the unit of its labels. Short, the name's last two
    steps: one alone, such as ``mean`` or ``count``, does not say of what."""
    from vinesim.model.titles import axis_title

    shown = short_names(names, least=2) if is_short else {name: name for name in names}
    return [f"{shown[name]}, {unit}" if (unit := axis_title(name).unit) else shown[name] for name in names]


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """Map each label to itself, but ``file.py:Class`` to the class if no other label is shown so."""
    short = {label: label.rpartition(":")[2] if ".py:" in label else label for label in labels}
    taken = Counter(short.values())
    return {label: name if taken[name] == 1 else label for label, name in short.items()}
