"""Distributions of sizes and of times between arrivals, given by parameters that people know, such as the mean.

``draw`` inverts the distribution function, so that one stream of uniform numbers gives comparable values under other
parameters (common random numbers). ``Gamma`` and ``Hyperexponential`` draw directly, because their inverses are slow.
Source of the formulas: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, 1994.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.model.arrays import first_wrong
from vinesim.model.errors import InputError, Problem

MAX_CV = 1000.0
MIN_CV = 0.001


class Distribution(ABC):
    """A distribution of non-negative numbers."""

    @abstractmethod
    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the quantile of each share, which is at least 0 and below 1."""

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation (standard deviation / mean)."""

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return ``n`` independent values."""
        return self.quantile(rng.random(n))

    def scipy(self) -> Any:
        """Return this distribution as one of ``scipy.stats``, for densities and tails."""
        raise NotImplementedError


class OfMean(Distribution):
    """A distribution given by its mean and its coefficient of variation."""

    mean: float
    cv: float
    least_cv = MIN_CV

    def __post_init__(self) -> None:
        problems = _not_positive(self)
        if not problems and not self.least_cv <= self.cv <= MAX_CV:
            problems.append(Problem(("cv",), f"a number from {self.least_cv:g} to {MAX_CV:g}", f"{self.cv:g}"))
        _raise(problems)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        return self.mean, self.cv


@dataclass(frozen=True)
class Constant(Distribution):
    """Always one value."""

    value: float

    def __post_init__(self) -> None:
        if not 0 <= self.value < math.inf:
            _raise([Problem(("value",), "a finite number, 0 or more", f"{self.value:g}")])

    def __str__(self) -> str:
        return f"{self.value:g}"

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value for every share."""
        return np.full(len(share), self.value)

    @property
    def moments(self) -> tuple[float, float]:
        """The value, and 0."""
        return self.value, 0.0


@dataclass(frozen=True)
class Uniform(Distribution):
    """Every value from ``low`` to ``high`` is equally likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < math.inf:
            _raise([_low_high(self.low, self.high)])

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        return self.low + (self.high - self.low) * share

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        mean = (self.low + self.high) / 2
        return mean, (self.high - self.low) / math.sqrt(12) / mean

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.uniform``."""
        from scipy import stats

        return stats.uniform(self.low, self.high - self.low)


@dataclass(frozen=True)
class Exponential(Distribution):
    """The exponential distribution, which is memoryless; its coefficient of variation is 1."""

    mean: float

    def __post_init__(self) -> None:
        _raise(_not_positive(self))

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        return -self.mean * np.log1p(-share)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and 1."""
        return self.mean, 1.0

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.expon``."""
        from scipy import stats

        return stats.expon(scale=self.mean)


@dataclass(frozen=True)
class Gamma(OfMean):
    """More regular than exponential for a ``cv`` below 1, burstier above 1; its tail is exponential."""

    mean: float
    cv: float

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return ``n`` independent values."""
        shape = 1.0 / self.cv**2
        return rng.gamma(shape, self.mean / shape, n)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        from scipy.special import gammaincinv

        shape = 1.0 / self.cv**2
        return gammaincinv(shape, share) * (self.mean / shape)

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.gamma``."""
        from scipy import stats

        shape = 1.0 / self.cv**2
        return stats.gamma(shape, scale=self.mean / shape)


@dataclass(frozen=True)
class Weibull(OfMean):
    """Times between failures and, with a ``cv`` above 1, sizes with a tail heavier than exponential."""

    mean: float
    cv: float
    least_cv = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cv > 50:
            _raise([Problem(("cv",), "a number from 0.01 to 50", f"{self.cv:g}")])

    @cached_property
    def shape(self) -> float:
        """The shape parameter that gives the ``cv``."""
        from scipy.optimize import brentq
        from scipy.special import gammaln

        def excess(log_shape: float) -> float:
            k = math.exp(log_shape)
            return gammaln(1 + 2 / k) - 2 * gammaln(1 + 1 / k) - math.log1p(self.cv**2)

        return math.exp(brentq(excess, math.log(0.05), math.log(1e4), xtol=1e-14))

    @cached_property
    def scale(self) -> float:
        """The scale parameter that gives the mean."""
        return self.mean / math.gamma(1 + 1 / self.shape)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        return self.scale * (-np.log1p(-share)) ** (1 / self.shape)

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.weibull_min``."""
        from scipy import stats

        return stats.weibull_min(self.shape, scale=self.scale)


@dataclass(frozen=True)
class Lognormal(OfMean):
    """The logarithm is normal: many small values and a few that are much larger."""

    mean: float
    cv: float

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.cv**2))

    @property
    def median(self) -> float:
        """The median of the distribution."""
        return self.mean / math.sqrt(1 + self.cv**2)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        from scipy.special import ndtri

        return self.median * np.exp(self.sigma * ndtri(share))

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.lognorm``."""
        from scipy import stats

        return stats.lognorm(self.sigma, scale=self.median)


@dataclass(frozen=True)
class Hyperexponential(OfMean):
    """Exponential with one of two means, each of which makes up half of the total ("balanced means"); ``cv`` > 1."""

    mean: float
    cv: float
    least_cv = 1.0

    @property
    def share(self) -> float:
        """Share of the values with the smaller mean."""
        return 0.5 * (1 + math.sqrt((self.cv**2 - 1) / (self.cv**2 + 1)))

    @property
    def means(self) -> tuple[float, float]:
        """The smaller and the larger mean."""
        return self.mean / (2 * self.share), self.mean / (2 * (1 - self.share))

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return ``n`` independent values; this is faster than the inverse."""
        is_small = rng.random(n) < self.share
        return rng.standard_exponential(n) * np.where(is_small, *self.means)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        return self.scipy().ppf(share)

    def scipy(self) -> "TwoExponentials":
        """Return it as a mixture of two exponential distributions."""
        return TwoExponentials(self.share, *self.means)


@dataclass(frozen=True)
class Pareto(Distribution):
    """A power law between two bounds: the share above x falls as x to the power of -``alpha``, up to ``high``."""

    low: float
    high: float
    alpha: float

    def __post_init__(self) -> None:
        problems = [] if 0 < self.low < self.high < math.inf else [_low_high(self.low, self.high, "above 0")]
        if not 0.01 <= self.alpha <= 100:
            problems.append(Problem(("alpha",), "a number from 0.01 to 100", f"{self.alpha:g}"))
        _raise(problems)

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        within = -math.expm1(-self.alpha * math.log(self.high / self.low))
        return np.minimum(self.low * (1 - share * within) ** (-1 / self.alpha), self.high)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        one, two = self._moment(1), self._moment(2)
        return one, math.sqrt(max(0.0, two / one**2 - 1))

    def _moment(self, k: int) -> float:
        ratio, a = self.high / self.low, self.alpha
        within = -math.expm1(-a * math.log(ratio))
        power = math.log(ratio) if k == a else math.expm1((k - a) * math.log(ratio)) / (k - a)
        return a * self.low**k / within * power

    def scipy(self) -> Any:
        """Return it as ``scipy.stats.truncpareto``."""
        from scipy import stats

        return stats.truncpareto(self.alpha, self.high / self.low, scale=self.low)


@dataclass(frozen=True, eq=False)
class Empirical(Distribution):
    """The values of a sample, each as likely as its weight says; without ``weights`` all are equally likely."""

    values: Sequence[float] | np.ndarray
    weights: Sequence[float] | np.ndarray | None = None  # relative

    def __post_init__(self) -> None:
        values = np.asarray(self.values, np.float64).ravel()
        weights = np.ones(len(values)) if self.weights is None else np.asarray(self.weights, np.float64).ravel()
        problems = []
        if not len(values) or not (np.isfinite(values) & (values >= 0)).all():
            problems.append(
                Problem(("values",), "at least one number, all finite and 0 or more", f"{len(values)} numbers")
            )
        elif len(weights) != len(values):
            problems.append(Problem(("weights",), f"{len(values)} numbers, one per value", f"{len(weights)}"))
        elif not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
            wrong = ~np.isfinite(weights) | (weights < 0)
            found = first_wrong(weights, wrong) if wrong.any() else "all 0"
            problems.append(Problem(("weights",), "finite numbers of 0 or more, not all 0", found))
        _raise(problems)
        order = np.argsort(values, kind="stable")
        object.__setattr__(self, "values", values[order])
        object.__setattr__(self, "weights", weights[order] / weights.sum())

    def quantile(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share."""
        ends = np.cumsum(np.asarray(self.weights))
        at = np.searchsorted(ends, share * ends[-1], side="right")
        return np.asarray(self.values)[np.minimum(at, len(ends) - 1)]

    @property
    def moments(self) -> tuple[float, float]:
        """The mean, and the coefficient of variation."""
        values = np.asarray(self.values)
        mean = float(np.average(values, weights=self.weights))
        variance = float(np.average((values - mean) ** 2, weights=self.weights))
        return mean, math.sqrt(variance) / mean if mean > 0 else 0.0


@dataclass(frozen=True)
class TwoExponentials:
    """An exponential time of mean ``small`` with probability ``share``, otherwise of mean ``large``.

    It has the methods of a ``scipy.stats`` distribution, because that package has no mixtures.
    """

    share: float
    small: float
    large: float

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function."""
        return -self.share * np.expm1(-x / self.small) - (1 - self.share) * np.expm1(-x / self.large)

    def logpdf(self, x: np.ndarray) -> np.ndarray:
        """Return the logarithm of the density."""
        return np.log(
            self.share / self.small * np.exp(-x / self.small) + (1 - self.share) / self.large * np.exp(-x / self.large)
        )

    def ppf(self, share: np.ndarray) -> np.ndarray:
        """Return the value of each share, by Newton's method on the logarithm of the survival function.

        That function is concave in the value, so the steps approach the solution from below.
        """
        target = -np.log1p(-np.asarray(share))
        x = target / (self.share / self.small + (1 - self.share) / self.large)
        for _ in range(100):
            one, two = self.share * np.exp(-x / self.small), (1 - self.share) * np.exp(-x / self.large)
            survival = one + two
            step = (target + np.log(survival)) * survival / (one / self.small + two / self.large)
            x = x + step
            if not (np.abs(step) > 1e-13 * x).any():
                break
        return x


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "constant": Constant,
    "uniform": Uniform,
    "exponential": Exponential,
    "gamma": Gamma,
    "weibull": Weibull,
    "lognormal": Lognormal,
    "hyperexponential": Hyperexponential,
    "pareto": Pareto,
    "empirical": Empirical,
}


def _not_positive(item: Any) -> list[Problem]:
    return [
        Problem(field.name, "a finite number above 0", f"{value:g}")
        for field in fields(item)
        if not 0 < (value := getattr(item, field.name)) < math.inf
    ]


def _low_high(low: float, high: float, least: str = "of 0 or more") -> Problem:
    return Problem(("low",), f"finite numbers {least}, low below high", f"{low:g} and {high:g}")


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise InputError(problems)
