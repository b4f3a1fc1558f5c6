"""Convert attributes of jobs, such as their start times for back-tests, to columns of a workload."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def started_s(start_s: np.ndarray) -> dict[str, Any]:
    """Return the attribute ``start_s`` for a workload: [J] s after the first arrival; NaN if unknown."""
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


def coded(rows: Sequence[Mapping[str, str]]) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Encode attributes as codes and words. Attributes that no job has are left out."""
    codes, words = {}, {}
    for name in dict.fromkeys(name for row in rows for name in row):
        texts = [row.get(name, "") for row in rows]
        known = tuple(sorted(set(texts) - {""}))
        if known:
            number = {text: i for i, text in enumerate(known)} | {"": -1}
            codes[name], words[name] = np.array([number[text] for text in texts], np.int32), known
    return codes, words
