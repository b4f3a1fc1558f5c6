"""Simulate the measured requests of one serving engine, and return how long each part takes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.formats.importers.serving_log import Requests
from vinesim.model.batching import Batching
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.step_times import StepTime
from vinesim.model.workload import NO_PREFERENCE, Workload

MEASURES = ("first token", "per token", "latency")
STATISTICS = ("mean", "p50", "p90", "p99")


def engine_with(settings: Mapping[str, Any], requests: Requests) -> Batching:
    """Return an engine with these settings and placeholder step times. If the size of its memory is not given, it never
    fills. Raises :class:`InputError`."""
    missing = [name for name in ("max_sequences", "max_batched_tokens") if name not in settings]
    if missing:
        remedy = "Or name the file of the engine's settings: --meta FILE.json."
        options = ["--" + name.replace("_", "-") for name in missing]
        raise InputError([Problem(one, "a number of the engine's settings", "none", remedy) for one in options])
    block = settings.get("block_tokens", Batching.block_tokens)
    n_blocks = -(-(requests.input_tokens + requests.output_tokens) // max(block, 1))
    engine = Batching(**{"memory_tokens": int(n_blocks.sum()) * block, **settings}, step=StepTime(base_us=1.0))
    ProcessorType("ENGINE", batching=engine)  # raises what is wrong
    return engine


def measured_times(requests: Requests) -> np.ndarray:
    """Return [3, N] the measured times of each request, us: to its first token, per further token (NaN: it has none),
    and to its last token."""
    return _times(requests, requests.first_token_us, requests.last_token_us)


def simulated_times(requests: Requests, batching: Batching) -> np.ndarray:
    """Return [3, N] the times of :func:`measured_times` on a simulated engine, us. Raises :class:`InputError`."""
    n = len(requests.queued_us)
    name = "ENGINE"
    work = Workload(
        job_task_type=np.zeros(n),
        job_first=np.arange(n + 1),
        arrival_us=requests.queued_us,
        operations=np.ones(n),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, NO_PREFERENCE),
        task_types=(TaskType("REQUEST"),),
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
    )
    center = Datacenter.of([(name, 0, 0)], (ProcessorType(name, batching=batching),))
    outcome = simulate(Scenario(center, work, affinity=np.ones((1, 1))), engine="compiled").outcome
    assert outcome.serving is not None
    return _times(requests, outcome.serving.first_token_us, outcome.task_finish_us)


def _times(requests: Requests, first_us: np.ndarray, last_us: np.ndarray) -> np.ndarray:
    n_later = requests.output_tokens - 1
    per_token = np.where(n_later > 0, (last_us - first_us) / np.maximum(n_later, 1), np.nan)
    return np.array([first_us - requests.queued_us, per_token, last_us - requests.queued_us])


def statistics(times_us: np.ndarray) -> np.ndarray:
    """Return [M, 4] the mean and percentiles of the known values of times [M, N]; NaN if there are none."""
    found = np.full((len(times_us), len(STATISTICS)), np.nan)
    for row, times in enumerate(times_us):
        known = times[np.isfinite(times)]
        if len(known):
            found[row] = [known.mean(), *np.percentile(known, [50, 90, 99])]
    return found
