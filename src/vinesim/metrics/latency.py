"""Latency distributions. Source: VineSim report, section 5.2.2 (percentiles of job and task latency)."""

from typing import Any, Literal, get_args

import numpy as np

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}
Method = Literal["nearest_rank", "linear"]
METHODS: tuple[str, ...] = get_args(Method)


def quantiles(values: np.ndarray, probabilities: list[float], method: Method = "nearest_rank") -> list[float]:
    """Quantiles of a sample: linear, or by nearest rank: the smallest value with at least that share at or below it."""
    numpy_method: Any = "inverted_cdf" if method == "nearest_rank" else "linear"
    return [float(q) for q in np.quantile(values, probabilities, method=numpy_method)]


def distribution(values: np.ndarray, method: Method = "nearest_rank") -> dict[str, float | None]:
    """Mean, percentiles and maximum of the finite values; None for all of them if there is none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return dict.fromkeys(["mean", *QUANTILES, "max"])
    found = quantiles(finite, list(QUANTILES.values()), method)
    return {
        "mean": float(finite.mean()),
        **dict(zip(QUANTILES, found, strict=True)),
        "max": float(finite.max()),
    }
