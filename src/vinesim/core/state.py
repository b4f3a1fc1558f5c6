"""Model -> State: allocate the arrays that a run changes, by the table in ``state/arrays.py``."""

from functools import cache
from typing import Any

import numpy as np

from vinesim.core.features import Features
from vinesim.model.workload import NO_GANG
from vinesim.state import bit_levels
from vinesim.state.arrays import FIELDS, SLOT, STATE, Changing, StateArrays, ndim
from vinesim.state.layout import ATTACHED, BLOCK_TOKENS, COLUMNS, FAN, HELD, PENDING, ROOT
from vinesim.state.power_caps import empty_mw
from vinesim.state.shortcuts import is_start_alike

BUCKETS = 8 * 256  # of the calendar: a level a byte


@cache
def slot_dtype(features: Features) -> np.dtype:
    """The fields of a slot that these features need."""
    wanted = [(name, kind) for name, kind, needs in SLOT if is_needed(needs, features)]
    return np.dtype(wanted, align=True)


def is_needed(needs: str, features: Features) -> bool:
    """Whether something is there that needs a feature; or that there is none, ``not`` before it."""
    if needs.startswith("not "):
        return needs[4:] not in features
    return not needs or needs in features


def sizes_of(model: Any, features: Features) -> dict[str, int]:
    """The dimensions of the table."""
    n_units, n_tasks, n_nodes = len(model.unit_type), len(model.task_operations), len(model.node_rack)
    n_types, n_groups, n_companions = len(model.affinity), len(model.group_task_type), len(model.companion_type)
    n_held = int(model.task_held[-1]) if len(model.task_held) else 0
    n_heads = n_tasks if n_groups > 1 else 1
    sizes = {
        "0": 0,
        "1": 1,
        "2": 2,
        "N": n_tasks,
        "U": n_units,
        "V": n_nodes,
        "P": n_types,
        "P+1": n_types + 1,
        "G": n_groups,
    }
    sizes |= {"T": len(model.ranking), "H": n_held, "log": 0, "list": 0, "quotas": len(model.quota_limit)}
    sizes["pools"] = len(model.cap_mw)
    sizes |= {"buckets": BUCKETS, "buckets/64": BUCKETS // 64, "slots": n_tasks if "SLOTS" in features else n_units}
    sizes |= {"undos": 4 * (n_tasks + n_held) + 16, "changes": 1 << n_nodes.bit_length()}
    sizes["J"] = len(model.job_arrival_us)
    n_engines = len(model.engine_unit)
    sizes |= {"E": n_engines, "ends": 2 << max(0, n_engines - 1).bit_length()}
    sizes["batch"] = int(model.engine_first[-1]) if n_engines else 0
    sizes["blocks"] = int(model.type_batching[:, BLOCK_TOKENS].max()) if n_engines else 0
    sizes["cached"] = int(model.engine_block[-1]) if n_engines else 0
    sizes["chains"] = n_engines * (int(model.task_prefix.max(initial=-1)) + 1)
    for name, n in (("N", n_tasks), ("U", n_units), ("V", n_nodes), ("J", sizes["J"]), ("heads", n_heads)):
        for power, n_words in enumerate(bit_levels.sizes(n), 1):
            sizes[f"{name}/{64**power}" if power < 3 else f"{name}/64^3"] = n_words
    n_shapes = int(model.class_shape.max(initial=-1)) + 1
    looks_up = n_shapes > 0 and is_start_alike(model)
    sizes |= {
        "SP/64": n_shapes * model.class_types.shape[1],
        "V'": n_nodes if looks_up else 0,
        "VC": n_nodes * n_companions,
    }
    has_gangs = len(model.job_gang) > 0
    sizes["members"] = int(np.diff(model.job_first)[model.job_gang != NO_GANG].max(initial=0)) if has_gangs else 0
    sizes["room rows"], sizes["L+C-1"] = 0, 0
    if len(model.class_units) and model.node_first[-1] > 0:
        sizes["room rows"], sizes["L+C-1"] = _rooms(n_nodes, len(model.lead_type) + max(0, n_companions - 1))
    return sizes


def _rooms(n_nodes: int, n_columns: int) -> tuple[int, int]:
    """The size of the index of nodes: rows for a tree over the nodes, and columns, rounded up."""
    n_above, n_leaves = 1, FAN  # rows: the root, and those below it
    while n_leaves < n_nodes:
        n_above, n_leaves = n_above + n_leaves, n_leaves * FAN
    return ROOT + n_above + n_leaves, -(-n_columns // COLUMNS) * COLUMNS


def build_state(model: Any, features: Features, seed: int, sees_all: bool = False, overcommits: bool = False) -> Any:
    """Return the state before the first event: every unit idle, no job arrived."""
    sizes, made = sizes_of(model, features), {}
    for name, dimensions, dtype, fill in _rows(features):
        shape = [sizes[size] for size in dimensions]
        if fill is None:
            made[name] = np.empty(shape, dtype)
        elif fill == 0:
            made[name] = np.zeros(shape, dtype)
        else:
            made[name] = np.full(shape, fill, dtype)
    _begin(made, model, seed)
    made["run"]["sees_all"], made["run"]["overcommits"] = sees_all, overcommits
    if "LATER" not in features:
        made["task_init_us"] = made["task_start_us"]  # it is there as soon as the task has its unit
    return StateArrays(**made, **fields_of(made["unit"]))


@cache
def _rows(features: Features) -> list[tuple[str, list[str], np.dtype, Any]]:
    """The name, the dimensions, the dtype and the fill of each array; those that these features do not need have no
    elements."""
    rows = []
    for row in STATE:
        dimensions = row.size.split(",")
        if not is_needed(row.needs, features):
            rows.append((row.name, ["0"] * len(dimensions), _dtype_of(row, features), None))
        else:
            rows.append((row.name, dimensions, _dtype_of(row, features), row.fill))
    return rows


def _dtype_of(row: Changing, features: Features) -> np.dtype:
    return slot_dtype(features) if isinstance(row.dtype, str) and row.dtype == "SLOT" else np.dtype(row.dtype)


def fields_of(unit: np.ndarray) -> dict[str, np.ndarray]:
    """Return the views of what is kept of units, which policies read by name."""
    return {name: unit[field] for name, field in FIELDS}


def _begin(made: dict[str, np.ndarray], model: Any, seed: int) -> None:
    """Write what is not the same in all runs."""
    run, unit, n_units, n_types = made["run"], made["unit"], len(model.unit_type), len(model.affinity)
    for name in (
        "chained",
        "newest",
        "ahead",
        "spare",
        "interrupted",
        "n_stale",
        "n_changes_seen",
        "n_changes_counted",
    ):
        run[name] = -1
    run["found_task"] = run["refused_task"] = run["request_task"] = -1
    run["timer_us"], run["interrupted_us"], run["n_with_room"], run["random"] = np.inf, np.nan, n_units, np.uint64(seed)
    unit["open"], unit["type"], unit["node"] = model.unit_capacity, model.unit_type, model.unit_node
    made["bucket"]["head"] = made["bucket"]["tail"] = -1
    free = made["free"], made["free_1"], made["free_2"]
    for row in range(n_types + 1):
        members = np.flatnonzero(model.unit_type == row) if row < n_types else np.arange(n_units)
        bit_levels.fill(free, row, members)
        made["lowest"][row] = members[0] if len(members) else n_units
        if made["free_count"].size:
            made["free_count"][row] = np.bincount(members >> 12, minlength=made["free_count"].shape[1])
    if made["pool_mw"].size:
        made["pool_mw"][:] = made["peak_mw"][:] = empty_mw(model)
    units = first_units(model)
    if units is not None:
        made["task_unit"][:] = units
    n_tasks = len(model.task_operations)
    if made["job_left"].size:
        made["job_left"][:] = np.diff(model.job_first)
        if units is not None and len(model.job_predecessors):
            made["job_waits"][:] = model.job_predecessors
            run["next_job"] = np.argmin(model.job_predecessors > 0)
            run["n_arrived"] = model.job_first[run["next_job"]]
            made["group_head"][:] = np.argmax(units == PENDING)
    if len(model.group_task_type) > 1:
        pending = np.arange(n_tasks) if units is None else np.flatnonzero(units == PENDING)
        found, first = np.unique(model.task_group[pending], return_index=True)
        made["group_head"][:] = n_tasks
        made["group_head"][found] = pending[first]
    if made["node_room"].size:
        made["node_room"][:, : len(model.lead_type)] = -1  # as if no node had room: it is renewed when it is first used


def first_units(model: Any) -> np.ndarray | None:
    """[N] int32: the units of the tasks before the run: PENDING, ATTACHED to the first task of their gang, or HELD as
    their job waits for others; None: all are pending."""
    has_gangs = len(model.job_gang) > 0 and (model.job_gang != NO_GANG).any()
    if not has_gangs and not len(model.job_predecessors):
        return None
    counts = np.diff(model.job_first)
    units = np.full(len(model.task_operations), PENDING, np.int32)
    if has_gangs:
        is_attached = np.repeat(model.job_gang != NO_GANG, counts)
        is_attached[model.job_first[:-1]] = False
        units[is_attached] = ATTACHED
    if len(model.job_predecessors):
        units[np.repeat(model.job_predecessors > 0, counts)] = HELD
    return units


@cache
def layout_of(features: Features) -> list[tuple[Any, int, str, bool]]:
    """The dtype, the number of dimensions, the layout and whether it is read-only, of each array of a state."""
    rows: list[tuple[Any, int, str, bool]] = []
    for row in STATE:
        rows.append((_dtype_of(row, features), ndim(row), "C", False))
    fields = dict(next(row for row in STATE if row.name == "unit").dtype.fields)
    return rows + [(fields[field][0], 1, "A", False) for _, field in FIELDS]
