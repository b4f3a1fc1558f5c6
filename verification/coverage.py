"""How often intervals contain the true value: ``python -m verification.coverage``.

Queues with a known answer are simulated with Poisson arrivals and exponential sizes, in experiments of some
replications each. The share of the experiments whose interval holds the exact value must lie within the binomial bounds
of what is promised: 95 %, and less where the replications stop at a chosen width. Exit code 1 where it does not.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np
from scipy.stats import binomtest, gamma

import vinesim as vs
from verification.queues import erlang_c, scenario
from vinesim.studies.statistics import Interval, mean_interval, quantile_interval
from vinesim.studies.until import GROWTH

CONFIDENCE = 0.95
BOUNDS = 0.999  # confidence of the binomial interval around the measured coverage
RATE, JOBS, WARM_UP = 0.6, 4000, {"share": 0.2}
SEEDS_EACH = 10_000  # seeds set aside for an experiment


@dataclass(frozen=True)
class Check:
    """Experiments with one kind of interval: how to do one, the exact value, and the coverage that is promised."""

    name: str
    expected: float
    experiment: Callable[[Iterator[int]], Interval]  # takes the number of seeds that it needs
    promised: float = CONFIDENCE
    is_exact: bool = True  # False: a higher coverage than promised is also accepted


@dataclass(frozen=True)
class Coverage:
    """The result of the experiments of a check."""

    held: int
    experiments: int
    replications: float  # on average
    holds: bool

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / self.experiments


@cache
def latency(units: int, seed: int, jobs: int = JOBS, warm_up: str | None = None) -> dict[str, float]:
    """Return the latencies of jobs in one run of M/M/c with ``units`` of total speed 1, after the warm-up.

    The arrivals and sizes of a seed are the same for each number of units.
    """
    random = np.random.default_rng([seed, 1])
    case = scenario(random, jobs, RATE, random.exponential(1.0, jobs), (1.0 / units,) * units)
    return vs.simulate(case, warm_up=warm_up or WARM_UP).summary["jobs"]["latency_us"]  # type: ignore[no-any-return]


def mean_sojourn(units: int) -> float:
    """Return the mean time in an M/M/c system with ``units`` of total speed 1."""
    load = RATE * units
    return erlang_c(units, load) / (1 - RATE) + units


def makespan(seed: int, jobs: int = 10) -> float:
    """Makespan of jobs that are all there at 0, on one unit: a sum of exponential times."""
    random = np.random.default_rng([seed, 2])
    case = scenario(random, jobs, math.inf, random.exponential(1.0, jobs))
    return float(vs.simulate(case).summary["makespan_us"])


def over(n: int, measure: Callable[[int], float]) -> Callable[[Iterator[int]], Interval]:
    """An experiment: the mean of n replications."""
    return lambda seeds: mean_interval([measure(next(seeds)) for _ in range(n)], CONFIDENCE)


def until(width: float, at_least: int, measure: Callable[[int], float]) -> Callable[[Iterator[int]], Interval]:
    """An experiment that goes on until the half width is small enough, as ``until: ci_width`` does."""

    def experiment(seeds: Iterator[int]) -> Interval:
        values = [measure(next(seeds)) for _ in range(at_least)]
        while not mean_interval(values, CONFIDENCE).relative_half_width <= width:
            more = math.ceil(GROWTH * len(values)) - len(values)
            values += [measure(next(seeds)) for _ in range(more)]
        return mean_interval(values, CONFIDENCE)

    return experiment


def quantile(n: int, probability: float) -> Callable[[Iterator[int]], Interval]:
    """An experiment: a quantile over n replications."""
    return lambda seeds: quantile_interval([makespan(next(seeds)) for _ in range(n)], probability, CONFIDENCE)


def checks() -> list[Check]:
    def one(seed: int) -> float:
        return latency(1, seed)["mean"]

    def three(seed: int) -> float:
        return latency(3, seed)["mean"]

    def p90(seed: int) -> float:
        return latency(1, seed)["p90"]

    def difference(seed: int) -> float:
        return three(seed) - one(seed)

    def short(seed: int) -> float:
        return latency(1, seed, 1500)["mean"]

    def cut_by_mser5(seed: int) -> float:
        return latency(1, seed, warm_up="mser5")["mean"]

    fast, slow = mean_sojourn(1), mean_sojourn(3)
    found = []
    for n in (10, 20):
        found += [
            Check(f"mean latency, M/M/1, {n} runs", fast, over(n, one)),
            Check(f"mean latency, M/M/3, {n} runs", slow, over(n, three)),
            Check(f"p90 of a run, M/M/1, {n} runs", math.log(10) / (1 - RATE), over(n, p90)),
            Check(f"M/M/3 - M/M/1, {n} pairs", slow - fast, over(n, difference)),
            Check(f"median over {n} runs", float(gamma(10).ppf(0.5)), quantile(n, 0.5), is_exact=False),
        ]
    for n, stated in ((10, 0.88), (20, 0.83)):  # MSER-5 tends to leave the calmer part of a run
        found.append(Check(f"mean by mser5, M/M/1, {n} runs", fast, over(n, cut_by_mser5), stated))
    for at_least, stated in (
        (3, 0.90),
        (5, 0.915),
        (10, 0.925),
        (20, 0.94),
    ):  # less than 95 %: stopping at a lucky moment
        found.append(Check(f"until 5 %, at least {at_least} runs", fast, until(0.05, at_least, short), stated))
    return found


def cover(check: Check, experiments: int, first_seed: int) -> Coverage:
    """Do the experiments of a check, each with its own seeds."""
    held = runs = 0
    for k in range(experiments):
        interval = check.experiment(count(first_seed + k * SEEDS_EACH))
        held += bool(interval.low <= check.expected <= interval.high)
        runs += interval.n
    bounds = binomtest(held, experiments).proportion_ci(BOUNDS)
    holds = bounds.high >= check.promised and (bounds.low <= check.promised or not check.is_exact)
    return Coverage(held, experiments, runs / experiments, bool(holds))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args(words)
    begun, failed = time.perf_counter(), 0
    print(f"{'95 % interval of':32} {'exact':>9} {'runs':>6} {'coverage':>9} {'promised':>10}  verdict")
    everything = checks()
    for check in everything:
        found = cover(check, arguments.experiments, arguments.seed)
        failed += not found.holds
        promised = f"{'' if check.is_exact else '>= '}{check.promised:.1%}"
        print(
            f"{check.name:32} {check.expected:9.4f} {found.replications:6.1f} {found.share:9.1%} {promised:>10}  "
            f"{'holds' if found.holds else 'FAILS'}",
            flush=True,
        )
    print(
        f"{arguments.experiments} experiments each; {time.perf_counter() - begun:.0f} s; "
        f"{failed} of {len(everything)} fail"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
