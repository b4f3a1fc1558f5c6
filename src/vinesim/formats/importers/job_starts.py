"""When the jobs of a log started, as an attribute of a workload: what a back-test holds a policy against."""

from typing import Any

import numpy as np


def started_s(start_s: np.ndarray) -> dict[str, Any]:
    """Return the attribute ``start_s``, for a workload: [J] s after the first arrival; NaN where it is not known."""
    known = np.isfinite(start_s)
    if not known.any():
        return {}
    values, code = np.unique(start_s[known], return_inverse=True)
    codes = np.full(len(start_s), -1, np.int32)
    codes[known] = code
    return {
        "attributes": {"start_s": codes},
        "attribute_words": {"start_s": tuple(f"{value:.15g}" for value in values.tolist())},
    }
