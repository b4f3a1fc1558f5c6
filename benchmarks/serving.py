"""Serving engines: 300 requests on one engine, and a million on a hundred, from requests to results."""

import numpy as np

import vinesim as vs
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, Target, figure
from vinesim.model.batching import Batching
from vinesim.model.step_times import StepTime
from vinesim.model.workload import NO_PREFERENCE

STEP = StepTime(base_us=11_800.0, prefill_token_us=52.0, sequence_us=30.0, memory_token_us=0.05)
PROMPT, ANSWER = 200, 200  # tokens, on average
MEMORY = 41_408  # tokens
ROUTERS = ("least_requests", "least_tokens", "power_of_two")


def scenario(n_requests: int, n_engines: int, rate: float, policy: str, memory_tokens: int = MEMORY) -> vs.Scenario:
    """Requests at a rate per second and engine: prompts by a Poisson, answers by a geometric distribution."""
    random = np.random.default_rng(1)
    prompt = np.maximum(1, random.poisson(PROMPT, n_requests))
    answer = np.minimum(random.geometric(1 / ANSWER, n_requests), memory_tokens - prompt - 16)
    batching = Batching(256, 2048, memory_tokens, STEP)
    zeros = np.zeros(n_requests, int)
    work = vs.Workload(
        zeros,
        np.arange(n_requests + 1),
        np.cumsum(random.exponential(1e6 / rate / n_engines, n_requests)),
        np.ones(n_requests),
        np.zeros(n_requests),
        zeros,
        zeros,
        np.full(n_requests, NO_PREFERENCE),
        task_types=(vs.TaskType("LLM"),),
        input_tokens=prompt,
        output_tokens=answer,
    )
    units = np.zeros(n_engines, int)
    center = vs.Datacenter(units, units, np.arange(n_engines), (vs.ProcessorType("ENGINE", batching=batching),))
    return vs.Scenario(center, work, policy, affinity=np.ones((1, 1)))


def measured(made: vs.Scenario, n: int) -> tuple[float, vs.Result]:
    """CPU time in s of ``simulate`` with its summary, the best of ``n`` runs."""

    def run() -> vs.Result:
        result = vs.simulate(made, engine="compiled")
        assert result.summary
        return result

    run()  # compiles
    return best_of(n, lambda: run)


def row(what: str, made: vs.Scenario, took_s: float, result: vs.Result) -> list[str]:
    assert result.outcome.serving is not None
    tokens = int(made.workload.output_tokens.sum())  # type: ignore[union-attr]
    put_back = int(result.outcome.serving.n_preemptions.sum())
    unit, took = (" ms", took_s * 1e3) if took_s < 1 else (" s", took_s)
    return [what, f"{tokens:,}", f"{put_back:,}", figure(took) + unit, figure(took_s / tokens * 1e9) + " ns"]


def run(quick: bool) -> Report:
    """All of it."""
    rows = []
    small = scenario(300, 1, 10.0, "high")
    small_s, result = measured(small, 10)
    rows.append(row("300 requests, 1 engine", small, small_s, result))
    full = scenario(300, 1, 50.0, "high", memory_tokens=10_000)
    rows.append(row("300 requests, 1 engine whose memory is full", full, *measured(full, 10)))
    n, n_engines, slowest_s = (20_000, 10, 0.0) if quick else (1_000_000, 100, 0.0)
    for policy in ROUTERS:
        made = scenario(n, n_engines, 15.0, policy)
        took_s, result = measured(made, 1)
        slowest_s = max(slowest_s, took_s)
        rows.append(row(f"{n:,} requests, {n_engines} engines, {policy}", made, took_s, result))
    targets = [Target("300 requests, 1 engine", small_s * 1e3, 20.0, 5.0, " ms", True)]
    if not quick:
        targets.append(Target("a million requests, 100 engines", slowest_s, 60.0, 15.0, " s", True))
    columns = ["", "tokens of answers", "put back", "simulate() and its summary", "a token"]
    note = f"CPU time of one thread. Prompts and answers have {PROMPT} tokens on average. Requests come at 10 a "
    note += "second, at 50 where the memory is full, and at 15 a second and engine."
    return Report([Table("Serving engines", columns, rows, note)], targets)
