"""Which unit finishes a task first, for ``earliest_completion``, where each task takes a whole unit.

The idle units come from the engine's own index. The busy units of a type are in order under a tree over when they are
expected to be ready. What a unit promises depends on the clock by a rounding error, and is later than the tree says if
its task runs longer than expected. So the tree gives a bound, and every unit below the bound is looked at exactly; of
neighbours that are busy with the same for as long, and so promise the same, only the first.
"""

import math
from collections.abc import Mapping
from typing import Any

from vinesim.policies.structures.by_type import BY_TYPE, sort_by_type
from vinesim.policies.structures.min_tree import place_of_least, set_value, size_of_tree
from vinesim.state.expected import planned_end_us
from vinesim.state.layout import OVERFULL
from vinesim.state.queries import demand, first_free, fits, is_up, task_type, transfer_us

READY: Mapping[str, tuple[str, str]] = {
    **BY_TYPE,
    "ready_us": ("f8", "4*units"),  # tree: when each busy unit is expected to be ready, infinite if it is idle or down
    "alike": ("i4", "4*units"),  # tree: 1 + the first place with a busy unit, 0 = none; MIXED if they are not alike
    "tree_size": ("i8", "one"),  # 0 = not built
}
MIXED = -1
ROUNDING = 1e-14  # more than what rounding changes in a sum of a few times, relative to the sum


def busy_for_us(model: Any, state: Any, scratch: Any, unit: int, now_us: float) -> float:
    """Return how long the unit is expected to be busy with what runs on it and is committed to it."""
    busy_us = scratch.busy_us[unit]
    item = int(scratch.running[unit])
    while item > 0:
        left_us = max(0.0, scratch.end_us[item - 1] - now_us)
        busy_us += left_us * share(model, state, item - 1, unit)
        item = int(scratch.next_running[item - 1])
    return busy_us


def share(model: Any, state: Any, task: int, unit: int) -> float:
    """Return the task's demand as a share of the unit."""
    return demand(model, state, task, unit) / model.unit_capacity[unit]


def end_on_us(model: Any, state: Any, scratch: Any, task: int, unit: int, now_us: float) -> float:
    """Return when the unit is expected to finish the task; infinite if it can never hold it, or for no unit, -1."""
    if unit < 0:
        return math.inf
    execution_us = scratch.expected[model.unit_type[unit]]
    if not (execution_us < math.inf and demand(model, state, task, unit) <= state.unit_open[unit] * OVERFULL):
        return math.inf
    begin_us = now_us
    if scratch.first[unit] > 0 or not fits(model, state, task, unit):
        begin_us += busy_for_us(model, state, scratch, unit, now_us)
    return planned_end_us(model, task, begin_us, transfer_us(model, state, task, unit), execution_us)


def build(model: Any, state: Any, scratch: Any) -> None:
    """Sort the units by type, and put all into the tree."""
    n_units, size = len(model.unit_type), size_of_tree(len(model.unit_type))
    scratch.tree_size[0] = size
    sort_by_type(model, scratch)
    for i in range(2 * size):
        scratch.ready_us[i] = math.inf
    for unit in range(n_units):
        note_ready(model, state, scratch, unit)


def note_ready(model: Any, state: Any, scratch: Any, unit: int) -> None:
    """Put into the tree when the unit is expected to be ready."""
    ready_us = math.inf
    if is_up(model, state, unit) and (scratch.running[unit] > 0 or scratch.first[unit] > 0):
        ready_us = scratch.busy_us[unit] + last_end_us(scratch, unit)
    place, size = int(scratch.place[unit]), int(scratch.tree_size[0])
    set_value(scratch.ready_us, size, place, ready_us)
    i = place + size
    scratch.alike[i] = place + 1 if ready_us < math.inf else 0
    while i > 1:
        i >>= 1
        found = of_both(scratch, int(scratch.alike[2 * i]), int(scratch.alike[2 * i + 1]))
        if found == scratch.alike[i] and found != place + 1:
            break
        scratch.alike[i] = found


def of_both(scratch: Any, low: int, high: int) -> int:
    """Return the element of ``alike`` for two neighbouring ones."""
    if low == 0 or high == 0:
        return low + high
    if low == MIXED or high == MIXED:
        return MIXED
    one, other = int(scratch.unit_at[low - 1]), int(scratch.unit_at[high - 1])
    if scratch.busy_us[one] != scratch.busy_us[other] or last_end_us(scratch, one) != last_end_us(scratch, other):
        return MIXED
    return low


def last_end_us(scratch: Any, unit: int) -> float:
    """Return when the task that runs on the unit is expected to end; 0 if none runs."""
    running = int(scratch.running[unit])
    return scratch.end_us[running - 1] if running > 0 else 0.0


def first_to_finish(model: Any, state: Any, scratch: Any, task: int, now_us: float) -> int:
    """Return the unit that is expected to finish the task first, -1 if there is none that is up. The fastest types come
    first, so that slow ones are soon left out."""
    best, own_type = -1, task_type(model, state, task)
    for i in range(model.ranking.shape[1]):
        p = int(model.ranking[own_type, i])
        if p < 0:
            break
        if scratch.expected[p] < math.inf:
            best = better_of_idle(model, state, scratch, task, p, now_us, int(best))
            best = better_of_busy(model, state, scratch, task, p, now_us, int(best))
    return best


def better_of_idle(model: Any, state: Any, scratch: Any, task: int, p: int, now_us: float, best: int) -> int:
    """Return the idle unit of a type that finishes the task first, or ``best`` if that is better."""
    best_us = end_on_us(model, state, scratch, task, best, now_us)
    if now_us + scratch.expected[p] > best_us:
        return best
    has_data = len(model.task_data_bytes) > 0 and model.task_data_bytes[task] > 0.0
    for distance in range(0 if has_data else -1, 3 if has_data else 0):
        unit = first_free(model, state, task, p, distance)
        end_us = end_on_us(model, state, scratch, task, unit, now_us)
        if end_us < best_us or (end_us == best_us and unit < best):
            best, best_us = unit, end_us
    return best


def better_of_busy(model: Any, state: Any, scratch: Any, task: int, p: int, now_us: float, best: int) -> int:
    """Return the same for the busy units."""
    first, end, tree = int(scratch.type_first[p]), int(scratch.type_first[p + 1]), scratch.ready_us
    at = place_of_least(tree, scratch.tree_size[0], first, end)
    best_us, ready_us = end_on_us(model, state, scratch, task, best, now_us), tree[scratch.tree_size[0] + at]
    if no_sooner_than_us(ready_us) + scratch.expected[p] > best_us:
        return best
    unit = int(scratch.unit_at[at])
    end_us = end_on_us(model, state, scratch, task, unit, now_us)
    if end_us < best_us or (end_us == best_us and unit < best):
        best, best_us = unit, end_us
    return first_below(model, state, scratch, task, first, end, now_us, best, best_us)


def no_sooner_than_us(ready_us: float) -> float:
    """Return a bound on the time at which a unit can begin a task, from the time in the tree."""
    return ready_us - abs(ready_us) * ROUNDING if ready_us < math.inf else ready_us


def first_below(
    model: Any, state: Any, scratch: Any, task: int, first: int, end: int, now_us: float, best: int, best_us: float
) -> int:
    """Go through the tree from left to right, leaving out what cannot be better than the best unit so far."""
    n = width = int(scratch.tree_size[0])
    i = 1
    while i > 0:
        low, high = max(i * width - n, first), min(i * width - n + width, end)
        if low < high and may_be_better(model, state, scratch, task, i, low, high, best, best_us):
            place = low if width == 1 else one_for_all(model, state, scratch, task, i, width, low, high)
            if place < 0:
                i, width = 2 * i, width >> 1
                continue
            unit = int(scratch.unit_at[place])
            end_us = end_on_us(model, state, scratch, task, unit, now_us)
            if end_us < best_us or (end_us == best_us and unit < best):
                best, best_us = unit, end_us
        while i & 1:
            i, width = i >> 1, width << 1
        i = i + 1 if i > 0 else 0
    return best


def one_for_all(model: Any, state: Any, scratch: Any, task: int, i: int, width: int, low: int, high: int) -> int:
    """Return the place of a unit that finishes the task as early as all busy ones below element i and comes first; -1
    if it is not known."""
    if high - low < width or scratch.alike[i] == MIXED:
        return -1
    unit, last = int(scratch.unit_at[low]), int(scratch.unit_at[high - 1])
    return int(scratch.alike[i]) - 1 if is_one_tier(model, state, task, unit, last) else -1


def may_be_better(
    model: Any, state: Any, scratch: Any, task: int, i: int, low: int, high: int, best: int, best_us: float
) -> bool:
    """Whether a unit at places low .. high - 1, all of one type and below element i, may finish the task first."""
    ready_us, unit, last = scratch.ready_us[i], int(scratch.unit_at[low]), int(scratch.unit_at[high - 1])
    bound_us, execution_us = no_sooner_than_us(ready_us), scratch.expected[model.unit_type[unit]]
    if bound_us + execution_us > best_us:
        return False
    moving_us = transfer_us(model, state, task, unit) if is_one_tier(model, state, task, unit, last) else 0.0
    bound_us = planned_end_us(model, task, bound_us, moving_us, execution_us)
    return bool(bound_us < best_us or (bound_us == best_us and unit < best))


def is_one_tier(model: Any, state: Any, task: int, unit: int, last: int) -> bool:
    """Whether all units from one to another are at the same tier from the task's data, if it has data."""
    if len(model.task_data_node) == 0:
        return True
    node = int(model.task_data_node[task])
    rack = int(model.node_rack[node])
    near, side = model.node_first, model.rack_first
    leaves_node = unit < near[node] <= last or unit < near[node + 1] <= last
    leaves_rack = unit < side[rack] <= last or unit < side[rack + 1] <= last
    return bool(not (leaves_node or leaves_rack))
