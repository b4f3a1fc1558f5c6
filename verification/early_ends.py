"""Preemption, failures and limits with a known answer, simulated: ``python -m verification.early_ends``.

Each system is simulated in independent replications; the mean must lie within its Student t confidence interval round
the exact value. The confidence is so high that all intervals hold together in 99 of 100 executions. Exit code 1 when
one does not.
"""

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import quad

import vinesim as vs
from tests.policies.kinds.homebound import Homebound
from verification.queues import WARM_UP, of_each
from verification.queues import scenario as queue
from vinesim.studies.statistics import mean_interval

WORK, RATE, REPAIR = 8.0, 0.1, 1.0  # of a task, of failures, and the mean time to repair


@dataclass(frozen=True)
class Known:
    """A system: its scenario for a seed and a size, what is measured of a result, and its exact mean."""

    name: str
    expected: float
    build: Callable[[int, int], vs.Scenario]
    measure: Callable[[vs.Scenario, vs.Result], np.ndarray]


def response(case: vs.Scenario, result: vs.Result) -> np.ndarray:
    """Return the time of each task in the system."""
    return result.outcome.task_finish_us - case.workload.arrival_us


def wait(case: vs.Scenario, result: vs.Result) -> np.ndarray:
    """Return the wait of each task, after a warm-up."""
    return (result.outcome.task_init_us - case.workload.arrival_us)[int(WARM_UP * case.workload.n_jobs) :]


def of_class(urgent: bool) -> Callable[[vs.Scenario, vs.Result], np.ndarray]:
    """Return a function that gives the responses of one of two priority classes."""

    def measure(case: vs.Scenario, result: vs.Result) -> np.ndarray:
        chosen = (case.workload.priority > 0) == urgent
        chosen[: int(WARM_UP * len(chosen))] = False
        return response(case, result)[chosen]

    return measure


def classes(high: float, low: float, mu_high: float, mu_low: float) -> Callable[[int, int], vs.Scenario]:
    """M/M/1 with two classes, the urgent one preempting the other."""

    def build(seed: int, n: int) -> vs.Scenario:
        random = np.random.default_rng([seed, 1])
        is_high = random.random(n) < high / (high + low)
        sizes = np.where(is_high, random.exponential(1 / mu_high, n), random.exponential(1 / mu_low, n))
        case = queue(random, n, high + low, sizes, policy="priority")
        return replace(case, workload=replace(case.workload, priority=is_high.astype(float)))

    return build


def preemptive(high: float, low: float, mu_high: float, mu_low: float) -> tuple[float, float]:
    """Mean responses under preemptive-resume priority (Kleinrock, Queueing Systems II, 3.4)."""
    rho, both = high / mu_high, high / mu_high + low / mu_low
    residual = high / mu_high**2 + low / mu_low**2
    return (1 / mu_high) / (1 - rho), (1 / mu_low) / (1 - rho) + residual / ((1 - rho) * (1 - both))


def by_rank(policy: str, rho: float, **options: float) -> Callable[[int, int], vs.Scenario]:
    """M/M/1 under a policy that preempts."""

    def build(seed: int, n: int) -> vs.Scenario:
        random = np.random.default_rng([seed, 3])
        return replace(queue(random, n, rho, random.exponential(1.0, n), policy=policy), options=options)

    return build


def shortest_first(rho: float) -> float:
    """Mean response of M/M/1 under shortest remaining time first (Schrage and Miller, 1966)."""

    def load(x: float) -> float:  # of tasks of at most x
        return rho * (1 - math.exp(-x) * (1 + x))

    def of_size(x: float) -> float:
        second = 2 - math.exp(-x) * (x * x + 2 * x + 2) + x * x * math.exp(-x)
        return rho / 2 * second / (1 - load(x)) ** 2 + quad(lambda t: 1 / (1 - load(t)), 0, x)[0]

    return float(quad(lambda x: of_size(x) * math.exp(-x), 0, 60)[0])


def settled(case: vs.Scenario, result: vs.Result) -> np.ndarray:
    """Return the response of each task, after a warm-up."""
    return response(case, result)[int(WARM_UP * case.workload.n_jobs) :]


def failing(
    until: vs.Times, repair_us: float = REPAIR, checkpoint_us: float = math.inf, restart_us: float = 0.0
) -> Callable[[int, int], vs.Scenario]:
    """One task on each of n nodes, at which it stays, from 0 on."""

    def build(seed: int, n: int) -> vs.Scenario:
        work = vs.Workload(
            np.zeros(n), np.arange(n + 1), np.zeros(n), np.full(n, WORK), np.zeros(n), np.zeros(n), np.arange(n),
            np.full(n, -1), checkpoint_us=np.full(n, checkpoint_us), restart_us=np.full(n, restart_us),
            task_types=(vs.TaskType("T"),),
        )  # fmt: skip
        center = vs.Datacenter(np.zeros(n), np.zeros(n), np.arange(n), (vs.ProcessorType("P"),))
        repair = vs.Times(repair_us, "constant" if repair_us == 0 else "exponential")
        failures = (vs.Failures(until, repair),)
        return vs.Scenario(center, work, Homebound, affinity=[[1.0]], failures=failures, seed=seed)

    return build


def repeated(work: float, repair: float = REPAIR) -> float:
    """Return the mean time until an uninterrupted stretch of work is done, with exponential failures."""
    return (math.exp(RATE * work) - 1) * (1 / RATE + repair)


def with_restart(every: float, restart: float) -> float:
    """Mean time of the task with checkpoints: each stretch is tried, and after a failure with a restart before it."""
    fails = 1 - math.exp(-RATE * every)
    return WORK / every * (fails / RATE + fails * (REPAIR + repeated(every + restart)))


def weibull(mean: float, shape: float) -> float:
    """Mean time of the task where the node is new at 0 and after each repair (renewal argument)."""
    scale = mean / math.gamma(1 + 1 / shape)
    survives = math.exp(-((WORK / scale) ** shape))
    tried = quad(lambda x: math.exp(-((x / scale) ** shape)), 0, WORK)[0]  # mean of min(failure, work)
    return (tried + (1 - survives) * REPAIR) / survives


def limited(limit: float, rate: float) -> Known:
    """M/M/1 whose tasks are killed after a limit: their service is the smaller of both (Pollaczek-Khinchine)."""
    mean, second = 1 - math.exp(-limit), 2 * (1 - math.exp(-limit) * (1 + limit))

    def build(seed: int, n: int) -> vs.Scenario:
        random = np.random.default_rng([seed, 2])
        case = queue(random, n, rate, random.exponential(1.0, n))
        return replace(case, workload=replace(case.workload, limit_us=np.full(n, limit)))

    return Known(f"M/M/1, killed after {limit:g}", rate * second / (2 * (1 - rate * mean)), build, wait)


def systems() -> list[Known]:
    found = []
    for rates in ((0.3, 0.4, 1.0, 1.0), (0.6, 0.4, 2.0, 1.0)):
        high, low = preemptive(*rates)
        name = "preemptive resume {:g}, {:g}; {:g}, {:g}".format(*rates)
        found.append(Known(f"{name}: urgent", high, classes(*rates), of_class(True)))
        found.append(Known(f"{name}: other", low, classes(*rates), of_class(False)))
    for rho in (0.5, 0.7, 0.9):
        found.append(Known(f"srtf, load {rho:g}", shortest_first(rho), by_rank("srtf", rho), settled))
    for levels in (2, 4):  # whatever knows nothing of the sizes has the same mean
        build = by_rank("las", 0.7, quantum_us=0.5, levels=levels, factor=2.0)
        found.append(Known(f"las, load 0.7, {levels} levels", 1 / (1 - 0.7), build, settled))
    exponential = vs.Times(1 / RATE)
    early, late = vs.Times(10.0, "weibull", 0.7), vs.Times(10.0, "weibull", 1.5)
    return [
        *found,
        limited(1.5, 1.0),
        Known("failures", repeated(WORK), failing(exponential), response),
        Known("failures, repaired at once", repeated(WORK, 0.0), failing(exponential, 0.0), response),
        Known("failures, checkpoints", WORK / 2 * repeated(2.0), failing(exponential, checkpoint_us=2.0), response),
        Known(
            "failures, checkpoints, restart", with_restart(2.0, 0.25), failing(exponential, 1.0, 2.0, 0.25), response
        ),
        Known("Weibull failures, shape 0.7", weibull(10.0, 0.7), failing(early), response),
        Known("Weibull failures, shape 1.5", weibull(10.0, 1.5), failing(late), response),
    ]


def verify(
    known: Known, replications: int, n: int, seed: int, confidence: float, engine: str = "auto"
) -> tuple[float, float, bool]:
    """(mean, half width of its confidence interval, whether the exact value lies within)."""
    means = []
    for r in range(replications):
        case = known.build(seed + r, n)
        means.append(known.measure(case, vs.simulate(case, engine=engine)).mean())
    found = mean_interval(means, confidence)
    return found.estimate, found.half_width, abs(found.estimate - known.expected) <= found.half_width


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=50_000, help="jobs of each replication of a queue")
    parser.add_argument("--nodes", type=int, default=300, help="nodes of each replication with failures")
    parser.add_argument("--seed", type=int, default=2026)
    given, failed = parser.parse_args(arguments), 0
    everything = systems()
    for known in everything:
        n = given.nodes if "failures" in known.name else given.jobs
        mean, half, holds = verify(known, given.replications, n, given.seed, of_each(len(everything)), "compiled")
        failed += not holds
        interval = f"[{mean - half:9.5f}, {mean + half:9.5f}]"
        print(f"{known.name:42} {known.expected:9.5f} {interval} {'holds' if holds else 'FAILS'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
