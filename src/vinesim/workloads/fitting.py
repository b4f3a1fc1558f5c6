"""Fit distributions to a sample by maximum likelihood, and measure how far each is from it."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.model.errors import InputError
from vinesim.workloads.distributions import (
    Constant,
    Distribution,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Pareto,
    TwoExponentials,
    Uniform,
    Weibull,
)

TAILS = (0.5, 0.9, 0.99, 0.999)
MAX_SAMPLE = 100_000  # values used for fitting; evenly chosen from a larger sample
POOR = 0.05  # Kolmogorov-Smirnov distance above which a fit is called poor


@dataclass(frozen=True)
class Fitted:
    """A distribution fitted to a sample."""

    name: str
    distribution: Distribution
    aic: float  # Akaike's information criterion; smaller is better
    ks: float  # Kolmogorov-Smirnov distance: largest difference of the distribution functions
    tails: Mapping[float, float]  # quantile -> fitted value / value of the sample - 1


def fit_distributions(values: np.ndarray, names: tuple[str, ...]) -> list[Fitted]:
    """Return the fitted distributions of these names, best first by Akaike's criterion.

    Values of 0, which are outside most of the distributions, count as half of the smallest positive one. A sample of
    equal values is a constant.
    """
    values = np.sort(np.asarray(values, np.float64))
    if values[0] == values[-1]:
        return [Fitted("constant", Constant(float(values[0])), -math.inf, 0.0, dict.fromkeys(TAILS, 0.0))]
    values = positive(values)
    step = -(-len(values) // MAX_SAMPLE)
    sample = values if step == 1 else np.concatenate((values[:1], values[step // 2 :: step], values[-1:]))
    found = []
    for name in names:
        with without_warnings():
            try:
                fitted = _FITS[name](sample)
            except (InputError, ValueError, ArithmeticError):  # no such distribution is near the sample
                continue
            if fitted is not None:
                found.append(judged(name, *fitted, values))
    return sorted((one for one in found if math.isfinite(one.aic)), key=lambda item: item.aic)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings about overflow and underflow: such fits are far from the sample and are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def positive(values: np.ndarray) -> np.ndarray:
    """Return the values with half of the smallest positive one in place of each 0."""
    return np.where(values > 0, values, values[values > 0].min() / 2)


def judged(name: str, distribution: Distribution, n_parameters: int, values: np.ndarray) -> Fitted:
    """Compare a distribution that has ``n_parameters`` fitted parameters with a sorted sample of positive values."""
    same = distribution.scipy()
    aic = 2.0 * n_parameters - 2.0 * float(same.logpdf(values).sum())
    share, n = same.cdf(values), len(values)
    ks = max(float((np.arange(1, n + 1) / n - share).max()), float((share - np.arange(n) / n).max()))
    at = distribution.quantile(np.array(TAILS))
    seen = np.quantile(values, TAILS)
    return Fitted(name, distribution, aic, ks, dict(zip(TAILS, (at / seen - 1).tolist(), strict=True)))


def _exponential(x: np.ndarray) -> tuple[Distribution, int]:
    return Exponential(float(x.mean())), 1


def _gamma(x: np.ndarray) -> tuple[Distribution, int]:
    from scipy import stats

    shape, _, scale = stats.gamma.fit(x, floc=0)
    return Gamma(float(shape * scale), float(shape**-0.5)), 2


def _weibull(x: np.ndarray) -> tuple[Distribution, int]:
    from scipy import stats

    shape, _, scale = stats.weibull_min.fit(x, floc=0)
    mean, variance = stats.weibull_min.stats(shape, scale=scale)
    return Weibull(float(mean), math.sqrt(variance) / float(mean)), 2


def _lognormal(x: np.ndarray) -> tuple[Distribution, int]:
    from scipy import stats

    sigma, _, median = stats.lognorm.fit(x, floc=0)
    return Lognormal(float(median) * math.exp(sigma**2 / 2), math.sqrt(math.expm1(sigma**2))), 2


def _hyperexponential(x: np.ndarray) -> tuple[Distribution, int] | None:
    from scipy.optimize import minimize

    mean, cv = float(x.mean()), float(x.std() / x.mean())
    if cv <= 1.01:
        return None

    def of(logs: Any) -> Hyperexponential:
        return Hyperexponential(math.exp(logs[0]), math.sqrt(1 + math.exp(min(logs[1], 13.0))))

    start = (math.log(mean), math.log(cv**2 - 1))
    best = minimize(lambda logs: -float(of(logs).scipy().logpdf(x).mean()), start, method="Nelder-Mead")
    return of(best.x), 2


@dataclass(frozen=True)
class OnOffGaps(Distribution):
    """Times between arrivals of an interrupted Poisson process, which is on and off in turn.

    The times are independent, and exponential with one of two means. Source: Kuczura, Bell System Technical Journal,
    1973.
    """

    mean: float
    on: float  # mean times, in the unit of the mean
    off: float

    @classmethod
    def of(cls, gaps: TwoExponentials) -> "OnOffGaps":
        """Return the process that has these times between arrivals."""
        one, two = 1 / gaps.small, 1 / gaps.large
        rate = gaps.share * one + (1 - gaps.share) * two
        to_on = one * two / rate
        return cls(gaps.share * gaps.small + (1 - gaps.share) * gaps.large, 1 / (one + two - rate - to_on), 1 / to_on)

    def scipy(self) -> TwoExponentials:
        """Return the distribution of the times."""
        to_off, to_on = 1 / self.on, 1 / self.off
        rate = (self.on + self.off) / self.on / self.mean
        total = rate + to_off + to_on
        root = math.sqrt(total**2 - 4 * rate * to_on)
        one, two = (total + root) / 2, 2 * rate * to_on / (total + root)
        return TwoExponentials((rate - two) / (one - two), 1 / one, 1 / two)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        return self.scipy().ppf(share)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        gaps = self.scipy()
        second = 2 * (gaps.share * gaps.small**2 + (1 - gaps.share) * gaps.large**2)
        return self.mean, math.sqrt(second / self.mean**2 - 1)


def _on_off(x: np.ndarray) -> tuple[Distribution, int] | None:
    from scipy.optimize import minimize

    if float(x.std() / x.mean()) <= 1.01:
        return None

    def of(logs: Any) -> TwoExponentials:
        odds, small, ratio = (math.exp(min(max(value, -30.0), 30.0)) for value in logs)
        return TwoExponentials(odds / (1 + odds), small, small * (1 + ratio))

    high = float(x[int(0.9 * len(x)) :].mean())
    start = (math.log(9.0), math.log(float(np.median(x)) / math.log(2)), math.log(max(high / float(np.median(x)), 2.0)))
    options = {"maxiter": 2000, "xatol": 1e-5, "fatol": 1e-9}
    best = minimize(lambda logs: -float(of(logs).logpdf(x).mean()), start, method="Nelder-Mead", options=options)
    return OnOffGaps.of(of(best.x)), 3


def _pareto(x: np.ndarray) -> tuple[Distribution, int]:
    from scipy.optimize import minimize_scalar

    low, high = float(x[0]) * (1 - 1e-9), float(x[-1]) * (1 + 1e-9)
    logs, width = float(np.log(x / low).mean()), math.log(high / low)

    def loss(log_alpha: float) -> float:
        a = math.exp(log_alpha)
        return -math.log(a) + a * logs + math.log(-math.expm1(-a * width))

    best = minimize_scalar(loss, bounds=(math.log(0.011), math.log(99.0)), method="bounded")
    return Pareto(low, high, math.exp(best.x)), 3


def _uniform(x: np.ndarray) -> tuple[Distribution, int]:
    return Uniform(float(x[0]), float(x[-1])), 2


_FITS: dict[str, Callable[[np.ndarray], tuple[Distribution, int] | None]] = {
    "exponential": _exponential,
    "gamma": _gamma,
    "weibull": _weibull,
    "lognormal": _lognormal,
    "hyperexponential": _hyperexponential,
    "on_off": _on_off,
    "pareto": _pareto,
    "uniform": _uniform,
}
SIZES = tuple(name for name in _FITS if name != "on_off")
