"""The units sorted by processor type, then in (rack, shelf) order, in a policy's scratch."""

from collections.abc import Mapping
from typing import Any

BY_TYPE: Mapping[str, tuple[str, str]] = {
    "unit_at": ("i4", "units"),  # the unit at a place
    "place": ("i4", "units"),  # of a unit
    "type_first": ("i8", "types*2"),  # place of the first unit of the type; the type after it tells the end
}


def sort_by_type(model: Any, scratch: Any) -> None:
    """Fill the arrays of BY_TYPE, which hold zeros."""
    n_units, n_types = len(model.unit_type), len(model.affinity)
    for unit in range(n_units):
        scratch.type_first[model.unit_type[unit] + 1] += 1
    for p in range(n_types):
        scratch.type_first[p + 1] += scratch.type_first[p]
    for unit in range(n_units - 1, -1, -1):
        p = int(model.unit_type[unit]) + 1
        scratch.type_first[p] -= 1
        scratch.place[unit] = scratch.type_first[p]
        scratch.unit_at[scratch.place[unit]] = unit
    for p in range(n_types):
        scratch.type_first[p] = scratch.type_first[p + 1]
    scratch.type_first[n_types] = n_units
