"""Model -> State: allocate the arrays that a run changes, by the table in ``state/arrays.py``."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from vinesim.core.features import Features
from vinesim.model.workload import NO_GANG
from vinesim.state import bit_levels
from vinesim.state.arrays import FIELDS, RUN, SLOT, STATE, Changing, StateArrays, ndim
from vinesim.state.layout import ATTACHED, BLOCK_TOKENS, COLUMNS, FAN, HELD, PENDING, ROOT
from vinesim.state.power import empty_mw
from vinesim.state.shortcuts import is_start_alike

# Kept with the result, in one piece of memory: of several large ones, the C library gives some back to the system when
# a result is freed, and to have those again took a sixth of the time of the next run. The wider columns come first.
OF_RESULT = ("task_init_us", "task_start_us", "task_finish_us", "task_unit")
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


def _n_held(model: Any) -> int:
    return int(model.task_held[-1]) if len(model.task_held) else 0


def _n_shapes(model: Any) -> int:
    return int(model.class_shape.max(initial=-1)) + 1


def _room_follows_from_units(model: Any) -> bool:
    """Whether what nodes have room for follows from their units alone."""
    return _n_shapes(model) > 0 and is_start_alike(model)


def _n_members(model: Any) -> int:
    """The most tasks of a gang."""
    if not len(model.job_gang):
        return 0
    return int(np.diff(model.job_first)[model.job_gang != NO_GANG].max(initial=0))


Size = Callable[[Any], int]
SIZES: dict[str, Size] = {  # the dimensions of the table, each found where an array needs it
    "1": lambda model: 1,
    "2": lambda model: 2,
    "log": lambda model: 0,
    "list": lambda model: 0,
    "N": lambda model: len(model.task_operations),
    "U": lambda model: len(model.unit_type),
    "V": lambda model: len(model.node_rack),
    "P": lambda model: len(model.affinity),
    "P+1": lambda model: len(model.affinity) + 1,
    "G": lambda model: len(model.group_task_type),
    "T": lambda model: len(model.ranking),
    "J": lambda model: len(model.job_arrival_us),
    "H": lambda model: _n_held(model),
    "quotas": lambda model: len(model.quota_limit),
    "pools": lambda model: len(model.cap_mw),
    "buckets": lambda model: BUCKETS,
    "buckets/64": lambda model: BUCKETS // 64,
    "undos": lambda model: 4 * (len(model.task_operations) + _n_held(model)) + 16,
    "changes": lambda model: 1 << len(model.node_rack).bit_length(),
    "heads": lambda model: len(model.task_operations) if len(model.group_task_type) > 1 else 1,
    "E": lambda model: len(model.engine_unit),
    "ends": lambda model: 2 << max(0, len(model.engine_unit) - 1).bit_length(),
    "batch": lambda model: int(model.engine_first[-1]) if len(model.engine_unit) else 0,
    "blocks": lambda model: int(model.type_batching[:, BLOCK_TOKENS].max()) if len(model.engine_unit) else 0,
    "cached": lambda model: int(model.engine_block[-1]) if len(model.engine_unit) else 0,
    "chains": lambda model: len(model.engine_unit) * (int(model.task_prefix.max(initial=-1)) + 1),
    "SP/64": lambda model: _n_shapes(model) * model.class_types.shape[1],
    "V'": lambda model: len(model.node_rack) if _room_follows_from_units(model) else 0,
    "VC": lambda model: len(model.node_rack) * len(model.companion_type),
    "members": lambda model: _n_members(model),
    "room rows": lambda model: _rooms(model)[0],
    "L+C-1": lambda model: _rooms(model)[1],
}


def _words(of: Size, level: int, model: Any) -> int:
    return bit_levels.sizes(of(model))[level]


SIZES |= {
    f"{name}/{part}": partial(_words, SIZES[name], level)
    for name in ("N", "U", "V", "J", "heads")
    for level, part in enumerate(("64", "4096", "64^3"))
}


def _rooms(model: Any) -> tuple[int, int]:
    """The size of the index of nodes: rows for a tree over the nodes, and columns, rounded up."""
    if not len(model.class_units) or model.node_first[-1] <= 0:
        return 0, 0
    n_above, n_leaves = 1, FAN  # rows: the root, and those below it
    while n_leaves < len(model.node_rack):
        n_above, n_leaves = n_above + n_leaves, n_leaves * FAN
    n_columns = len(model.lead_type) + max(0, len(model.companion_type) - 1)
    return ROOT + n_above + n_leaves, -(-n_columns // COLUMNS) * COLUMNS


def build_state(model: Any, features: Features, seed: int, sees_all: bool = False, overcommits: bool = False) -> Any:
    """Return the state before the first event: every unit idle, no job arrived."""
    allocation = _allocation(features)
    sizes = {name: SIZES[name](model) for name in allocation.sizes}
    made = allocation.empty.copy()
    n_tasks, end = len(model.task_operations), 0
    of_result = np.empty(n_tasks * allocation.result_bytes, np.uint8)
    for name, dimensions, dtype, fill in allocation.needed:
        shape = [sizes[size] for size in dimensions]
        if fill == 0:
            made[name] = np.zeros(shape, dtype)
            continue
        if name in OF_RESULT:
            begin, end = end, end + n_tasks * dtype.itemsize
            made[name] = of_result[begin:end].view(dtype)
        else:
            made[name] = np.empty(shape, dtype)
        if fill is not None:
            made[name].fill(fill)
    _begin(made, model, seed)
    made["run"]["sees_all"], made["run"]["overcommits"] = sees_all, overcommits
    if "LATER" not in features:
        made["task_init_us"] = made["task_start_us"]  # it is there as soon as the task has its unit
    return StateArrays._make((*made.values(), *(made["unit"][field] for _, field in FIELDS)))


class Allocation(NamedTuple):
    """What is allocated for a state of some features."""

    empty: dict[str, np.ndarray]  # each array of the table; without elements, all states may share it
    needed: list[tuple[str, list[str], np.dtype, Any]]  # name, dimensions, dtype and fill of those that have elements
    sizes: frozenset[str]  # the dimensions of these
    result_bytes: int  # of a task in its columns that are kept


@cache
def _allocation(features: Features) -> Allocation:
    empty, needed = {}, []
    for row in STATE:
        dtype = _dtype_of(row, features)
        empty[row.name] = np.empty((0,) * ndim(row), dtype)
        if is_needed(row.needs, features):
            size = row.size.replace("slots", "N" if "SLOTS" in features else "U")
            needed.append((row.name, size.split(","), dtype, row.fill))
    sizes = frozenset(size for _, sizes, _, _ in needed for size in sizes)
    return Allocation(empty, needed, sizes, sum(dtype.itemsize for name, _, dtype, _ in needed if name in OF_RESULT))


def _dtype_of(row: Changing, features: Features) -> np.dtype:
    return slot_dtype(features) if isinstance(row.dtype, str) and row.dtype == "SLOT" else np.dtype(row.dtype)


BEGUN = np.zeros(1, RUN)  # as it is before the first event of any run
for _field in (
    "chained",
    "newest",
    "ahead",
    "spare",
    "n_stale",
    "n_changes_seen",
    "n_changes_counted",
    "found_task",
    "refused_task",
    "request_task",
):
    BEGUN[_field] = -1
BEGUN["timer_us"], BEGUN["interrupted_us"] = np.inf, np.nan


def _begin(made: dict[str, np.ndarray], model: Any, seed: int) -> None:
    """Write what is not the same in all elements, or in all runs."""
    run, unit, n_units, n_types = made["run"], made["unit"], len(model.unit_type), len(model.affinity)
    run[0] = BEGUN[0]
    run["n_with_room"], run["random"] = n_units, np.uint64(seed)
    unit["open"], unit["type"], unit["node"] = model.unit_capacity, model.unit_type, model.unit_node
    made["bucket"]["head"] = made["bucket"]["tail"] = -1
    is_free = np.ones((n_types + 1, n_units), bool)  # the last row is of all types
    np.equal(model.unit_type, np.arange(n_types)[:, np.newaxis], out=is_free[:-1])
    made["free"][:], made["free_1"][:], made["free_2"][:] = bit_levels.levels_of_rows(is_free)
    made["lowest"][:] = np.where(is_free.any(axis=1), is_free.argmax(axis=1), n_units)
    if made["free_count"].size:
        np.add.reduceat(is_free, np.arange(0, n_units, 4096), axis=1, dtype=np.int64, out=made["free_count"])
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
        made["group_head"][:] = n_tasks
        made["group_head"][model.task_group[pending[::-1]]] = pending[::-1]  # the first, which is written last
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
