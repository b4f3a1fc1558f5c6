"""Many runs of one model, one after another, in one call of a kernel.

The kernel is given the address of the event loop that single runs of the policy take. Before each run only what the
previous run changed is reset: a run that finished leaves the event queue empty, and all its tasks' times are
overwritten.
"""

from typing import Any, NamedTuple

import numpy as np

from vinesim.engine.contract import AT_HORIZON, BROKEN
from vinesim.engine.slot import call_loop
from vinesim.state.by_reference import by_reference
from vinesim.state.kernel import copy_bytes, kernel
from vinesim.state.layout import PENDING, RUN, State

NOT_RUN = -1
WHOLE_RUN = 1 << 62  # events
KEPT = {  # what a finished run leaves unchanged, or what the next run writes before it reads it
    "task_init_us",
    "task_start_us",
    "task_finish_us",
    "queue_head",
    "queue_tail",
    "queue_min_us",
    "queue_used",
    "queue_next",
    "queue_previous",
    "work_due",
    "work_next",
}


class Fresh(NamedTuple):
    """Arrays that runs change, and what they held before the first run. A row for each array: the address of its bytes,
    that of a copy, and how many there are."""

    changed: np.ndarray  # [A, 3] int64: by every run
    kept: np.ndarray  # [B, 3] int64: only by runs that did not finish all tasks


class Columns(NamedTuple):
    """What is kept of each of K runs; a task column that is not wanted has no rows."""

    task_unit: np.ndarray  # [K, N] int32, or [0, N]
    task_init_us: np.ndarray  # [K, N] float64, or [0, N]
    task_start_us: np.ndarray
    task_finish_us: np.ndarray
    task_follower: np.ndarray  # [K, N] int32, or [0, N]
    run: np.ndarray  # [K] of RUN
    why: np.ndarray  # [K] int64: why the loop stopped; NOT_RUN before
    is_plain: np.ndarray  # [K] bool: all tasks started and finished, none consolidated


TASK_COLUMNS = Columns._fields[:5]
WHOLE = ("task_unit", "task_follower")  # of them, int32; the others are float64


def fresh(state: State, scratch: Any) -> tuple[Fresh, list[np.ndarray]]:
    """Save what the state and the policy's arrays hold now, for resetting them. Returns the copies too: they must be
    there as long as the rows are used."""
    arrays = {name: getattr(state, name) for name in State._fields}
    changed = [array for name, array in arrays.items() if name not in KEPT] + list(scratch)
    kept = [array for name, array in arrays.items() if name in KEPT]
    copies = [[array.copy() for array in some] for some in (changed, kept)]
    rows = [
        [(one.ctypes.data, copy.ctypes.data, one.nbytes) for one, copy in zip(*both, strict=True)]
        for both in zip((changed, kept), copies, strict=True)
    ]
    return Fresh(*(np.array(some, np.int64).reshape(-1, 3) for some in rows)), [*copies[0], *copies[1]]


def columns(n_runs: int, n_tasks: int, wanted: set[str]) -> Columns:
    """Allocate columns for a number of runs."""
    made = {
        name: np.empty((n_runs if name in wanted else 0, n_tasks), np.int32 if name in WHOLE else np.float64)
        for name in TASK_COLUMNS
    }
    return Columns(
        **made, run=np.empty(n_runs, RUN), why=np.full(n_runs, NOT_RUN, np.int64), is_plain=np.zeros(n_runs, bool)
    )


@kernel
def _set_back(rows):
    for i in range(rows.shape[0]):
        copy_bytes(rows[i, 0], rows[i, 1], rows[i, 2])


@kernel
def _is_plain(state):
    """Whether every task started on its own."""
    plain = True
    for task in range(state.task_unit.shape[0]):
        plain &= (state.task_unit[task] >= 0) & (state.task_follower[task] < 0)
    return plain


@kernel
def _forget(state):
    """Clear the times of tasks that did not start, which come from an earlier run."""
    for task in range(state.task_unit.shape[0]):
        if state.task_unit[task] < 0:
            state.task_init_us[task] = np.nan
            state.task_start_us[task] = np.nan
            state.task_finish_us[task] = np.nan


@kernel
def _copy(rows, k, values):
    for i in range(values.shape[0]):
        rows[k, i] = values[i]


@kernel
def _copy_until(rows, k, times, end_us):
    """Copy times, without those after the end of the run."""
    for i in range(times.shape[0]):
        rows[k, i] = times[i] if times[i] <= end_us else np.nan


@kernel
def _keep(state, columns, k, end_us):
    """Write the run's columns to row k."""
    if columns.task_unit.shape[0] > 0:
        for task in range(state.task_unit.shape[0]):
            columns.task_unit[k, task] = max(state.task_unit[task], PENDING)  # a dropped task did not start
    if columns.task_init_us.shape[0] > 0:
        _copy(columns.task_init_us, k, state.task_init_us)
    if columns.task_start_us.shape[0] > 0:
        _copy_until(columns.task_start_us, k, state.task_start_us, end_us)
    if columns.task_finish_us.shape[0] > 0:
        _copy_until(columns.task_finish_us, k, state.task_finish_us, end_us)
    if columns.task_follower.shape[0] > 0:
        _copy(columns.task_follower, k, state.task_follower)


def run_block(
    model_arrays,
    state_arrays,
    options,
    scratch_arrays,
    may_overcommit,
    sees_every_event,
    horizon_us,
    arrival,
    arrival_us,
    seeds,
    fresh,
    columns,
    loop,
):
    """Run once for each seed, with the arrivals of its row if there is one; the model reads them from ``arrival``.

    Stops after a run in which the policy broke its contract.
    """
    model, state = by_reference(model_arrays), by_reference(state_arrays)
    n_tasks, is_clean = model.task_operations.shape[0], False
    for k in range(seeds.shape[0]):
        _set_back(fresh.changed)
        if not is_clean:
            _set_back(fresh.kept)
        is_clean = False
        if arrival_us.shape[0] > 0:
            for job in range(arrival.shape[0]):
                arrival[job] = arrival_us[k, job]
        run = state.run[0]
        run.random = seeds[k]
        why = call_loop(
            loop,
            model_arrays,
            state_arrays,
            options,
            scratch_arrays,
            may_overcommit,
            sees_every_event,
            horizon_us,
            np.inf,
            WHOLE_RUN,
        )
        columns.run[k] = run
        columns.why[k] = why
        if why == BROKEN:
            return
        is_done = run.n_done == n_tasks
        is_plain = is_done and _is_plain(state)
        is_clean = is_plain
        columns.is_plain[k] = is_plain
        if not is_plain:
            _forget(state)
        if is_done:
            _keep(state, columns, k, np.inf)
        else:
            _keep(state, columns, k, horizon_us if why == AT_HORIZON else min(run.now_us, horizon_us))
