"""The rack view: the allocated share of the units over time, in the finest cells that fit on a page."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.results.place_names import PlaceNames
from vinesim.metrics.activity import Activity
from vinesim.report.rounding import rounded

MAX_CELLS = 10_000
MAX_BYTES = 400_000  # for all matrices, before base64: a page stays below 1 MB
MAX_INTERVALS = 200


def racks_of(run: Activity, type_order: Mapping[int, int], places: PlaceNames) -> dict[str, Any]:
    """Return cells in (rack, shelf) order, with their allocated shares in equal intervals and, if it can differ, their
    active shares.

    Shares are 8-bit fractions of ``scale``, which is 1, or the maximum if units were over-committed. A cell is a unit;
    with more than MAX_CELLS units it is a shelf, a rack, or several racks, without units of types that run nothing.

    Args:
        run: The activity of the run.
        type_order: The position of each processor type's code in the page's list of types.
        places: The names of the nodes and racks.
    """
    units = run.units
    level, cell = _cells(units["rack"], units["shelf"])
    first = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    n_cells = len(first)
    n_intervals = max(1, min(MAX_INTERVALS, MAX_BYTES // n_cells // (1 + run.is_shared)))
    runs_tasks = run.runs_tasks
    group = cell if level == "unit" else np.where(runs_tasks, cell, -1)
    share = run.shares("allocated", group, n_cells, n_intervals)
    scale = max(1.0, float(share.max(initial=0.0)))
    n_units = np.diff(np.r_[first, len(cell)])
    counted = np.bincount(cell, group >= 0)  # units
    capacity = np.bincount(cell, units["capacity"] * (group >= 0))
    view: dict[str, Any] = {
        "level": level,
        "n_units": n_units.tolist() if level != "unit" else None,
        "utilization": rounded(_mean(cell, units["utilization"], units["capacity"] * (group >= 0), capacity), 4),
        "n_intervals": n_intervals,
        "end_us": run.end_us,
        "scale": scale,
        "matrix": _in_8_bits(share / scale),
    }
    if run.is_shared:
        view["capacity"] = rounded(capacity, 7)
        view["active"] = rounded(_mean(cell, units["active"], group >= 0, counted), 4)
        view["active_matrix"] = _in_8_bits(run.shares("active", group, n_cells, n_intervals))
    if not runs_tasks.all():
        view["counted"] = np.bincount(cell, runs_tasks).astype(int).tolist()
    racks, shelves = units["rack"][first], units["shelf"][first]
    if level.startswith("rack"):
        last = units["rack"][np.r_[first[1:], len(cell)] - 1]
        names = [str(a) if a == b else f"{a} to {b}" for a, b in zip(racks.tolist(), last.tolist(), strict=True)]
        return view | {"rack": [0] * n_cells, "racks": [], "shelf": list(range(n_cells)), "shelves": names}
    rack_names, rack = np.unique(racks, return_inverse=True)
    shelf_names, shelf = np.unique(shelves, return_inverse=True)
    view |= {"rack": rack.tolist(), "racks": [places.racks.get(name, name) for name in rack_names.tolist()]}
    view |= {"shelf": shelf.tolist(), "shelves": shelf_names.tolist()}
    if places.nodes:
        view["node"] = [places.nodes.get(at, "") for at in zip(racks.tolist(), shelves.tolist(), strict=True)]
    if level == "unit":
        view["type"] = [type_order[code] for code in units["unit_type"].tolist()]
        view["slot"] = _slots(rack, shelf)
    return view


def _mean(cell: np.ndarray, values: np.ndarray, weight: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the units' values in each cell; 0 if the total weight of a cell, ``sizes``, is 0."""
    return np.bincount(cell, values * weight) / np.where(sizes > 0, sizes, 1.0)


def _in_8_bits(share: np.ndarray) -> str:
    """Encode shares from 0 to 1 as bytes in base64; rounding errors are clipped."""
    return base64.b64encode(np.rint(255 * np.minimum(share, 1.0)).astype(np.uint8).tobytes()).decode("ascii")


def _cells(rack: np.ndarray, shelf: np.ndarray) -> tuple[str, np.ndarray]:
    """Return what a cell is, in words, and [U] the cell of each unit, for units in (rack, shelf) order."""
    if len(rack) <= MAX_CELLS:
        return "unit", np.arange(len(rack))
    new_rack = np.r_[True, rack[1:] != rack[:-1]]
    node = np.cumsum(new_rack | np.r_[True, shelf[1:] != shelf[:-1]]) - 1
    if node[-1] < MAX_CELLS:
        return "shelf", node
    place = np.cumsum(new_rack) - 1
    together = -(-int(place[-1] + 1) // MAX_CELLS)
    return ("rack" if together == 1 else "racks"), place // together


def _slots(rack: np.ndarray, shelf: np.ndarray) -> list[int]:
    """Return the position of each unit on its shelf."""
    starts = np.r_[True, (rack[1:] != rack[:-1]) | (shelf[1:] != shelf[:-1])]
    place = np.arange(len(rack))
    return (place - np.maximum.accumulate(np.where(starts, place, 0))).tolist()
