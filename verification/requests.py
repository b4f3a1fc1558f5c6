"""Requests on GPUs and CPUs with a known answer, simulated: ``python -m verification.requests``.

Each is simulated in independent replications; the mean must lie within its Student t confidence interval round the
exact value. The confidence is so high that all intervals hold together in 99 of 100 executions. Exit code 1 when one
does not.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import vinesim as vs
from verification.queues import of_each
from vinesim.model.application import Application
from vinesim.studies.statistics import mean_interval

WARM_UP = 0.1
MANY = 10_000.0  # CPU slots: never full


@dataclass(frozen=True)
class Known:
    """A system: its policy, its scenario for a random stream, what is measured of a result, and its exact value."""

    name: str
    expected: float
    build: Callable[[np.random.Generator, int], vs.Scenario]
    measure: Callable[[vs.Result], np.ndarray]


def erlang_b(servers: int, load: float) -> float:
    """Return the probability that all servers of a loss system are busy."""
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked


def scenario(
    random: np.random.Generator,
    n: int,
    rate: float,
    sizes: np.ndarray,
    n_gpus: int,
    policy: str,
    slots: float | None = None,
    parallelism: float | None = None,
) -> vs.Scenario:
    """Poisson requests of one application; GPUs of speed 1, and a CPU of speed 1/2 with ``slots`` slots, or none."""
    types = (vs.ProcessorType("CPU", capacity=slots or 1.0, parallelism=parallelism), vs.ProcessorType("GPU"))
    units = [1] * n_gpus + ([0] if slots else [])
    work = vs.Workload(
        job_task_type=np.zeros(n, int),
        job_first=np.arange(n + 1),
        arrival_us=np.cumsum(random.exponential(1.0 / rate, n)),
        operations=sizes,
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n)),
        preferred_type=np.full(n, -1),
        demand=np.ones(n),
        application=np.zeros(n, int),
        task_types=(vs.TaskType("R"),),
        application_names=("A",),
    )
    return vs.Scenario(
        vs.Datacenter(units, [0] * len(units), [0] * len(units), types),
        work,
        policy,
        affinity=np.array([[1.0 if n_gpus == 0 else 0.5], [1.0]]),
        applications=(Application("A", 10.0, max_consolidated=1),),
    )


def systems() -> list[Known]:
    """GPU first with a CPU that is never full: the CPU gets Erlang's overflow. One GPU: M/D/1. One CPU: sharing."""

    def overflow(random: np.random.Generator, n: int) -> vs.Scenario:
        return scenario(random, n, 2.4, random.exponential(1.0, n), 3, "fcfs", MANY, MANY)

    def md1(policy: str) -> Callable[[np.random.Generator, int], vs.Scenario]:
        return lambda random, n: scenario(random, n, 0.7, np.ones(n), 1, policy)

    def sharing(random: np.random.Generator, n: int) -> vs.Scenario:
        return scenario(random, n, 0.6, random.choice([0.5, 1.5], n), 0, "fcfs", MANY, 1.0)

    def on_cpu(result: vs.Result) -> np.ndarray:
        return (result.tasks["unit_type"] == 0).astype(float)

    def wait(result: vs.Result) -> np.ndarray:
        return result.tasks["init_us"] - result.tasks["arrival_us"]

    def sojourn(result: vs.Result) -> np.ndarray:
        return result.tasks["finish_us"] - result.tasks["arrival_us"]

    waiting = 0.7 / (2 * (1 - 0.7))
    return [
        Known("GPU first, overflow to CPU (Erlang B)", erlang_b(3, 2.4), overflow, on_cpu),
        *(Known(f"M/D/1 wait, {name}", waiting, md1(name), wait) for name in ("fcfs", "edf", "symphony")),
        Known("processor sharing, sojourn", 1.0 / (1 - 0.6), sharing, sojourn),
    ]


def verify(known: Known, replications: int, n: int, seed: int, confidence: float) -> tuple[float, float, bool]:
    """(mean, half width of its confidence interval, whether the exact value lies within)."""
    means = []
    for r in range(replications):
        result = vs.simulate(known.build(np.random.default_rng([seed, r]), n))
        means.append(known.measure(result)[int(WARM_UP * n) :].mean())
    found = mean_interval(means, confidence)
    return found.estimate, found.half_width, abs(found.estimate - known.expected) <= found.half_width


def main(arguments: list[str] | None = None) -> int:
    """Verify all systems; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=2012)
    given = parser.parse_args(arguments)
    failed = 0
    everything = systems()
    for known in everything:
        mean, half, holds = verify(known, given.replications, given.requests, given.seed, of_each(len(everything)))
        failed += not holds
        verdict = "holds" if holds else "FAILS"
        print(
            f"{known.name:40} expected {known.expected:8.4f}  simulated {mean:8.4f} +- {half:.4f}  {verdict}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
