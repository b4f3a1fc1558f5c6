"""How long a step of a serving engine takes, by what is in it: by a formula, or by profiled times of its kernels.

A step computes tokens of prompts (prefill) and one token for each sequence that decodes. Its time is the sum of

- ``base + prefill_token x p + sequence x n + memory_token x m``, with p tokens of prompts, n sequences that decode and
  m tokens that lie in memory for the sequences of the step;
- what a profile says, if there is one: a time by the tokens of the step, p + n; a time by its sequences; and a time of
  attention by p, the mean memory of the sequences in prefill, n, and the mean memory of those that decode;
- what the devices of one engine exchange: ``times x (base + token x (p + n))``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.scalars import as_found, is_0_or_more

BASE, PREFILL_TOKEN, SEQUENCE, MEMORY_TOKEN = range(4)
CHUNK, KV_PREFILL, N_DECODE, KV_DECODE = range(4)
AXES = ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode")
NO_TABLE = np.array([np.inf])  # as the numbers of a table that a profile lacks, whose only time is 0


@dataclass(frozen=True)
class Exchange:
    """What several devices of one engine exchange in each step, such as two all-reduces a layer."""

    base_us: float = 0.0  # of one exchange
    token_us: float = 0.0  # of one exchange, for each token of the step
    times: int = 1  # exchanges a step


@dataclass(frozen=True, eq=False)
class StepProfile:
    """Profiled times of a step, all layers together. Tables by one number are on the line between two entries."""

    tokens: np.ndarray  # [A] rising numbers of tokens in a step
    tokens_us: np.ndarray  # [A]
    sequences: np.ndarray  # [B] rising numbers of sequences in a step
    sequences_us: np.ndarray  # [B]
    axes: tuple[np.ndarray, ...]  # 4 x [C] rising numbers, as AXES
    attention_us: np.ndarray  # [C, C, C, C] by the axes, without gaps

    def short_of(self, max_tokens: int, max_sequences: int) -> list[str]:
        """Say which tables end before the largest step of an engine."""
        ends = (
            ("tokens", self.tokens[-1], max_tokens),
            ("sequences", self.sequences[-1], max_sequences),
            ("prefill_chunk of attention", self.axes[CHUNK][-1], max_tokens),
            ("n_decode of attention", self.axes[N_DECODE][-1], max_sequences),
        )
        return [f"{name} up to {end:g}, below {most:g}" for name, end, most in ends if end < most]


@dataclass(frozen=True, eq=False)
class StepTime:
    """The time of a step: the sum of a formula, a profile and an exchange."""

    base_us: float = 0.0
    prefill_token_us: float = 0.0  # for each token of prompts that the step computes
    sequence_us: float = 0.0  # for each sequence that decodes
    memory_token_us: float = 0.0  # for each token in memory of the sequences in the step
    profile: StepProfile | None = None
    exchange: Exchange | None = None

    def __post_init__(self) -> None:
        of_formula = ("base_us", "prefill_token_us", "sequence_us", "memory_token_us")
        parts: list[tuple[Steps, Any]] = [(("step", name), getattr(self, name)) for name in of_formula]
        if self.exchange is not None:
            of_exchange = ("base_us", "token_us", "times")
            parts += [(("step", "exchange", name), getattr(self.exchange, name)) for name in of_exchange]
        problems = [
            Problem(where, "a finite number, 0 or more", as_found(value))
            for where, value in parts
            if not is_0_or_more(value)
        ]
        if not problems and self.profile is None and not any(self.coefficients):
            problems.append(Problem("step", "a time above 0, or a profile", "0"))
        if problems:
            raise InputError(problems)

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """The four numbers of the formula with the exchange in them, as it is linear in the tokens too."""
        base_us, token_us = 0.0, 0.0
        if self.exchange is not None:
            base_us = self.exchange.times * self.exchange.base_us
            token_us = self.exchange.times * self.exchange.token_us
        return (
            self.base_us + base_us,
            self.prefill_token_us + token_us,
            self.sequence_us + token_us,
            self.memory_token_us,
        )


def step_columns(steps: Sequence[StepTime], max_tokens: int, max_sequences: int) -> dict[str, np.ndarray]:
    """Return the arrays that :func:`step_us` reads, for K step times and the largest step of any engine.

    - ``step_coefficients`` [K, 4] f8, us: of the formula, as ``BASE`` to ``MEMORY_TOKEN``
    - ``step_tokens_us`` [K, max_tokens + 1] f8, us by tokens in a step
    - ``step_sequences_us`` [K, max_sequences + 1] f8, us by sequences in a step
    - ``step_axis_length`` [K, 4] i8: entries of the four axes of attention; 0: no profile
    - ``step_axis`` [K, 4, C] f8: the entries; infinite after the last
    - ``step_attention_us`` [K, D] f8: us by the axes, the last one first to change

    Below the first entry of a table its time holds; beyond the last, times by tokens and by sequences grow in
    proportion. Without profiles all arrays but the first have no columns.
    """
    profiles = [step.profile for step in steps]
    known = [one for one in profiles if one is not None]
    n, longest = len(steps), max((len(axis) for one in known for axis in one.axes), default=0)
    columns = {
        "step_coefficients": np.array([step.coefficients for step in steps], np.float64).reshape(n, 4),
        "step_tokens_us": np.zeros((n, max_tokens + 1 if known else 0)),
        "step_sequences_us": np.zeros((n, max_sequences + 1 if known else 0)),
        "step_axis_length": np.zeros((n, 4), np.int64),
        "step_axis": np.full((n, 4, longest), np.inf),
        "step_attention_us": np.zeros((n, max((one.attention_us.size for one in known), default=0))),
    }
    for k, profile in enumerate(profiles):
        if profile is None:
            continue
        columns["step_tokens_us"][k] = _each(profile.tokens, profile.tokens_us, max_tokens)
        columns["step_sequences_us"][k] = _each(profile.sequences, profile.sequences_us, max_sequences)
        for i, axis in enumerate(profile.axes):
            columns["step_axis_length"][k, i] = len(axis)
            columns["step_axis"][k, i, : len(axis)] = axis
        columns["step_attention_us"][k, : profile.attention_us.size] = profile.attention_us.ravel()
    return columns


def _each(numbers: np.ndarray, times_us: np.ndarray, most: int) -> np.ndarray:
    """[most + 1] the time of each whole number by a table."""
    whole = np.arange(most + 1)
    return np.interp(whole, numbers, times_us) * np.maximum(1.0, whole / numbers[-1])


def step_us(times, kind, prefill_tokens, n_prefill, prefill_memory, n_decode, decode_memory):  # type: ignore[no-untyped-def]
    """The time of a step, us: of ``n_prefill`` sequences that compute ``prefill_tokens`` and have ``prefill_memory``
    tokens in memory before, all together; and of ``n_decode`` sequences with ``decode_memory`` tokens in memory, those
    that they compute included.

    ``times`` has the arrays of :func:`step_columns`; ``kind`` is the row. Plain Python and Numba give the same bits.
    """
    total = times.step_coefficients[kind, BASE]
    total += times.step_coefficients[kind, PREFILL_TOKEN] * prefill_tokens
    total += times.step_coefficients[kind, SEQUENCE] * n_decode
    total += times.step_coefficients[kind, MEMORY_TOKEN] * (prefill_memory + decode_memory)
    if times.step_axis_length[kind, CHUNK] > 0:
        total += times.step_tokens_us[kind, prefill_tokens + n_decode]
        total += times.step_sequences_us[kind, n_prefill + n_decode]
        kv_prefill = prefill_memory / n_prefill if n_prefill > 0 else 0.0
        kv_decode = decode_memory / n_decode if n_decode > 0 else 0.0
        total += attention_us(times, kind, prefill_tokens, kv_prefill, n_decode, kv_decode)
    return total


def attention_us(times, kind, chunk, kv_prefill, n_decode, kv_decode):  # type: ignore[no-untyped-def]
    """The time of attention in a step, us: on the line between entries along each axis, and beyond the last entry of an
    axis on the line through the last two; below the first entry that one holds."""
    i, j = cell(times, kind, CHUNK, chunk), cell(times, kind, KV_PREFILL, kv_prefill)
    k, m = cell(times, kind, N_DECODE, n_decode), cell(times, kind, KV_DECODE, kv_decode)
    along_i, along_j = along(times, kind, CHUNK, i, chunk), along(times, kind, KV_PREFILL, j, kv_prefill)
    along_k, along_m = along(times, kind, N_DECODE, k, n_decode), along(times, kind, KV_DECODE, m, kv_decode)
    total = 0.0
    for a in range(2):
        weight_a = along_i if a == 1 else 1.0 - along_i
        if weight_a == 0.0:
            continue
        at_a = (i + a) * times.step_axis_length[kind, KV_PREFILL]
        for b in range(2):
            weight_b = weight_a * (along_j if b == 1 else 1.0 - along_j)
            if weight_b == 0.0:
                continue
            at_b = (at_a + j + b) * times.step_axis_length[kind, N_DECODE]
            for c in range(2):
                weight_c = weight_b * (along_k if c == 1 else 1.0 - along_k)
                if weight_c == 0.0:
                    continue
                at_c = (at_b + k + c) * times.step_axis_length[kind, KV_DECODE]
                for d in range(2):
                    weight = weight_c * (along_m if d == 1 else 1.0 - along_m)
                    if weight != 0.0:
                        total += weight * times.step_attention_us[kind, at_c + m + d]
    return max(total, 0.0)


def cell(times, kind, axis, x):  # type: ignore[no-untyped-def]
    """The last entry of an axis that is not above ``x``, but the one before the last."""
    low, high = 0, times.step_axis_length[kind, axis] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if times.step_axis[kind, axis, middle] <= x:
            low = middle
        else:
            high = middle
    return low


def along(times, kind, axis, low, x):  # type: ignore[no-untyped-def]
    """How far ``x`` is from an entry of an axis to the next: 0 at the entry, 1 at the next, more beyond."""
    if times.step_axis_length[kind, axis] == 1 or x <= times.step_axis[kind, axis, low]:
        return 0.0
    begin = times.step_axis[kind, axis, low]
    return (x - begin) / (times.step_axis[kind, axis, low + 1] - begin)
