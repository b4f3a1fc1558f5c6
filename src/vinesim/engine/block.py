"""What the kernel for many runs (core/block.py) is given: what it resets before each, and where it writes their
results."""

from typing import Any, NamedTuple

import numpy as np

from vinesim.state.arrays import IF_CUT_OFF, NEVER, RUN, STATE

NOT_RUN = -1


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


def fresh(state: Any, scratch: Any) -> tuple[Fresh, list[np.ndarray]]:
    """Save what the state and the policy's arrays hold now, for resetting them. Returns the copies too: they must be
    there as long as the rows are used."""
    given = [(getattr(state, row.name), row.resets) for row in STATE]
    kept = [array for array, resets in given if resets == IF_CUT_OFF]
    changed = [array for array, resets in given if resets not in (IF_CUT_OFF, NEVER)] + list(scratch)
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
