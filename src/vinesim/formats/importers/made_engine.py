"""Make a serving engine for a log of requests with tokens that does not describe its engine."""

from typing import Any

from vinesim.model.tokens import COUNTS
from vinesim.model.workload import Workload

ENGINE = "ENGINE"
MEMORY_TOKENS = 40_000
BLOCK_TOKENS = 16
STEP = {"base": "11.8 ms", "prefill_token": "52 us", "sequence": "30 us", "memory_token": "0.05 us"}
ON_ENGINE = (
    "the log does not say what served the requests: the scenario has one engine, with example times of a step (about "
    "those of an 8B model on one consumer GPU); replace them by those that vinesim fit serving finds, or give --like"
)


def has_tokens(meanings: set[str]) -> bool:
    """Whether a log with columns of these meanings gives the tokens of each request."""
    return set(COUNTS) <= meanings


def made_engine(work: Workload) -> dict[str, Any]:
    """Return types and a datacenter with one engine, whose memory holds the longest request."""
    assert work.input_tokens is not None
    assert work.output_tokens is not None
    longest = int((work.input_tokens + work.output_tokens).max())
    blocks = -(-max(MEMORY_TOKENS, longest) // BLOCK_TOKENS)
    batching = {
        "max_sequences": 256,
        "max_batched_tokens": 2048,
        "memory_tokens": blocks * BLOCK_TOKENS,
        **({} if work.prefix is None else {"prefix_caching": True}),
        "step": STEP,
    }
    return {
        "extends": "none",
        "processor_types": [{"name": ENGINE, "batching": batching}],
        "task_types": [one.name for one in work.task_types],
        "affinity": {"absolute": {ENGINE: 1}},
        "network": "none",
        "datacenter": {"racks": [{"units": {ENGINE: 1}}]},
        "policy": "least_requests",
    }
