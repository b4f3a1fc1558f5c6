"""A response surface: a ridge regression over the points that were run, to guess which others are worth running.

Kriging corrects the regression: at a point near those that were run, it adds the error expected there. The surface only
orders points. What is recommended, ruled out or proved comes from runs and bounds alone.

Sources: Myers, Montgomery and Anderson-Cook, Response Surface Methodology, 4th edition, chapter 2; for kriging
Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2 and section 5.4.
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
REACHES = (0.05, 0.1, 0.2, 0.4, 0.8)  # distances over which values are alike
NUGGET = 1e-3  # share of the variance that is noise


class Surface:
    """Predicts the objectives, summed with weights, and the worst shortfall of points."""

    def __init__(self, space: Space, screened: Screened):
        self._features = _features(space, screened)
        self._places = _places(self._features)
        self._bound = screened.bound

    def order(
        self, points: Sequence[int], candidates: Mapping[int, Candidate], weights: np.ndarray | None = None
    ) -> list[int]:
        """Return the points, the most promising first; ``weights`` [K] of the objectives, default the first alone."""
        goals = self._bound.shape[1]
        weights = np.eye(goals)[0] if weights is None else weights
        numbers = np.array(points, np.int64)
        rows, seen = self._seen(candidates)
        if len(rows) < FEWEST:
            keys = np.where(np.isfinite(self._bound[numbers]), self._bound[numbers], 0.0) @ weights
        else:
            scale = np.append(np.maximum(np.abs(seen[:, :goals]).mean(axis=0), 1e-300), 1.0)
            *value, shortfall = (self._features[numbers] @ _fitted(self._features[rows], seen / scale)).T
            value = np.maximum(np.column_stack(value), self._bound[numbers] / scale[:goals])
            keys = value @ weights + DOUBT * np.maximum(0.0, shortfall)
        return [int(numbers[i]) for i in np.lexsort((numbers, keys))]

    def predicted(
        self, points: Sequence[int], candidates: Mapping[int, Candidate]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the objectives [n, K] and the worst shortfall [n] of points, and how far these are off [n, K + 1].

        What the regression misses at points that were run is expected at points like them too (kriging).
        """
        numbers, goals = np.array(points, np.int64), self._bound.shape[1]
        bound = self._bound[numbers]
        rows, seen = self._seen(candidates)
        if len(rows) < FEWEST:
            return np.where(np.isfinite(bound), bound, 0.0), np.zeros(len(numbers)), np.zeros((len(numbers), goals + 1))
        is_known = (seen[:, :goals] == self._bound[rows]).all(axis=0)
        is_log = np.append((seen[:, :goals] > 0).all(axis=0), False)
        with np.errstate(invalid="ignore", divide="ignore"):
            wanted = np.where(is_log, np.log(seen), seen)
        fit = _fitted(self._features[rows], wanted)
        found, off = kriged(self._places[rows], wanted - self._features[rows] @ fit, self._places[numbers])
        found += self._features[numbers] @ fit
        low = np.where(is_log, np.exp(found - off), found - off)
        found = np.where(is_log, np.exp(found), found)
        off = found - low
        found[:, :goals] = np.where(is_known, bound, np.maximum(found[:, :goals], bound))
        off[:, :goals] = np.where(is_known, 0.0, off[:, :goals])
        return found[:, :goals], found[:, goals], off

    def _seen(self, candidates: Mapping[int, Candidate]) -> tuple[np.ndarray, np.ndarray]:
        """Return the points [m] whose runs have numbers, and their objectives and worst shortfall, [m, K + 1]."""
        known = [c for c in candidates.values() if not c.why and np.isfinite(c.shortfall) and np.isfinite(c.value())]
        goals = range(self._bound.shape[1])
        table = [[*(c.value(k) for k in goals), np.clip(c.shortfall, -1.0, 3.0)] for c in known]
        return np.array([c.point for c in known], np.int64), np.array(table).reshape(len(known), len(goals) + 1)


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


def _places(features: np.ndarray) -> np.ndarray:
    """Return the features with a range of 1 each, for distances."""
    low, width = features.min(axis=0), np.ptp(features, axis=0)
    return (features - low) / np.where(width > 0, width, 1.0)


def kriged(places: np.ndarray, missed: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what to expect [n, V] at the ``wanted`` places [n, F], and its standard deviation.

    ``missed`` [m, V] is known at ``places`` [m, F]. Of the reaches, each value gets the one that makes it most likely.
    """
    apart, away = _squared(places, places), _squared(places, wanted)
    found, off = np.zeros((len(wanted), missed.shape[1])), np.zeros((len(wanted), missed.shape[1]))
    for v, values in enumerate(missed.T):
        if not np.ptp(values) > 0:
            continue
        fits = [_of_reach(apart, values, reach) for reach in REACHES]
        _, reach, root, half, variance = min(fits, key=lambda fit: fit[0])
        near = np.linalg.solve(root, np.exp(-away / (2 * reach**2)))
        found[:, v] = near.T @ half
        off[:, v] = np.sqrt(variance * np.maximum(0.0, 1 - (near**2).sum(axis=0)))
    return found, off


def _squared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the squared distances [n, m]."""
    return ((one[:, None] - other[None]) ** 2).sum(axis=2)


def _of_reach(
    apart: np.ndarray, values: np.ndarray, reach: float
) -> tuple[float, float, np.ndarray, np.ndarray, float]:
    """Return how unlikely values are with a reach, the reach, the root of their correlations, and their variance."""
    root = np.linalg.cholesky(np.exp(-apart / (2 * reach**2)) + NUGGET * np.eye(len(values)))
    half = np.linalg.solve(root, values)
    variance = float(half @ half) / len(values)
    return len(values) * np.log(variance) / 2 + np.log(np.diag(root)).sum(), reach, root, half, variance
