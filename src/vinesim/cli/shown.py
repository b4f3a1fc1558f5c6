"""How the tables of studies write labels and names; loaded with every command, so it loads little."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def shown_label(axis: str, value: Any) -> str:
    """Write a label of an axis, a number with its unit: ``30 min``."""
    from vinesim.formats.source.units import axis_label
    from vinesim.studies.points import plain

    return axis_label(axis, plain(value))


def short_names(names: list[str], least: int = 1) -> dict[str, str]:
    """Map each name to the shortest ending of ``least`` steps or more that distinguishes it from the others."""
    ends = {
        name: [".".join(name.split(".")[-k:]) for k in range(least, max(least, name.count(".") + 1) + 1)]
        for name in names
    }
    taken = Counter(end for found in ends.values() for end in found)
    return {name: next((end for end in found if taken[end] == 1), name) for name, found in ends.items()}


def axis_columns(labels: Mapping[str, Iterable[Any]], *, is_short: bool) -> dict[str, list[str]]:
    """Return the columns of a table for these axes: labels by what stands above them, the axis's name and the unit.
    Short, the name's last two steps: one alone, such as ``mean`` or ``count``, does not say of what."""
    from vinesim.formats.source.units import label_texts
    from vinesim.model.titles import axis_title
    from vinesim.studies.points import plain

    names = short_names(list(labels), least=2) if is_short else {name: name for name in labels}
    columns = {}
    for axis, values in labels.items():
        texts, unit = label_texts(axis_title(axis), [plain(value) for value in values])
        columns[f"{names[axis]}, {unit}" if unit else names[axis]] = texts
    return columns


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """Map each label to itself, but ``file.py:Class`` to the class if no other label is shown so."""
    short = {label: label.rpartition(":")[2] if ".py:" in label else label for label in labels}
    taken = Counter(short.values())
    return {label: name if taken[name] == 1 else label for label, name in short.items()}
