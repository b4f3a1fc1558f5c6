"""The meaning of a sweep's rows, written into each part, so that parts of another study are recognised."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vinesim.model.python_file import split_file
from vinesim.model.study import Study

Kinds = Mapping[str, type]  # types of the axes' columns: float, bool or str


@dataclass(frozen=True)
class Layout:
    """The columns of the axes, what the column ``point`` counts, and which numbers were kept."""

    kinds: Kinds
    points: str  # hash of the axes' labels in order: 16 hex digits
    record: tuple[str, ...]

    @classmethod
    def of(cls, study: Study) -> Self:
        """Return the layout of a study's rows; it does not depend on the number of replications."""
        kinds = column_kinds(study)
        labels = [
            [[stored_label(label[i], kinds[column]) for label in axis.labels] for i, column in enumerate(axis.columns)]
            for axis in study.axes
        ]
        text = json.dumps([[axis.columns for axis in study.axes], labels])
        return cls(kinds, hashlib.sha256(text.encode()).hexdigest()[:16], tuple(map(_recorded_name, study.record)))

    def header(self, chunk_id: str) -> str:
        """Return the header of the part of a chunk, as JSON."""
        own = {"chunk": chunk_id, "axes": [*self.kinds], "points": self.points, "record": [*self.record]}
        return json.dumps(own, separators=(",", ":"))


def _recorded_name(name: str) -> str:
    """Return an entry of ``record`` as the layout stores it.

    A function loses the folder of its file, which may have been copied: the run ids cover its code.
    """
    file, rest = split_file(name)
    return f"{Path(file).name}{rest}" if file else name


def column_kinds(study: Study) -> Kinds:
    """Return the type of each axis column, from all its labels, so that it is the same in every file."""
    kinds = {}
    for axis in study.axes:
        for i, column in enumerate(axis.columns):
            kinds[column] = _kind([label[i] for label in axis.labels])
    return kinds


def _kind(labels: Sequence[Any]) -> type:
    if all(isinstance(label, bool) for label in labels):
        return bool
    given = [label for label in labels if label is not None]
    is_number = all(isinstance(label, int | float) and not isinstance(label, bool) for label in given)
    return float if given and is_number else str


def stored_label(label: Any, kind: type) -> Any:
    """Convert a label to the type of its column."""
    return None if label is None else kind(label)
