"""The times between arrivals of a Markov-modulated Poisson process (MMPP), and a fit of such a process to given times.

Source: Fischer, Meier-Hellstern, The MMPP cookbook, 1993.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.workloads.distributions import Distribution, TwoExponentials

SHARES = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])  # quantiles at which the distribution functions are compared


@dataclass(frozen=True)
class MmppGaps(Distribution):
    """Times between arrivals of a process, given its mean and, for each state, the relative rate and mean stay."""

    mean: float
    rates: tuple[float, ...]
    stay: tuple[float, ...]  # in the unit of the mean

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rates, the distribution of states at an arrival, and the generator of the time to the next."""
        rates, stay = np.array(self.rates, np.float64), np.array(self.stay, np.float64)
        rates = rates / ((rates * stay).sum() / stay.sum()) / self.mean
        n = len(rates)
        leave = (np.ones((n, n)) - np.eye(n)) / (n - 1) / stay[:, np.newaxis]
        return rates, rates * stay / (rates * stay).sum(), leave - np.diag(rates + 1 / stay)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        _, seen, generator = self._parts()
        until = np.linalg.inv(-generator)
        return self.mean, math.sqrt(2 * float((seen @ until @ until).sum()) / self.mean**2 - 1)

    def correlations(self, lags: Iterable[int]) -> dict[int, float]:
        """Return the autocorrelation of the times at each lag."""
        rates, seen, generator = self._parts()
        until = np.linalg.inv(-generator)  # mean time in each state before an arrival
        after = until @ np.diag(rates)  # state at an arrival -> state at the next one
        variance = (self.mean * self.moments[1]) ** 2
        products = {lag: float((seen @ until @ np.linalg.matrix_power(after, lag) @ until).sum()) for lag in lags}
        return {lag: (product - self.mean**2) / variance for lag, product in products.items()}

    def scipy(self) -> TwoExponentials:
        """Return the distribution of the times, for two states."""
        _, seen, generator = self._parts()
        values, vectors = (found.real for found in np.linalg.eig(-generator))  # real, but NumPy 2.5 returns complex
        weights = (seen @ vectors) * np.linalg.solve(vectors, np.ones(2))
        quick = int(np.argmax(values))
        return TwoExponentials(float(weights[quick]), 1 / float(values[quick]), 1 / float(values[1 - quick]))

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share, for two states."""
        return self.scipy().ppf(share)


def fit_mmpp(gaps: np.ndarray, correlations: Mapping[int, float]) -> MmppGaps | None:
    """Return the process of two states that fits times between arrivals best; None if none fits.

    Its mean is that of the times; its variation, quantiles and autocorrelations are fitted by least squares. No process
    fits times that vary less than exponential ones.
    """
    from scipy.optimize import least_squares

    mean, squared = float(gaps.mean()), float((gaps.std() / gaps.mean()) ** 2)
    lags, at = tuple(correlations), np.quantile(gaps, SHARES)
    if squared <= 1.01:
        return None

    def of(logs: Any) -> MmppGaps:
        ratio, slow, quick = (math.exp(value) for value in logs)
        return MmppGaps(mean, (1.0, 1.0 + ratio), (slow * mean, quick * mean))

    def misfit(logs: Any) -> list[float]:
        made = of(logs)
        found = made.correlations(lags)
        shares = 10 * (made.scipy().cdf(at) - SHARES)
        return [
            math.log(made.moments[1] ** 2 / squared),
            *(10 * (found[lag] - correlations[lag]) for lag in lags),
            *shares,
        ]

    starts = [(math.log(10.0), math.log(slow), math.log(quick)) for slow in (30.0, 1000.0) for quick in (10.0, 300.0)]
    bounds = ([math.log(0.1), 0.0, 0.0], [math.log(1e5), math.log(1e7), math.log(1e7)])
    best = min((least_squares(misfit, start, bounds=bounds) for start in starts), key=lambda found: found.cost)
    return of(best.x) if best.cost < 0.5 else None
