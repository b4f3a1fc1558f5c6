"""How evenly users are served. Source: Jain, Chiu and Hawe, DEC-TR-301, 1984 (the index)."""

from typing import Any

import numpy as np


def jain(values: np.ndarray) -> Any:
    """Return Jain's index of non-negative values over the last axis.

    It is 1 if all values are equal, and 1 / n if only one of n is not 0. VineSim gives 1 if all are 0.
    """
    squares = (values**2).sum(axis=-1)
    index = values.sum(axis=-1) ** 2 / (values.shape[-1] * np.where(squares > 0, squares, 1.0))
    return np.where(squares > 0, index, 1.0)[()]


def fairness(slowdown: np.ndarray, user: np.ndarray) -> dict[str, Any]:
    """Return the number of users with a finished job, Jain's index of their mean slowdowns, and the largest of these.

    ``slowdown`` is [..., J], NaN for jobs without one; ``user`` is [J], negative for jobs without a user.
    """
    if slowdown.ndim > 1:  # the rows may lack different users
        rows = [fairness(row, user) for row in slowdown]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}
    counts = np.isfinite(slowdown) & (user >= 0)
    n = np.bincount(user[counts])
    means = np.bincount(user[counts], slowdown[counts])[n > 0] / n[n > 0]
    if not len(means):
        return {"users": 0, "jain": np.nan, "worst_slowdown": np.nan}
    return {"users": len(means), "jain": jain(means), "worst_slowdown": means.max()}
