"""Many runs of one model, one after another, in one call of a kernel.

The kernel is given the address of the event loop that single runs of the policy take. Before each run only what the
previous run changed is reset.
"""

import numpy as np
from numba.core import types

from vinesim.core.features import CONSOLIDATES
from vinesim.jit.calls import caller
from vinesim.jit.intrinsics import copy_bytes
from vinesim.jit.reference import by_reference
from vinesim.state.layout import AT_HORIZON, BROKEN, DROPPED

WHOLE_RUN = 1 << 62  # events
call = caller(types.int64)


def run_block(
    model_arrays,
    state_arrays,
    decide_at,
    options_at,
    scratch_at,
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
        set_back(fresh.changed)
        if not is_clean:
            set_back(fresh.kept)
        is_clean = False
        if arrival_us.shape[0] > 0:
            for job in range(arrival.shape[0]):
                arrival[job] = arrival_us[k, job]
        run = state.run[0]
        run.random = seeds[k]
        limits = (np.float64(horizon_us), np.inf, np.int64(WHOLE_RUN))
        why = call(loop, (model_arrays, state_arrays, decide_at, options_at, scratch_at, *limits))
        columns.run[k] = run
        columns.why[k] = why
        if why == BROKEN:
            return
        is_done = run.n_done == n_tasks
        is_clean = is_done and is_plain(state)
        columns.is_plain[k] = is_clean
        if not is_clean:
            forget(state)
        end_us = np.inf
        if not is_done:
            end_us = horizon_us if why == AT_HORIZON else min(run.now_us, horizon_us)
        keep(state, columns, k, end_us)


def set_back(rows):
    for i in range(rows.shape[0]):
        copy_bytes(rows[i, 0], rows[i, 1], rows[i, 2])


def is_plain(state):
    """Whether every task started on its own."""
    plain = True
    for task in range(state.task_unit.shape[0]):
        plain &= state.task_unit[task] >= 0
        if CONSOLIDATES:
            plain &= state.task_follower[task] < 0
    return plain


def forget(state):
    """Clear the times of tasks that did not start, which come from an earlier run."""
    for task in range(state.task_unit.shape[0]):
        if state.task_unit[task] < 0:
            state.task_init_us[task] = np.nan
            state.task_start_us[task] = np.nan
            if state.task_unit[task] != DROPPED:
                state.task_finish_us[task] = np.nan


def keep(state, columns, k, end_us):
    """Write the run's columns to row k."""
    if columns.task_unit.shape[0] > 0:
        for task in range(state.task_unit.shape[0]):
            columns.task_unit[k, task] = state.task_unit[task]
    if columns.task_init_us.shape[0] > 0:
        copy_all(columns.task_init_us, k, state.task_init_us)
    if columns.task_start_us.shape[0] > 0:
        copy_until(columns.task_start_us, k, state.task_start_us, end_us)
    if columns.task_finish_us.shape[0] > 0:
        copy_until(columns.task_finish_us, k, state.task_finish_us, end_us)
    if CONSOLIDATES and columns.task_follower.shape[0] > 0:
        copy_all(columns.task_follower, k, state.task_follower)


def copy_all(rows, k, values):
    for i in range(values.shape[0]):
        rows[k, i] = values[i]


def copy_until(rows, k, times, end_us):
    """Copy times, without those after the end of the run."""
    for i in range(times.shape[0]):
        rows[k, i] = times[i] if times[i] <= end_us else np.nan
