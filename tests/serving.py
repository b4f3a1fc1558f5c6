"""Random scenarios with serving engines, small and nasty: memories of a few blocks, equal times, chunks of prompts."""

import math

import numpy as np

import vinesim as vs
from tests.strategies import Dice
from vinesim.model.batching import Batching
from vinesim.model.step_times import Exchange, StepProfile, StepTime
from vinesim.model.workload import NO_PREFERENCE

PROFILE = StepProfile(
    tokens=np.array([1.0, 10.0, 150.0]),
    tokens_us=np.array([1.0, 3.0, 20.0]),
    sequences=np.array([1.0, 100.0]),
    sequences_us=np.array([0.5, 2.0]),
    axes=tuple(np.array([0.0, most]) for most in (150.0, 80.0, 100.0, 80.0)),
    attention_us=np.arange(16.0).reshape(2, 2, 2, 2),
)
STEPS = (
    StepTime(base_us=1.0),
    StepTime(base_us=2.0, prefill_token_us=1.0),
    StepTime(base_us=0.1, prefill_token_us=0.3, sequence_us=0.7, memory_token_us=0.05),
    StepTime(profile=PROFILE, exchange=Exchange(base_us=0.5, token_us=0.01, times=2)),
)
NETWORK = vs.Network(local=100.0, intra_rack=50.0, inter_rack=20.0, hop_latency_us=0.5)


def engine_type(dice: Dice, p: int, role: str = "both") -> vs.ProcessorType:
    """A type of serving engines."""
    block_tokens, when_full = dice.pick((1, 2, 4, 16)), dice.pick(("recompute", "resume"))
    max_sequences = dice.pick((1, 2, 3, 8, 100))
    batching = Batching(
        max_sequences=max_sequences,
        max_batched_tokens=max_sequences + dice.pick((0, 1, 5, 50)),
        memory_tokens=dice.integer(max(16, block_tokens), 80),
        step=dice.pick(STEPS),
        block_tokens=block_tokens,
        when_full=when_full,
        prefix_caching=when_full == "recompute" and dice.integer(0, 1) == 1,
        role=role,
        token_bytes=dice.pick((1, 1000, 100_000)) if role == "prefill" else 0,
    )
    return vs.ProcessorType(f"ENGINE_{p}", batching=batching)


def serving_scenario(dice: Dice, policy: str = "high", **options: object) -> vs.Scenario:
    """A scenario some of whose units are serving engines."""
    types = [engine_type(dice, p) for p in range(dice.integer(1, 2))]
    if dice.integer(0, 2) == 2:
        types.append(vs.ProcessorType("CPU", capacity=float(dice.integer(1, 2))))
    n_task_types = dice.integer(1, 2)
    affinity = np.ones((len(types), n_task_types))
    if n_task_types == 2 and len(types) > 1:
        affinity[0, 1] = float(dice.integer(0, 1))  # one model of two on some engines
    n_units = dice.integer(1, 4)
    unit_type = np.array([dice.integer(0, len(types) - 1) for _ in range(n_units)])
    unit_type[0] = 0
    for t in np.flatnonzero(affinity[np.unique(unit_type)].max(axis=0) <= 0):
        affinity[0, t] = 1.0
    shelf = np.array([dice.integer(0, 2) for _ in range(n_units)])
    center = vs.Datacenter(unit_type, np.zeros(n_units, int), shelf, tuple(types))
    return vs.Scenario(
        center,
        requests(dice, n_task_types, min(one.batching.longest for one in types if one.batching is not None)),
        policy=policy,
        options=options,
        affinity=affinity,
        horizon_us=float(dice.integer(1, 200)) if dice.integer(0, 3) == 3 else math.inf,
        seed=dice.integer(0, 1000),
    )


def disaggregated(dice: Dice, policy: str = "high", **options: object) -> vs.Scenario:
    """A scenario in which some engines only prefill, others only decode, and some may do both, or be plain units."""
    roles = ["prefill", "decode", *(dice.pick(("prefill", "decode", "both")) for _ in range(dice.integer(0, 2)))]
    types = [engine_type(dice, p, role) for p, role in enumerate(roles)]
    longest = min(one.batching.longest for one in types if one.batching is not None)
    if dice.integer(0, 3) == 3:
        types.append(vs.ProcessorType("CPU", capacity=float(dice.integer(1, 2))))
    unit_type = np.array([*range(len(types)), *(dice.integer(0, len(types) - 1) for _ in range(dice.integer(0, 2)))])
    rack, shelf = (np.array([dice.integer(0, 1) for _ in unit_type]) for _ in range(2))
    n_task_types = dice.integer(1, 2)
    affinity = np.array([[dice.pick((1.0, 1.0, 2.0)) for _ in range(n_task_types)] for _ in types])
    return vs.Scenario(
        vs.Datacenter(unit_type, rack, shelf, tuple(types)),
        requests(dice, n_task_types, longest, dice.pick((1, 4))),
        policy=policy,
        options=options,
        affinity=affinity,
        network=dice.pick((vs.Network(), NETWORK, vs.Network(None, None, None))),
        horizon_us=float(dice.integer(1, 200)) if dice.integer(0, 3) == 3 else math.inf,
        seed=dice.integer(0, 1000),
    )


def sharing(dice: Dice, policy: str = "high") -> vs.Scenario:
    """A scenario whose engines find prefixes again in memories that are seldom large enough."""
    batching = Batching(
        max_sequences=dice.pick((2, 3, 8)),
        max_batched_tokens=8 + dice.pick((0, 3, 20)),
        memory_tokens=dice.integer(20, 60),
        step=dice.pick(STEPS),
        block_tokens=dice.pick((1, 2, 4)),
        prefix_caching=True,
    )
    places = np.arange(dice.integer(1, 2))
    center = vs.Datacenter(places * 0, places, places * 0, (vs.ProcessorType("ENGINE", batching=batching),))
    work = requests(dice, 1, batching.longest, dice.pick((1, 2, 4)))
    return vs.Scenario(center, work, policy, affinity=np.ones((1, 1)))


def requests(dice: Dice, n_task_types: int, longest: int, part: int = 1) -> vs.Workload:
    """Requests that fit into memories for ``longest`` tokens, their prompts into a part of it."""
    n_jobs = dice.integer(1, 14)
    n_tasks = [dice.pick((1, 1, 1, 3)) for _ in range(n_jobs)]
    first = np.concatenate([[0], np.cumsum(n_tasks)])
    gaps = [dice.pick((0.0, 0.0, 1.0, 2.0, 0.3, 20.0)) for _ in range(n_jobs)]
    prompts = np.array([dice.integer(1, max(1, (longest - 1) // part)) for _ in range(first[-1])])
    answers = np.array([dice.integer(1, max(1, min(longest - prompt, dice.pick((1, 5, 70))))) for prompt in prompts])
    after = np.array([[j - 1] if j and dice.integer(0, 3) == 3 else [] for j in range(n_jobs)], dtype=object)
    has_after = dice.integer(0, 3) == 3
    zeros = np.zeros(first[-1], int)
    return vs.Workload(
        np.array([dice.integer(0, n_task_types - 1) for _ in range(n_jobs)]),
        first,
        np.cumsum(gaps),
        np.full(first[-1], 3.0),
        np.zeros(first[-1]),
        zeros,
        zeros,
        np.full(first[-1], NO_PREFERENCE),
        deadline_us=np.cumsum(gaps) + 20.0,
        task_types=tuple(vs.TaskType(f"MODEL_{t}") for t in range(n_task_types)),
        input_tokens=prompts,
        output_tokens=answers,
        **({} if not has_after else _after(after)),
        **prefixes(dice, prompts, answers),
    )


def prefixes(dice: Dice, prompts: np.ndarray, answers: np.ndarray) -> dict[str, np.ndarray]:
    """What the requests share: of few prefixes or many, all of a prompt, a part, or some of the answer too."""
    n_prefixes = dice.pick((0, 1, 2, 5))
    if n_prefixes == 0:
        return {}
    most = prompts + answers
    return {
        "prefix": np.array([dice.integer(-1, n_prefixes - 1) for _ in prompts]),
        "prefix_tokens": np.array([dice.pick((0, n // 2, p, n)) for p, n in zip(prompts, most, strict=True)]),
    }


def _after(jobs: np.ndarray) -> dict[str, np.ndarray]:
    counts = [len(one) for one in jobs]
    return {
        "after_first": np.concatenate([[0], np.cumsum(counts)]),
        "after": np.array([job for one in jobs for job in one], np.int32),
    }
