"""What a regression missed at the points that were run, expected at points like them: kriging.

Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2 and section 5.4.
"""

import numpy as np

REACHES = (0.05, 0.1, 0.2, 0.4, 0.8)  # distances over which values are alike
NUGGET = 1e-3  # share of the variance that is noise


def kriged(places: np.ndarray, missed: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what to expect [n, V] at the ``wanted`` places [n, F], and its standard deviation.

    ``missed`` [m, V] is known at ``places`` [m, F]. Of the reaches, each value gets the one that makes it most likely.
    """
    apart, away = _squared(places, places), _squared(places, wanted)
    found, off = np.zeros((len(wanted), missed.shape[1])), np.zeros((len(wanted), missed.shape[1]))
    for v, values in enumerate(missed.T):
        if not np.ptp(values) > 0:
            continue
        fits = [_fitted(apart, values, reach) for reach in REACHES]
        _, reach, root, half, variance = min(fits, key=lambda fit: fit[0])
        near = np.linalg.solve(root, np.exp(-away / (2 * reach**2)))
        found[:, v] = near.T @ half
        off[:, v] = np.sqrt(variance * np.maximum(0.0, 1 - (near**2).sum(axis=0)))
    return found, off


def _squared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the squared distances [n, m]."""
    return ((one[:, None] - other[None]) ** 2).sum(axis=2)


def _fitted(apart: np.ndarray, values: np.ndarray, reach: float) -> tuple[float, float, np.ndarray, np.ndarray, float]:
    """Return how unlikely values are with a reach, the reach, the root of their correlations, and their variance."""
    root = np.linalg.cholesky(np.exp(-apart / (2 * reach**2)) + NUGGET * np.eye(len(values)))
    half = np.linalg.solve(root, values)
    variance = float(half @ half) / len(values)
    return len(values) * np.log(variance) / 2 + np.log(np.diag(root)).sum(), reach, root, half, variance
