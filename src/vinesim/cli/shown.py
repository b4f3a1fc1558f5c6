"""How the tables of studies write labels and names; loaded with every command, so it loads little."""

from collections import Counter
from collections.abc import Iterable
from typing import Any


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


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """Map each label to itself, but ``file.py:Class`` to the class if no other label is shown so."""
    short = {label: label.rpartition(":")[2] if ".py:" in label else label for label in labels}
    taken = Counter(short.values())
    return {label: name if taken[name] == 1 else label for label, name in short.items()}
