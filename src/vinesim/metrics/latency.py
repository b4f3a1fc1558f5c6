"""Latency distributions. Source: VineSim report, section 5.2.2 (percentiles of job and task latency)."""

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from vinesim.metrics.record import EVERYTHING, Record
from vinesim.model.run_numbers import QUANTILES

Method = Literal["nearest_rank", "linear"]
METHODS: tuple[str, ...] = get_args(Method)


def quantiles(values: np.ndarray, probabilities: list[float], method: Method = "nearest_rank") -> list[Any]:
    """Return quantiles over the last axis, an array per probability (a number if there is one axis).

    The method is linear interpolation, or nearest rank: the smallest value with at least that share at or below it.
    """
    n = values.shape[-1]
    if method == "nearest_rank":
        ranks = [max(0, math.ceil(n * p - 1)) for p in probabilities]
        ordered = np.partition(values, sorted(set(ranks)), axis=-1)
        return [ordered[..., rank] for rank in ranks]
    places = [(n - 1) * p for p in probabilities]
    below = [math.floor(place) for place in places]
    ordered = np.partition(values, sorted({*below, *(min(rank + 1, n - 1) for rank in below)}), axis=-1)
    found = []
    for place, rank in zip(places, below, strict=True):
        low, high = ordered[..., rank], ordered[..., min(rank + 1, n - 1)]
        found.append(low + (high - low) * (place - rank))
    return found


def distribution(
    values: np.ndarray,
    method: Method = "nearest_rank",
    record: Record = EVERYTHING,
    name: str = "",
    wanted_quantiles: Mapping[str, float] = QUANTILES,
) -> dict[str, Any]:
    """Return mean, percentiles and maximum of the finite values over the last axis; all NaN if there are none.

    ``record`` selects which of them to compute; ``name`` is the prefix of their names.
    """
    wanted = [key for key in ("mean", *wanted_quantiles, "max") if record(f"{name}.{key}")]
    finite = np.isfinite(values)
    if not finite.all():
        if values.ndim > 1:  # the rows have different lengths
            rows = [distribution(row, method, record, name, wanted_quantiles) for row in values]
            return {key: np.array([row[key] for row in rows]) for key in wanted}
        values = values[finite]
    if not values.shape[-1]:
        return {key: np.full(values.shape[:-1], np.nan)[()] for key in wanted}
    asked = [key for key in wanted if key in wanted_quantiles]
    numbers: dict[str, Any] = {}
    if asked:
        found = quantiles(values, [wanted_quantiles[key] for key in asked], method)
        numbers.update(zip(asked, found, strict=True))
    if "mean" in wanted:
        numbers["mean"] = values.mean(axis=-1)
    if "max" in wanted:
        numbers["max"] = values.max(axis=-1)
    return {key: numbers[key] for key in wanted}
