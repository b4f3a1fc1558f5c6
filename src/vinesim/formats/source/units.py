"""The unit in which numbers are shown: the user's, or the largest one in which the largest value is at least 1."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem
from vinesim.model.titles import Title, axis_title

UNITS: Mapping[str, Mapping[str, float]] = {  # a quantity's own unit -> the units to show it in, and their sizes
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6, "d": 86400e6},
    "J": {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9},
    "kWh": {"Wh": 1e-3, "kWh": 1.0, "MWh": 1e3},
    "share": {"share": 1.0, "%": 0.01},
    "g": {"g": 1.0, "kg": 1e3, "t": 1e6},
    "W": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "MB/s": {"MB/s": 1.0, "GB/s": 1e3, "TB/s": 1e6},
    "bytes": {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40},
}
_LARGE = 1e9  # from here on, numbers have an exponent
ON_REQUEST = {"Wh", "kWh", "MWh", "share"}  # units of energy and shares that are used only on request


@dataclass(frozen=True)
class Display:
    """How an axis shows its numbers: its label, and the name and size of its unit."""

    label: str
    unit: str = ""
    size: float = 1.0
    offset: float = 0.0  # the position of 0; for dates, days since 1970
    has_dates: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        """Convert values to the axis's unit."""
        return np.asarray(values, np.float64) / self.size + self.offset


def displayed(title: Title, values: Iterable[float], unit: str | None, where: str, label: str | None = None) -> Display:
    """Return how an axis shows these values, in their ``unit`` if it is given, under their title or the ``label``.

    Raises :class:`InputError` for a unit that the numbers cannot have; ``where`` is the option's name.
    """
    known = UNITS.get(title.unit, {title.unit: 1.0} if title.unit else {})
    if unit is not None and unit not in known:
        expected = f"a unit of {title.words}: {', '.join(known)}" if known else f"no unit: {title.words} has none"
        raise InputError([Problem(where, expected, repr(unit), did_you_mean(unit, known))])
    chosen = unit if unit is not None else _fitting(title.unit, known, values)
    text = title.words if not chosen or chosen == "share" else f"{title.words}, {chosen}"
    return Display(text if label is None else label, chosen, known.get(chosen, 1.0))


def _fitting(own: str, known: Mapping[str, float], values: Iterable[float]) -> str:
    if own == "share":
        return "%"
    array = np.abs(np.array(list(values), np.float64))
    largest = float(array[np.isfinite(array)].max(initial=0.0))
    usual = {name: size for name, size in known.items() if own == "kWh" or name not in ON_REQUEST}
    return max((name for name, size in usual.items() if size <= largest), key=usual.__getitem__, default=own)


def label_text(title: Title, label: Any) -> str:
    """Format a label of an axis; a number has its unit: ``30 min``."""
    (text,), unit = label_texts(title, [label])
    return f"{text} {unit}" if unit and is_number(label) else text


def axis_label(axis: str, label: Any) -> str:
    """Format a label of the axis of a study, or of the choice of a plan, with this name."""
    return label_text(axis_title(axis), label)


def label_texts(title: Title, labels: Sequence[Any]) -> tuple[list[str], str]:
    """Format the labels of an axis for a column of a table; also return the common unit of its numbers."""
    shown = displayed_labels(title, labels)
    return [_digits(label / shown.size) if is_number(label) else _text(label) for label in labels], shown.unit


def displayed_labels(title: Title, labels: Sequence[Any]) -> Display:
    """Return how the labels of an axis are shown: in the largest unit in which all numbers but 0 are at least 1."""
    sizes = [abs(label) for label in labels if is_number(label) and label]
    return displayed(title, [min(sizes)] if sizes else [], None, "")


def is_number(label: Any) -> TypeGuard[int | float]:
    """Whether a label is a number."""
    return isinstance(label, int | float) and not isinstance(label, bool)


def _digits(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < _LARGE else f"{value:g}"


def _text(label: Any) -> str:
    return "-" if label is None else str(label)
