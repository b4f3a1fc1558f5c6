"""Arrival rates that change: at random between states, or in a cycle of days and weeks.

Both transform the times of a process with a steady rate into those of a process with a changing rate and the same mean:
each time moves to the point at which the integral of the new rate reaches it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.time import US_PER_HOUR

DAY_US = 24 * US_PER_HOUR
MOST_STAYS = 10_000_000  # the most changes of state, unless 10 per arrival are more


@dataclass(frozen=True)
class States:
    """A Markov process of two or more states, each with a relative rate and an exponential stay of a given mean.

    Each other state follows with equal probability. Source: Fischer, Meier-Hellstern, The MMPP cookbook, 1993.
    """

    rates: Sequence[float]  # relative to each other
    stay_us: Sequence[float]  # mean time in each state, us

    def __post_init__(self) -> None:
        problems = []
        if not 2 <= len(self.rates) <= 1000 or len(self.rates) != len(self.stay_us):
            found = f"{len(self.rates)} and {len(self.stay_us)}"
            problems.append(Problem(("rates",), "two states or more, with a rate and a stay for each", found))
        if not all(0 <= rate < math.inf for rate in self.rates) or not any(self.rates):
            problems.append(Problem(("rates",), "numbers of 0 or more, not all 0", f"{list(self.rates)}"[:60]))
        if not all(0 < stay < math.inf for stay in self.stay_us):
            problems.append(Problem(("stay",), "times above 0", f"{list(self.stay_us)}"[:60]))
        if problems:
            raise InputError(problems)

    def moved(self, times_us: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Transform increasing times that start at 0. The first state is drawn as seen by an arrival."""
        rates, stay = np.asarray(self.rates, np.float64), np.asarray(self.stay_us, np.float64)
        rates = rates / ((rates * stay).sum() / stay.sum())
        n_states, seen = len(rates), rates * stay / (rates * stay).sum()
        n_stays, most = times_us[-1] / (rates * stay).mean(), max(MOST_STAYS, 10 * len(times_us))
        if n_stays > most:
            expected = f"stays that are not so short next to the time between arrivals: at most {most:,} in all"
            raise InputError([Problem(("stay",), expected, f"about {n_stays:,.0f}")])
        state, end = int(rng.choice(n_states, p=seen)), [np.zeros(1), np.zeros(1)]
        time, work = [end[0]], [end[1]]
        while work[-1][-1] <= times_us[-1]:
            left = (times_us[-1] - work[-1][-1]) / (rates * stay).mean()
            n = min(int(1.1 * left + 4 * math.sqrt(left)) + 16, 10_000_000)
            states = (state + np.concatenate(([0], np.cumsum(1 + rng.integers(0, n_states - 1, n))))) % n_states
            state, states = int(states[-1]), states[:-1]
            stays = rng.standard_exponential(n) * stay[states]
            time.append(time[-1][-1] + np.cumsum(stays))
            work.append(work[-1][-1] + np.cumsum(stays * rates[states]))
        return np.interp(times_us, np.concatenate(work), np.concatenate(time))


LEAST_RATE = 1e-12  # of the largest rate: parts of a cycle with less would have no arrivals, and numbers would overflow


@dataclass(frozen=True, eq=False)
class Cycle:
    """A rate that repeats: ``rates`` [R], relative to each other, each from ``begin_us`` [R] to the next."""

    begin_us: np.ndarray  # [R], from 0, increasing
    rates: np.ndarray  # [R]
    length_us: float
    start_us: float = 0.0  # the time in the cycle at which the first job arrives

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rates) & (self.rates >= 0)).all() or not self.rates.any():
            raise InputError([Problem(("rates",), "numbers of 0 or more, not all 0", f"{self.rates.tolist()}"[:60])])
        least = self.rates[self.rates > 0].min()
        if least < LEAST_RATE * self.rates.max():
            expected = f"0, or at least {LEAST_RATE:g} of the largest rate"
            raise InputError([Problem(("rates",), expected, f"{least:g} along with {self.rates.max():g}", "Write 0.")])

    @property
    def mean_rate(self) -> float:
        """The mean of the rates over the cycle."""
        return float((self.rates * self._steps()).sum() / self.length_us)

    def _steps(self) -> np.ndarray:
        return np.diff(self.begin_us, append=self.length_us)

    def _integral(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of the cycle and the integral of the rate, with a mean of 1, up to each."""
        steps = np.concatenate(([0.0], np.cumsum(self.rates * self._steps())))
        return np.append(self.begin_us, self.length_us), steps * (self.length_us / steps[-1])

    def moved(self, times_us: np.ndarray) -> np.ndarray:
        """Transform the times, from 0, of a process with a steady rate to those of one that follows the cycle."""
        edges, integral = self._integral()
        start = self.start_us % self.length_us
        work = times_us + float(np.interp(start, edges, integral))
        n_cycles, rest = np.divmod(work, self.length_us)
        return np.maximum(n_cycles * self.length_us + np.interp(rest, integral, edges) - start, 0.0)

    def steadied(self, times_us: np.ndarray) -> np.ndarray:
        """Invert :meth:`moved`: return the times that the process would have at a steady rate."""
        edges, integral = self._integral()
        start = self.start_us % self.length_us
        n_cycles, rest = np.divmod(times_us + start, self.length_us)
        return n_cycles * self.length_us + np.interp(rest, edges, integral) - float(np.interp(start, edges, integral))


def cycle_of(daily: Sequence[float] = (), weekly: Sequence[float] = (), start_us: float = 0.0) -> Cycle:
    """Return the cycle of relative rates over equal parts of the day, over the seven days of the week, or both."""
    if weekly and len(weekly) != 7:
        raise InputError([Problem(("weekly",), "seven relative rates, one per day", f"{len(weekly)}")])
    day, week = np.asarray(daily or [1.0], np.float64), np.asarray(weekly or [1.0], np.float64)
    rates = np.outer(week, day).ravel()
    length_us = DAY_US * len(week)
    return Cycle(np.arange(len(rates)) * (length_us / len(rates)), rates, length_us, start_us)


def cycle_of_counts(begin_us: np.ndarray, counts: np.ndarray) -> Cycle:
    """Return the cycle of a series of counts, each the number of events from its time to the next one.

    The last interval is as long as the one before it, and then the series repeats. Rates are events per us.
    """
    steps = np.diff(begin_us)
    steps = np.append(steps, steps[-1])
    if not np.any(counts):
        raise InputError([Problem(("series",), "counts of 0 or more, not all 0", "only 0")])
    return Cycle(begin_us - begin_us[0], counts / steps, float(steps.sum()))
