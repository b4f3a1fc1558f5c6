"""A response surface: a ridge regression over the points that were run, to guess which others are worth running.

It only orders points. What is recommended, ruled out or proved comes from runs and bounds alone.
Source: Myers, Montgomery and Anderson-Cook, Response Surface Methodology, 4th edition, chapter 2.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vinesim.plans.candidate import Candidate
from vinesim.plans.screen import Screened
from vinesim.plans.space import Space

RIDGE = 1e-3
FEWEST = 6  # points that must have been run
HIGHEST = 0.98  # loads are cut here, so that waiting times stay finite
DOUBT = 2.0  # how much a predicted miss of a limit counts, in objectives


class Surface:
    """Predicts the objectives, summed with weights, and the worst shortfall of points."""

    def __init__(self, space: Space, screened: Screened):
        self._features = _features(space, screened)
        self._bound = screened.bound

    def order(
        self, points: Sequence[int], candidates: Mapping[int, Candidate], weights: np.ndarray | None = None
    ) -> list[int]:
        """Return the points, the most promising first; ``weights`` [K] are those of the objectives, default the first.

        Each objective is scaled by its mean over the points that were run.
        """
        goals = self._bound.shape[1]
        weights = np.eye(goals)[0] if weights is None else weights
        numbers = np.array(points, np.int64)
        known = [c for c in candidates.values() if not c.why and np.isfinite(c.shortfall) and np.isfinite(c.value())]
        if len(known) < FEWEST:
            keys = np.where(np.isfinite(self._bound[numbers]), self._bound[numbers], 0.0) @ weights
        else:
            rows = np.array([c.point for c in known])
            values = np.array([[c.value(k) for k in range(goals)] for c in known])
            missed = np.array([np.clip(c.shortfall, -1.0, 3.0) for c in known])
            scale = np.maximum(np.abs(values).mean(axis=0), 1e-300)
            fit = _fitted(self._features[rows], np.column_stack([values / scale, missed]))
            *value, shortfall = (self._features[numbers] @ fit).T
            value = np.maximum(np.column_stack(value), self._bound[numbers] / scale)
            keys = value @ weights + DOUBT * np.maximum(0.0, shortfall)
        return [int(numbers[i]) for i in np.lexsort((numbers, keys))]


def _features(space: Space, screened: Screened) -> np.ndarray:
    """Return [points, F]: each choice, its square or its labels, the load, and how fast queues grow with it."""
    columns = [np.ones(space.n)]
    for c, choice in enumerate(space.choices):
        position = space.positions[:, c]
        if choice.is_ordered:
            share = np.maximum(0, position) / max(1, len(choice) - 1)
            columns += [share, share**2, (position < 0).astype(float)]
        else:
            columns += [(position == label).astype(float) for label in range(len(choice))]
    load = np.clip(np.where(np.isfinite(screened.load), screened.load, HIGHEST), 0.0, HIGHEST)
    columns += [load, load**2, load / (1 - load)]
    return np.column_stack(columns)


def _fitted(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the coefficients [F, V] of a ridge regression."""
    penalty = RIDGE * len(features) * np.eye(features.shape[1])
    return np.linalg.solve(features.T @ features + penalty, features.T @ values)
