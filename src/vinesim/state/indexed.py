"""The queries of ``state/queries.py``, answered from the indexes: this is what a compiled policy calls.

Each function here and in the other files ``indexed_*`` is the compiled form of the query of the same name and must give
the same answer; property tests compare the two over whole runs.
"""

from typing import Any

import numpy as np

import vinesim.state.indexed_closest
import vinesim.state.indexed_least_busy
import vinesim.state.indexed_nodes
import vinesim.state.indexed_random
import vinesim.state.indexed_room
import vinesim.state.indexed_tasks  # noqa: F401
from vinesim.state import queries, skew_heap
from vinesim.state.compiled_form import compiled_form_of
from vinesim.state.demand import amount_of
from vinesim.state.kernel import has_speed_curves
from vinesim.state.layout import DROP, MOVE, NOTHING, PREEMPT, START, Action

# These bodies work in both engines: the queries that they call are answered from the indexes here.
for same in (
    queries.arrival_us,
    queries.bounded,
    queries.consolidated_us,
    queries.deadline_us,
    queries.has_left,
    queries.has_room,
    queries.has_room_for,
    queries.is_up,
    queries.meets_on_type,
    queries.operations,
    queries.room,
    queries.started_us,
    queries.throughput,
    queries.transfer_us,
):
    compiled_form_of(same)(same)


@compiled_form_of(queries.nothing)
def nothing():
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), np.inf)


@compiled_form_of(queries.wait_until)
def wait_until(time_us):
    return Action(np.int64(NOTHING), np.int64(-1), np.int64(0), np.int64(-1), float(time_us))


# Of what names a task or a unit, ``| 0`` is a whole number, and the compiler refuses a float.


@compiled_form_of(queries.start)
def start(task, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


@compiled_form_of(queries.start_consolidated)
def start_consolidated(task, count, unit):
    return Action(np.int64(START), np.int64(task | 0), np.int64(count | 0), np.int64(unit | 0), np.inf)


@compiled_form_of(queries.drop)
def drop(task):
    return Action(np.int64(DROP), np.int64(task | 0), np.int64(0), np.int64(-1), np.inf)


@compiled_form_of(queries.preempt)
def preempt(task):
    return Action(np.int64(PREEMPT), np.int64(task | 0), np.int64(1), np.int64(-1), np.inf)


@compiled_form_of(queries.move)
def move(task, unit):
    return Action(np.int64(MOVE), np.int64(task | 0), np.int64(1), np.int64(unit | 0), np.inf)


def all_alike(model: Any, unit: int) -> bool:
    return False


compiled_form_of(queries.has_speed_curves, without=all_alike, where=has_speed_curves)(queries.has_speed_curves)


for _function, _inline in (
    (amount_of, True),
    (skew_heap.comes_before, True),
    (skew_heap.join, False),
    (skew_heap.without_root, True),
):
    compiled_form_of(_function, _inline)(_function)
