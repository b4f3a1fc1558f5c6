"""When requests arrive: a random process whose rate follows a profile or a series of counts.

A profile is the expected number of requests up to each of its times, linear in between. The process runs at rate 1 on
the scale of expected requests, and its points are mapped back to time, so every process works with every profile.
"""

import math
from dataclasses import dataclass

import numpy as np

from vinesim.model.arrays import first_wrong
from vinesim.model.errors import InputError, Problem

PROCESSES = ("poisson", "batch_poisson", "gamma")
MOST_SPIKES = 100_000
STEPS = 16  # per triangular spike
SHAPES = ("rectangular", "triangular")


@dataclass(frozen=True)
class Process:
    """A process of requests: ``poisson``, ``batch_poisson`` or ``gamma``.

    With ``batch_poisson``, requests arrive in bursts of a geometric number, ``burst`` on average. With ``gamma``, the
    times between requests have the coefficient of variation ``cv``.
    """

    kind: str = "poisson"
    burst: float = 1.0
    cv: float = 1.0

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in PROCESSES:
            problems.append(Problem(("process",), "one of " + ", ".join(PROCESSES), repr(self.kind)))
        if not 1 <= self.burst < math.inf:
            problems.append(Problem(("burst",), "a mean size of 1 or more", f"{self.burst}"))
        if not 0 < self.cv < math.inf:
            problems.append(Problem(("cv",), "a number above 0", f"{self.cv}"))
        if problems:
            raise InputError(problems)

    def draw(self, expected: float, rng: np.random.Generator) -> np.ndarray:
        """Return the points of the process at rate 1 in [0, expected), increasing."""
        if self.kind == "batch_poisson":
            bursts = _renewals(expected / self.burst, 1.0, rng) * self.burst
            return np.repeat(bursts, rng.geometric(1.0 / self.burst, len(bursts)))
        return _renewals(expected, 1.0 if self.kind == "poisson" else self.cv, rng)


def _renewals(expected: float, cv: float, rng: np.random.Generator) -> np.ndarray:
    """Return points in [0, expected) with gamma-distributed distances of mean 1; exponential for a cv of 1."""
    shape, pieces, last = 1.0 / cv**2, [np.zeros(0)], 0.0
    while last < expected:
        n = int(expected - last + 6.0 * cv * math.sqrt(expected - last) + 16)
        gaps = rng.standard_exponential(n) if cv == 1.0 else rng.gamma(shape, 1.0 / shape, n)
        pieces.append(last + np.cumsum(gaps))
        last = float(pieces[-1][-1])
    points = pieces[1] if len(pieces) == 2 else np.concatenate(pieces)
    return points[: np.searchsorted(points, expected)]


@dataclass(frozen=True)
class Spikes:
    """``count`` spikes at random times. During a spike, the rate is the normal rate times the spike's height.

    Heights and widths are uniform between their bounds. A triangular spike rises to its height and falls again.
    """

    count: int = 0
    height: tuple[float, float] = (1.25, 1.5)
    width_us: tuple[float, float] = (6e8, 1.8e9)
    shape: str = "rectangular"

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.count <= MOST_SPIKES:
            problems.append(Problem(("spikes",), f"a number from 0 to {MOST_SPIKES:,}", f"{self.count}"))
        for name, (low, high) in (("spike_height", self.height), ("spike_width_us", self.width_us)):
            if not 0 <= low <= high < math.inf:
                problems.append(Problem(name, "finite numbers of 0 or more, low to high", f"{low:g} to {high:g}"))
        if self.shape not in SHAPES:
            problems.append(Problem(("spike_shape",), "one of " + ", ".join(SHAPES), repr(self.shape)))
        if problems:
            raise InputError(problems)

    def profile(self, rate: float, duration_us: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return times, us, and the expected requests up to each, for a normal rate in requests per us.

        Overlapping spikes add up; spikes are cut off at the end.
        """
        at, added = [0.0, duration_us], [0.0, 0.0]
        for _ in range(self.count):
            width = rng.uniform(*self.width_us)
            extra = rate * (rng.uniform(*self.height) - 1.0)
            begin = rng.uniform(0.0, max(0.0, duration_us - width))
            if self.shape == "rectangular":
                edges, heights = np.array([0.0, 1.0]), np.array([1.0])
            else:
                edges = np.linspace(0.0, 1.0, STEPS + 1)
                heights = 1.0 - abs(edges[1:] + edges[:-1] - 1.0)
            change = np.diff(heights, prepend=0.0, append=0.0) * extra
            at += list(begin + edges * width)
            added += list(change)
        order = np.argsort(at, kind="stable")
        times, rates = np.array(at)[order], rate + np.cumsum(np.array(added)[order])
        inside = times <= duration_us
        times, rates = times[inside], rates[inside]
        steps = np.diff(times) * np.maximum(rates[:-1], 0.0)
        return times, np.concatenate(([0.0], np.cumsum(steps)))


def at_profile(profile: tuple[np.ndarray, np.ndarray], process: Process, rng: np.random.Generator) -> np.ndarray:
    """Return increasing arrival times in us of a process whose rate follows a profile."""
    times, expected = profile
    if expected[-1] <= 0.0:
        return np.zeros(0)
    return np.interp(process.draw(float(expected[-1]), rng), expected, times)


def profile_of_counts(begin_us: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the profile of a series of counts, each the requests expected from its time to the next one.

    The last interval is as long as the one before it.
    """
    if len(begin_us) != len(counts) or len(begin_us) < 2:
        raise InputError([Problem(("series",), "two times or more, and a count for each", f"{len(begin_us)}")])
    for what, values, wrong in (
        ("rising times", begin_us, np.diff(begin_us, prepend=-np.inf) <= 0),
        ("counts of 0 or more", counts, ~np.isfinite(counts) | (counts < 0)),
    ):
        if wrong.any():
            raise InputError([Problem(("series",), what, first_wrong(values, wrong))])
    end = begin_us[-1] + (begin_us[-1] - begin_us[-2])
    times = np.append(begin_us, end) - begin_us[0]
    return times, np.concatenate(([0.0], np.cumsum(counts)))
