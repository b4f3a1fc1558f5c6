"""Affinity Fa[processor type, task type]: how many operations per us a unit does; 0 means it cannot run the task.

Source: VineSim report, section 4.4 (the mapping), 5.3.1 and 6 (two ways to fill it), Table 1.
"""

import numpy as np

from vinesim.model.errors import InputError, Problem

# Table 1: peak operations per us on INT (first column), then for each task type a factor of that peak.
# Types without a row (CPU_MULTICORE, UNSPECIFIED) and UNSPEC_TASK cannot run: 0.
_TABLE_1 = np.array(
    [
        [100_000, 0.6, 0.6, 0.1, 0.01, 1, 0],
        [500, 0.1, 0.1, 0.01, 0, 1, 0],
        [1_200_000, 0.01, 1, 0.001, 0.001, 0.3, 0],
        [1_000, 0, 0, 0.001, 1e-10, 1000, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]
)


def from_peak(table: np.ndarray) -> np.ndarray:
    """Return the absolute affinity from a table of peak x factor (method 2 of section 6).

    ``table`` is [processor type, task type]; its first column is absolute (operations per us), the others are
    factors of it. Returns operations per us in the same shape.
    """
    absolute = np.array(table, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        absolute[:, 1:] *= absolute[:, :1]
    return check(absolute)


def from_times(times_us: np.ndarray) -> np.ndarray:
    """Return the affinity from measured times of one operation, in us (method 1 of section 6); 0 or NaN: cannot run."""
    times = np.array(times_us, dtype=np.float64)
    affinity = np.zeros_like(times)
    runs = np.isfinite(times) & (times != 0)
    with np.errstate(over="ignore"):
        affinity[runs] = 1.0 / times[runs]
    return check(affinity)


def check(affinity: np.ndarray) -> np.ndarray:
    """Return the table if every value is finite and not negative; otherwise raise :class:`InputError`."""
    bad = np.argwhere(~(np.isfinite(affinity) & (affinity >= 0)))
    if len(bad):
        raise InputError(
            [
                Problem(
                    f"affinity[{p}, {t}]",
                    "a finite number of operations per us, 0 or more",
                    f"{affinity[p, t]:g}",
                    "Use 0 (or '--' in a file) where the type cannot run the task.",
                )
                for p, t in bad
            ]
        )
    return affinity


def table_1() -> np.ndarray:
    """Return the affinity of the built-in processor types for the built-in task types, operations per us (Table 1)."""
    return from_peak(_TABLE_1)
