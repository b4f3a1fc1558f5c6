"""What the rows of a sweep mean: written into each of its parts, so that parts of another study are told apart."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from vinesim.model.study import Study

Kinds = Mapping[str, type]  # of the axes' columns: float, bool or str


@dataclass(frozen=True)
class Layout:
    """The columns of the axes, what `point` counts, and which numbers were kept."""

    kinds: Kinds
    points: str  # hash of the axes' labels in their order: 16 hex digits
    record: tuple[str, ...]

    @classmethod
    def of(cls, study: Study) -> Self:
        """The layout of a study's rows; how many replications there are makes no difference."""
        kinds = column_kinds(study)
        labels = [
            [[stored_label(label[i], kinds[column]) for label in axis.labels] for i, column in enumerate(axis.columns)]
            for axis in study.axes
        ]
        text = json.dumps([[axis.columns for axis in study.axes], labels])
        return cls(kinds, hashlib.sha256(text.encode()).hexdigest()[:16], tuple(study.record))

    def header(self, chunk_id: str) -> str:
        """What a part tells of itself, as JSON; ``chunk_id`` is its name."""
        own = {"chunk": chunk_id, "axes": [*self.kinds], "points": self.points, "record": [*self.record]}
        return json.dumps(own, separators=(",", ":"))


def column_kinds(study: Study) -> Kinds:
    """What the columns of the axes hold, by all their labels, so that it is the same in every file."""
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
    """A label as a part holds it."""
    return None if label is None else kind(label)
