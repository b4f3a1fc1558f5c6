"""Continuous batching: a unit that is a serving engine of a language model.

The engine runs one step after another. A step computes tokens of prompts (prefill) and one token for each sequence that
decodes; how long it takes follows from what is in it (``model/step_times.py``). The rules of a step are in
``engine/reference_batching.py``. They are those of vLLM (Kwon et al., SOSP 2023).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import Problem
from vinesim.model.scalars import as_found, is_whole
from vinesim.model.speed_curves import ANY_TASK
from vinesim.model.step_times import StepTime

WHEN_FULL = RECOMPUTE, RESUME = ("recompute", "resume")
ROLES = BOTH, PREFILL, DECODE = ("both", "prefill", "decode")


@dataclass(frozen=True)
class Batching:
    """How a serving engine forms its steps, and how long they take."""

    max_sequences: int  # in a step
    max_batched_tokens: int  # in a step: of prompts, and one for each sequence that decodes
    memory_tokens: int  # that fit into the memory of the engine
    step: StepTime | Mapping[str, StepTime]  # of all task types, or by name; ANY_TASK: of those that are not named
    block_tokens: int = 16  # memory is allocated in blocks of this size
    when_full: str = RECOMPUTE  # what a sequence that is put back must do: compute its tokens again, or only go on
    prefix_caching: bool = False  # what others with the same prefix left in memory is found again, if not used since
    role: str = field(default=BOTH, metadata=IF_GIVEN)  # prefill: requests leave with their first token, for a decode
    token_bytes: int = field(default=0, metadata=IF_GIVEN)  # of the cache of a token, which such a request sends

    @property
    def n_blocks(self) -> int:
        """Blocks of memory."""
        return self.memory_tokens // self.block_tokens

    @property
    def longest(self) -> int:
        """The most tokens, of prompt and answer, of a request that fits into the memory alone: the last token of the
        answer needs no memory."""
        return self.n_blocks * self.block_tokens + 1

    def step_of(self, task_type: str) -> StepTime | None:
        """The time of a step for a task type; None: the engine does not serve it."""
        if isinstance(self.step, StepTime):
            return self.step
        return self.step.get(task_type, self.step.get(ANY_TASK))


def wrong_batching(name: str, batching: Batching) -> list[Problem]:
    """Find what is wrong with the batching of a processor type."""
    where = ("processor_types", name, "batching")
    numbers: dict[str, Any] = {
        one: getattr(batching, one) for one in ("max_sequences", "max_batched_tokens", "memory_tokens", "block_tokens")
    }
    problems = [
        Problem((*where, one), "a whole number, 1 to 2^31 - 1", as_found(value))
        for one, value in numbers.items()
        if not (is_whole(value) and 1 <= value < 2**31)
    ]
    if batching.when_full not in WHEN_FULL:
        problems.append(Problem((*where, "when_full"), "one of " + ", ".join(WHEN_FULL), repr(batching.when_full)))
    if batching.role not in ROLES:
        problems.append(Problem((*where, "role"), "one of " + ", ".join(ROLES), repr(batching.role)))
    if not (is_whole(batching.token_bytes) and 0 <= batching.token_bytes < 2**31):
        problems.append(Problem((*where, "token_bytes"), "bytes, 0 to 2^31 - 1", as_found(batching.token_bytes)))
    if not problems and batching.role == PREFILL and batching.token_bytes == 0:
        expected = "the size of the cache of a token, which an engine with role: prefill sends"
        remedy = "It is 2 x layers x KV heads x head size x bytes of a number: 128 KiB for an 8B model with 16 bits."
        problems.append(Problem((*where, "token_bytes"), expected, f"{batching.token_bytes}", remedy))
    if not problems and batching.max_batched_tokens < batching.max_sequences:
        expected = f"at least max_sequences ({batching.max_sequences}), so that each sequence can decode"
        problems.append(Problem((*where, "max_batched_tokens"), expected, f"{batching.max_batched_tokens}"))
    if not problems and batching.memory_tokens < batching.block_tokens:
        expected = f"at least one block ({batching.block_tokens})"
        problems.append(Problem((*where, "memory_tokens"), expected, f"{batching.memory_tokens}"))
    if batching.prefix_caching and batching.when_full == RESUME:
        expected = "when_full: recompute, as a sequence that resumes has its memory copied back"
        problems.append(Problem((*where, "prefix_caching"), expected, "when_full: resume", "Keep one of them."))
    steps = {"": batching.step} if isinstance(batching.step, StepTime) else batching.step
    if not steps:
        problems.append(Problem((*where, "step"), "the time of a step, or one for each of some task types", "none"))
    if problems:
        return problems
    limits = f"max_batched_tokens {batching.max_batched_tokens} and max_sequences {batching.max_sequences}"
    for name, step in steps.items():
        if step.profile is not None and (
            short := step.profile.short_of(batching.max_batched_tokens, batching.max_sequences)
        ):
            at = (*where, "step", name, "profile") if name else (*where, "step", "profile")
            remedy = "Profile larger steps, or lower the limits."
            problems.append(Problem(at, f"times of all steps, up to {limits}", "; ".join(short), remedy))
    return problems
