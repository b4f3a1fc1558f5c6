"""Queueing systems with a known answer, simulated: ``python -m verification.queues``.

Each is simulated in independent replications; the mean of their means must lie within its Student t confidence interval
round the exact value. The confidence is so high that all intervals hold together in 99 of 100 executions. Exit code 1
when one does not.
"""

import argparse
import math
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import vinesim as vs
from vinesim.studies.statistics import mean_interval

TOGETHER = 0.99
WARM_UP = 0.1  # share of the jobs left out, as the system starts empty


@dataclass(frozen=True)
class System:
    """A queueing system: its scenario for a random stream, what is measured of a run, and its exact mean."""

    name: str
    formula: str
    expected: float
    build: Callable[[np.random.Generator, int], vs.Scenario]
    measure: str = "wait"  # or "sojourn"


def erlang_c(c: int, load: float) -> float:
    """Probability that a job of an M/M/c queue waits; ``load`` = arrival rate x mean service time."""
    terms = [load**k / math.factorial(k) for k in range(c)]
    last = load**c / math.factorial(c) / (1 - load / c)
    return last / (sum(terms) + last)


def two_speeds_wait(rate: float, fast: float, slow: float) -> float:
    """Mean wait of M/M/2 with unequal servers, the fast one first when both idle (Gumbel 1960; balance equations)."""
    r = rate / (fast + slow)
    balance = np.array(  # states: none busy, fast only, slow only, both; then geometric
        [
            [rate, -fast, -slow, 0],
            [-rate, rate + fast, 0, -slow],
            [0, 0, rate + slow, -fast],
            [1, 1, 1, 1 / (1 - r)],
        ]
    )
    both = np.linalg.solve(balance, [0, 0, 0, 1])[3]
    return both * r / (1 - r) ** 2 / rate


def gang_response(rate: float, most: int = 400) -> float:
    """Mean response of FCFS on two servers, of jobs of which half need both at once, all with a mean of 1.

    Balance equations, with at most ``most`` jobs behind the first: their kinds are known only as they come first.
    """
    states = [("idle", 0), ("one", 0), *((kind, m) for kind in ("two", "blocked", "gang") for m in range(most))]
    number = {state: i for i, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))

    def goes(state: tuple[str, int], by: float, to: tuple[str, int]) -> None:
        if to in number:
            rates[number[to], number[state]] += by
            rates[number[state], number[state]] -= by

    def one_runs(state: tuple[str, int], by: float, m: int) -> None:  # and m wait
        if m == 0:
            goes(state, by, ("one", 0))
        else:
            goes(state, by / 2, ("two", m - 1))
            goes(state, by / 2, ("blocked", m - 1))

    goes(("idle", 0), rate / 2, ("one", 0))
    goes(("idle", 0), rate / 2, ("gang", 0))
    goes(("one", 0), 1, ("idle", 0))
    one_runs(("one", 0), rate, 1)
    for m in range(most):
        for kind in ("two", "blocked", "gang"):
            goes((kind, m), rate, (kind, m + 1))
        one_runs(("two", m), 2, m)
        goes(("blocked", m), 1, ("gang", m))
        if m == 0:
            goes(("gang", 0), 1, ("idle", 0))
        else:
            goes(("gang", m), 0.5, ("gang", m - 1))
            one_runs(("gang", m), 0.5, m - 1)
    rates[0] = 1.0
    share = np.linalg.solve(rates, np.eye(len(states))[0])
    jobs = {"idle": 0, "one": 1, "two": 2, "blocked": 2, "gang": 1}
    return float(sum(p * (jobs[kind] + m) for p, (kind, m) in zip(share, states, strict=True)) / rate)


def gangs(random: np.random.Generator, n: int, rate: float) -> vs.Scenario:
    """Poisson arrivals of jobs of one task or, half of them, of a gang of two equal tasks, on two units."""
    sizes = random.integers(1, 3, n)
    tasks = scenario(random, n, rate, random.exponential(1.0, n), (1.0, 1.0), policy="fcfs")
    columns = {
        name: np.repeat(getattr(tasks.workload, name), sizes)
        for name in ("operations", "data_bytes", "data_rack", "data_shelf", "preferred_type")
    }
    first = np.concatenate([[0], np.cumsum(sizes)])
    return replace(tasks, workload=replace(tasks.workload, job_first=first, gang_within=3 * (sizes > 1), **columns))


RATES = (1.0, 0.8, 0.6)  # of each of a number of tasks; what three get done together is the most, 1.8


def birth_death_response(rate: float, rates: tuple[float, ...], states: int = 10_000) -> float:
    """The mean time of exponential work of mean 1 where each of n tasks runs at ``rates[n - 1]``: the stationary
    probabilities of the number of tasks are products of rate / (n rates), and Little's law."""
    together = [n * share for n, share in enumerate(rates, 1)]
    done = np.array(together + [together[-1]] * (states - len(together)))
    weights = np.concatenate([[1.0], np.cumprod(rate / done)])
    return float((np.arange(states + 1) * weights).sum() / weights.sum() / rate)


CURVES = {"*": (1.0, 0.9, 0.6), "B": (1.0, 0.5)}  # three others get 1.8 done together, two of B no more than one
OF_EACH = (0.6, 0.3)  # arrivals of A and of B


def responses_by_type(
    arrivals: tuple[float, float], curves: tuple[tuple[float, ...], tuple[float, ...]], most: int = 40
) -> tuple[float, float]:
    """The mean times of exponential work of mean 1 of two types that share a unit, where each of n tasks runs at the
    rate of its type's curve: balance equations of the chain of both numbers, each up to ``most``, and Little's law."""
    n_states = (most + 1) ** 2
    flows = np.zeros((n_states, n_states))
    counts = np.stack(np.divmod(np.arange(n_states), most + 1))
    for state in range(n_states):
        for kind, step in enumerate((most + 1, 1)):
            mine, together = int(counts[kind, state]), int(counts[:, state].sum())
            if mine < most:
                flows[state + step, state] += arrivals[kind]
            if mine > 0:
                known = min(together, len(curves[kind]))
                flows[state - step, state] += mine * curves[kind][known - 1] * known / together
    flows -= np.diag(flows.sum(axis=0))
    flows[0] = 1.0
    share = np.linalg.solve(flows, np.eye(n_states)[0])
    of_a, of_b = counts @ share / arrivals
    return float(of_a), float(of_b)


def two_types(random: np.random.Generator, n: int) -> vs.Scenario:
    """Poisson arrivals of tasks of A and of B, which share a unit by their own curves."""
    base = scenario(random, n, sum(OF_EACH), random.exponential(1.0, n), capacity=1e6)
    types = tuple(replace(one, rates=CURVES) for one in base.datacenter.processor_types)
    kinds = random.random(n) < OF_EACH[1] / sum(OF_EACH)
    work = replace(base.workload, job_task_type=kinds.astype(int), task_types=(vs.TaskType("A"), vs.TaskType("B")))
    center = replace(base.datacenter, processor_types=types)
    return replace(base, datacenter=center, workload=work, affinity=np.ones((1, 2)))


def scenario(
    random: np.random.Generator,
    n: int,
    rate: float,
    sizes: np.ndarray,
    speeds: tuple[float, ...] = (1.0,),
    capacity: float = 1.0,
    parallelism: float | None = None,
    rates: tuple[float, ...] | None = None,
    data_bytes: float = 0.0,
    policy: str = "high",
) -> vs.Scenario:
    """Poisson arrivals of jobs of one task; a unit for each speed."""
    types = tuple(
        vs.ProcessorType(f"P{p}", capacity=capacity, parallelism=parallelism, rates=rates)
        for p in range(len(set(speeds)))
    )
    distinct = sorted(set(speeds), reverse=True)
    return vs.Scenario(
        vs.Datacenter([distinct.index(s) for s in speeds], np.zeros(len(speeds)), np.arange(len(speeds)), types),
        vs.Workload(
            np.zeros(n),
            np.arange(n + 1),
            np.cumsum(random.exponential(1 / rate, n)),
            sizes,
            np.full(n, data_bytes),
            np.zeros(n),
            np.zeros(n),
            np.full(n, -1),
            demand=None if capacity == 1.0 else np.ones(n),
            task_types=(vs.TaskType("T"),),
        ),
        policy=policy,
        affinity=np.array(distinct)[:, None],
        network=vs.Network(local=10.0, intra_rack=5.0, inter_rack=1.0),
    )


def two_point(random: np.random.Generator, n: int) -> np.ndarray:
    """Sizes of 1 (9 of 10) and 11 (1 of 10): mean 2, second moment 13."""
    return np.where(random.random(n) < 0.9, 1.0, 11.0)


def systems() -> list[System]:
    rho, c = 0.8, 4
    wait_mmc = erlang_c(c, 0.85 * c) / (c - 0.85 * c)
    return [
        System(
            "M/M/1, load 0.8",
            "rho / (1 - rho)",
            rho / (1 - rho),
            lambda random, n: scenario(random, n, rho, random.exponential(1.0, n)),
        ),
        System(
            "M/M/1, sojourn",
            "1 / (1 - rho)",
            1 / (1 - rho),
            lambda random, n: scenario(random, n, rho, random.exponential(1.0, n)),
            "sojourn",
        ),
        System(
            "M/M/4, load 0.85 each",
            "Erlang C / (c - a)",
            wait_mmc,
            lambda random, n: scenario(random, n, 0.85 * c, random.exponential(1.0, n), (1.0,) * c),
        ),
        System(
            "M/M/4 as FLAT sees it",
            "Erlang C / (c - a)",
            wait_mmc,
            lambda random, n: scenario(random, n, 0.85 * c, random.exponential(1.0, n), (1.0,) * c, policy="flat"),
        ),
        System(
            "M/M/4 as one unit of 4 slots",
            "Erlang C / (c - a)",
            wait_mmc,
            lambda random, n: scenario(random, n, 0.85 * c, random.exponential(1.0, n), capacity=float(c)),
        ),
        System(
            "M/M/2, speeds 1 and 0.4",
            "balance equations",
            two_speeds_wait(1.1, 1.0, 0.4),
            lambda random, n: scenario(random, n, 1.1, random.exponential(1.0, n), (1.0, 0.4)),
        ),
        System(
            "M/D/1, half of it transfer",
            "rho / 2 (1 - rho)",
            rho / (2 * (1 - rho)),
            lambda random, n: scenario(random, n, rho, np.full(n, 0.5), data_bytes=5.0),
        ),
        System(
            "M/G/1, sizes 1 and 11",
            "Pollaczek-Khinchine",
            0.35 * 13 / (2 * (1 - 0.7)),
            lambda random, n: scenario(random, n, 0.35, two_point(random, n)),
        ),
        System(
            "M/M/1 processor sharing",
            "E[S] / (1 - rho)",
            1 / (1 - 0.7),
            lambda random, n: scenario(random, n, 0.7, random.exponential(1.0, n), capacity=1e6, parallelism=1.0),
            "sojourn",
        ),
        System(
            "M/G/1 processor sharing",
            "E[S] / (1 - rho)",
            2 / (1 - 0.7),
            lambda random, n: scenario(random, n, 0.35, two_point(random, n), capacity=1e6, parallelism=1.0),
            "sojourn",
        ),
        System(
            "M/M sharing beyond 4",
            "Erlang C / (c - a) + 1",
            wait_mmc + 1,
            lambda random, n: scenario(
                random, n, 0.85 * c, random.exponential(1.0, n), capacity=1e6, parallelism=float(c)
            ),
            "sojourn",
        ),
        System(
            "M/M processor sharing, rates 1, .8, .6",
            "birth-death chain",
            birth_death_response(1.2, RATES),
            lambda random, n: scenario(random, n, 1.2, random.exponential(1.0, n), capacity=1e6, rates=RATES),
            "sojourn",
        ),
        System(
            "M/M processor sharing, rates by task type",
            "balance equations",
            float(np.dot(OF_EACH, responses_by_type(OF_EACH, tuple(CURVES.values()))) / sum(OF_EACH)),
            two_types,
            "sojourn",
        ),
        *(
            System(
                f"gangs of 1 or 2, FCFS, rate {rate:g}",
                "balance equations",
                gang_response(rate),
                partial(gangs, rate=rate),
                "sojourn",
            )
            for rate in (0.8, 1.0)
        ),
    ]


def of_each(n: int) -> float:
    """The confidence of each of n intervals that makes all of them hold together with ``TOGETHER``."""
    return 1 - (1 - TOGETHER) / n


def simulated_mean(system: System, seed: int, n: int) -> float:
    """Return the measured mean of one replication."""
    case = system.build(np.random.default_rng([seed, zlib.crc32(system.name.encode())]), n)
    outcome = vs.simulate(case, engine="compiled").outcome
    until = outcome.task_init_us if system.measure == "wait" else outcome.task_finish_us
    until = np.maximum.reduceat(until, case.workload.job_first[:-1])
    return float((until - case.workload.arrival_us)[int(WARM_UP * n) :].mean())


def verify(system: System, replications: int, n: int, seed: int, confidence: float) -> tuple[float, float, bool]:
    """(mean, half width of its confidence interval, whether the exact value lies within)."""
    means = [simulated_mean(system, seed + r, n) for r in range(replications)]
    found = mean_interval(means, confidence)
    return found.estimate, found.half_width, abs(found.estimate - system.expected) <= found.half_width


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=200_000, help="jobs of each replication")
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args()
    begun, failed = time.perf_counter(), 0
    print(f"{'system':30} {'measured':9} {'formula':24} {'expected':>9} {'simulated':>9}  interval             verdict")
    known = systems()
    for system in known:
        mean, half, holds = verify(system, arguments.replications, arguments.jobs, arguments.seed, of_each(len(known)))
        failed += not holds
        print(
            f"{system.name:30} {system.measure:9} {system.formula:24} {system.expected:9.4f} {mean:9.4f}  "
            f"[{mean - half:8.4f}, {mean + half:8.4f}] {'holds' if holds else 'FAILS'}",
            flush=True,
        )
    print(
        f"{arguments.replications} replications of {arguments.jobs} jobs; "
        f"{time.perf_counter() - begun:.0f} s; {failed} of {len(known)} fail"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
