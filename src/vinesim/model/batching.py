"""Continuous batching: a unit that is a serving engine of a language model.

The engine runs one step after another. A step computes tokens of prompts (prefill) and one token for each sequence that
decodes; how long it takes follows from what is in it (``model/step_times.py``). The rules of a step are in
``engine/reference_batching.py``. They are those of vLLM (Kwon et al., SOSP 2023).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from vinesim.model.attributes import attribute, whole, wrong_attributes
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import Problem
from vinesim.model.speed_curves import ANY_TASK
from vinesim.model.step_times import StepTime

RECOMPUTE: Final = "recompute"
RESUME: Final = "resume"
BOTH: Final = "both"
PREFILL: Final = "prefill"
DECODE: Final = "decode"
WhenFull = Literal["recompute", "resume"]
Role = Literal["both", "prefill", "decode"]
WHEN_FULL, ROLES = get_args(WhenFull), get_args(Role)
TOKENS = whole(1, 2**31 - 1, "a whole number, 1 to 2^31 - 1")


@dataclass(frozen=True)
class Batching:
    """How a serving engine forms its steps, and how long they take."""

    # fmt: off
    max_sequences: int = field(metadata=attribute("The most sequences in a step (vLLM: max_num_seqs).", TOKENS))
    max_batched_tokens: int = field(metadata=attribute(
        "The most tokens that a step computes, at least max_sequences (vLLM: max_num_batched_tokens).", TOKENS))
    memory_tokens: int = field(metadata=attribute(
        "Tokens that fit into the memory of the engine (its KV cache).", TOKENS))
    step: StepTime | Mapping[str, StepTime] = field(metadata=attribute(  # by name; ANY_TASK: of those not named
        "How long a step takes; for all task types, or by task type. All that run on one engine need the same."))
    block_tokens: int = field(default=16, metadata=attribute(
        "Memory is allocated in blocks of this number of tokens.", TOKENS))
    when_full: WhenFull = field(default=RECOMPUTE, metadata=attribute(
        "What a sequence that was put back because the memory was full does when it returns: it computes its prompt "
        "and its answer so far again, or it resumes (its memory was copied out and back, which takes no time here)."))
    prefix_caching: bool = field(default=False, metadata=attribute(
        "Requests with the same prefix find its blocks that others computed and that were not used since; so does a "
        "sequence that was put back."))
    role: Role = field(default=BOTH, metadata=IF_GIVEN | attribute(
        "A request leaves an engine for prefill with its first token, and continues on one for decode or both, as "
        "soon as the network has sent its cache there. The policy chooses both engines."))
    token_bytes: int = field(default=0, metadata=IF_GIVEN | attribute(
        "Size of the cache for each token of a prompt; an engine for prefill sends it.",
        whole(0, 2**31 - 1, "bytes, 0 to 2^31 - 1")))
    # fmt: on

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
    problems = wrong_attributes(where, batching)
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
