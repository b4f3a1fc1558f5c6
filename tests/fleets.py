"""Small fleets of serving engines, with requests that fill them."""

import numpy as np

import vinesim as vs
from vinesim.model.batching import Batching
from vinesim.model.step_times import StepTime

LARGE = vs.ProcessorType(
    "LARGE", batching=Batching(6, 64, 400, StepTime(50.0, 1.0, 0.5, 0.01), block_tokens=4, prefix_caching=True)
)
SMALL = vs.ProcessorType("SMALL", batching=Batching(3, 16, 200, StepTime(90.0, 3.0, 2.0, 0.02), block_tokens=4))


def fleet(policy, n=60, *, seed=0, types=(LARGE, SMALL, LARGE), weights=(1.0, 1.0), options=None, gap_us=150.0, **more):
    """Return a scenario of requests of about 20 + 12 tokens, one every ``gap_us``, some of them together.

    ``types`` are those of the engines, in the order of units; ``weights`` are the affinities of LARGE and SMALL.
    """
    random = np.random.default_rng(seed)
    kinds = [kind for kind in (LARGE, SMALL) if kind in types]
    arrival_us = np.cumsum(random.choice([0.0, gap_us, 2 * gap_us], n))
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), arrival_us, np.ones(n), *np.zeros((3, n)), np.full(n, -1),
        task_types=(vs.TaskType("llama"),), input_tokens=random.integers(1, 40, n),
        output_tokens=random.integers(1, 24, n), **more,
    )  # fmt: skip
    center = vs.Datacenter.of([(kind.name, 0, shelf) for shelf, kind in enumerate(types)], tuple(kinds))
    affinity = [[weights[0] if kind is LARGE else weights[1]] for kind in kinds]
    return vs.Scenario(center, work, policy, options or {}, affinity=affinity, seed=seed)
