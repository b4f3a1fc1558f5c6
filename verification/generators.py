"""Generated workloads against their distributions: ``python -m verification.generators``.

Each number has a known expected value and is estimated in independent replications without bias; the expected value
must lie within the Student t interval of their mean. The confidence is so high that all intervals hold together in 99
of 100 executions. Resampled logs are checked for how often they cover the truth. Exit code 1 when one does not hold.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from verification.queues import of_each
from vinesim.model.workload import Workload
from vinesim.studies.statistics import mean_interval
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import (
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)
from vinesim.workloads.fitting import OnOffGaps
from vinesim.workloads.mmpp import MmppGaps
from vinesim.workloads.modulation import DAY_US, States, cycle_of
from vinesim.workloads.registry import generator
from vinesim.workloads.resample import resampled

N_BLOCKS = 240  # of a log that is resampled; with few, percentile intervals hold the truth less often
TAILS = (0.5, 0.9, 0.99, 0.999)


class Checked(NamedTuple):
    """A number: its expected value, and what estimates it from a seed."""

    name: str
    expected: float
    estimate: Callable[[int], float]


def jobs(seed: int, n: int, **options: object) -> Workload:
    return generator("jobs").generate({"n_jobs": n, "sizes": 1, **options}, seed=seed)


def of_sizes(item: Distribution, n: int) -> Iterator[Checked]:
    """Mean, second moment and tails of sizes."""
    mean, cv = item.moments

    def sizes(seed: int) -> np.ndarray:
        return jobs(seed, n, sizes=item).operations

    name = f"sizes {item}" if not isinstance(item, Empirical) else "sizes of a sample"
    yield Checked(f"{name}: mean", 1.0, lambda seed: float(sizes(seed).mean() / mean))
    if cv <= 3:  # beyond, the mean of a few replications is far from normal
        yield Checked(f"{name}: cv^2 + 1", cv**2 + 1, lambda seed: float((sizes(seed) ** 2).mean() / mean**2))
    for share in TAILS if not isinstance(item, Empirical) else ():
        at = float(item.scipy().ppf(share))
        yield Checked(
            f"{name}: share above p{100 * share:g}", 1 - share, lambda seed, at=at: float((sizes(seed) > at).mean())
        )


def of_gaps(name: str, arrivals: Arrivals, mean: float, cv: float, lags: dict[int, float], n: int) -> Iterator[Checked]:
    """Mean, second moment and autocovariance of the times between arrivals."""

    def gaps(seed: int) -> np.ndarray:
        return np.diff(jobs(seed, n, arrivals=arrivals).arrival_us) / mean

    yield Checked(f"{name}: mean gap", 1.0, lambda seed: float(gaps(seed).mean()))
    yield Checked(f"{name}: cv^2 + 1", cv**2 + 1, lambda seed: float((gaps(seed) ** 2).mean()))
    for lag, correlation in lags.items():

        def product(seed: int, lag: int = lag) -> float:
            x = gaps(seed)
            return float((x[lag:] * x[:-lag]).mean())

        yield Checked(f"{name}: autocovariance at lag {lag}, + 1", correlation * cv**2 + 1, product)


def of_cycle(n: int) -> Iterator[Checked]:
    """Shares of arrivals by part of the day and day of the week, in whole weeks."""
    daily, weekly = (1.0, 4.0, 2.0, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.0)
    arrivals = Arrivals("poisson", 4 * 7 * DAY_US / n, cycle=cycle_of(daily, weekly))

    def share(seed: int, length_us: float, parts: int, part: int) -> float:
        times = jobs(seed, 2 * n, arrivals=arrivals).arrival_us
        times = times[times < 4 * 7 * DAY_US]
        return float((times // length_us % parts == part).sum()) / n

    for part, rate in enumerate(daily):
        yield Checked(f"quarter {part + 1} of the day", rate / 8, lambda s, p=part: share(s, DAY_US / 4, 4, p))
    for part, rate in enumerate(weekly[4:], 4):
        yield Checked(f"day {part + 1} of the week", rate / 5.5, lambda s, p=part: share(s, DAY_US, 7, p))


def of_users(n: int) -> Iterator[Checked]:
    """Shares of users, and correlations of the normal scores of sizes within users and sessions."""
    item = Lognormal(5.0, 2.0)

    def scores(seed: int, **options: object) -> tuple[np.ndarray, np.ndarray]:
        work = jobs(seed, n, sizes=item, **options)
        user = work.application if work.application is not None else np.zeros(n, int)
        return np.log(work.operations / item.median) / item.sigma, user

    def of_pairs(seed: int) -> float:
        score, user = scores(seed, n_users=1000, user_correlation=0.4)
        total, squares, counts = (np.bincount(user, x) for x in (score, score**2, np.ones(n)))
        return float((total**2 - squares).sum() / (counts * (counts - 1)).sum())

    def of_steps(seed: int, lag: int) -> float:
        score, _ = scores(seed, jobs_per_session=10.0, session_correlation=0.8)
        return float((score[lag:] * score[:-lag]).mean())

    shares = np.arange(1, 5) ** -1.0
    for k in range(4):
        yield Checked(
            f"share of user {k + 1} of 4",
            shares[k] / shares.sum(),
            lambda seed, k=k: float((scores(seed, n_users=4, user_skew=1.0)[1] == k).mean()),
        )
    yield Checked("correlation within a user", 0.4, of_pairs)
    for lag in (1, 5):
        yield Checked(f"correlation within a session, lag {lag}", 0.8 * 0.9**lag, lambda s, k=lag: of_steps(s, k))


def all_checked(n: int) -> Iterator[Checked]:
    for item in (
        *(Uniform(1, 3), Exponential(5), Gamma(5, 0.5), Gamma(5, 2), Weibull(5, 0.5), Weibull(5, 2)),
        *(Lognormal(5, 0.5), Lognormal(5, 1.5), Hyperexponential(5, 3), Pareto(1, 100, 1.5), Empirical([1, 2, 9])),
    ):
        yield from of_sizes(item, n)
    none = {1: 0.0, 10: 0.0}
    yield from of_gaps("poisson", Arrivals("poisson", 10.0), 10, 1, none, n)
    for kind, cv in (("gamma", 2.0), ("gamma", 0.5), ("weibull", 2.0), ("lognormal", 1.5), ("hyperexponential", 3.0)):
        yield from of_gaps(f"{kind}, cv {cv:g}", Arrivals(kind, 10.0, cv=cv), 10, cv, none, n)
    on_off = Arrivals("poisson", 10.0, states=States((1, 0), (50, 150)))
    yield from of_gaps("on_off", on_off, 10, OnOffGaps(10, 50, 150).moments[1], none, n)
    for states in (States((1, 10), (500, 100)), States((1, 5, 20), (300, 200, 100))):
        known = MmppGaps(10, tuple(states.rates), tuple(states.stay_us))
        cv, lags = known.moments[1], known.correlations((1, 2, 10))
        arrivals = Arrivals("poisson", 10.0, states=states)
        yield from of_gaps(f"mmpp of {len(states.rates)} states", arrivals, 10, cv, lags, n)
    yield from of_cycle(n)
    yield from of_users(n)


def coverage(n_logs: int, seed: int) -> tuple[float, float]:
    """How often the 95 % percentile interval of 200 resampled logs holds the true mean size: by blocks, and by jobs.

    Jobs of one block have a common factor, which makes them alike: resampling job by job is wrong.
    """
    held, n = [0, 0], 20 * N_BLOCKS
    for k in range(n_logs):
        rng = np.random.default_rng([seed, k])
        times = np.sort(rng.uniform(0, N_BLOCKS, n))
        sizes = rng.exponential(1.0, n) * rng.exponential(1.0, N_BLOCKS)[times.astype(int)]
        zeros, times = np.zeros(n), np.concatenate(([0.0], times[1:]))
        work = Workload(zeros, np.arange(n + 1), times, sizes, zeros, zeros, zeros, np.full(n, -1))
        for which, block in enumerate((1.0, 0.01)):
            means = [float(resampled(work, block, 0.0, rng).operations.mean()) for _ in range(200)]
            low, high = np.quantile(means, (0.025, 0.975))
            held[which] += low <= 1.0 <= high
    return held[0] / n_logs, held[1] / n_logs


def main(arguments: list[str] | None = None) -> int:
    """Verify all generators; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--logs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2012)
    given = parser.parse_args(arguments)
    checked = list(all_checked(given.jobs))
    confidence = of_each(len(checked))
    failed = 0
    for item in checked:
        values = np.array([item.estimate(given.seed + r) for r in range(given.replications)])
        found = mean_interval(values, confidence)
        holds = abs(found.estimate - item.expected) <= found.half_width + 1e-9
        failed += not holds
        verdict = "holds" if holds else "FAILS"
        generated = f"{found.estimate:9.5f} +- {found.half_width:.5f}"
        print(f"{item.name:60} {item.expected:9.5f}  generated {generated}  {verdict}", flush=True)
    by_blocks, by_jobs = coverage(given.logs, given.seed)
    for name, share, holds in (
        ("resampled by blocks: 95 % intervals hold the truth", by_blocks, 0.91 <= by_blocks <= 0.98),
        ("resampled job by job, which must be worse", by_jobs, by_jobs < 0.80),
    ):
        failed += not holds
        print(f"{name:60} {share:9.3f}  {'holds' if holds else 'FAILS'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
