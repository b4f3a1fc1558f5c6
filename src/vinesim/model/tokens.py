"""Requests to a language model: tokens of their prompts and answers, and how soon the answers should come."""

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.workload_columns import SHOWN

COUNTS = ("input_tokens", "output_tokens")
TOKENS = (*COUNTS, "first_token_within_us", "token_within_us", "prefix", "prefix_tokens")  # columns of a workload
NO_PREFIX = -1


def wrong_tokens(
    input_tokens: np.ndarray | None,
    output_tokens: np.ndarray | None,
    first_token_within_us: np.ndarray | None,
    token_within_us: np.ndarray | None,
) -> list[Problem]:
    """Find which columns of a workload about tokens, [N] each, lack the others that they need."""
    problems = []
    counts = dict(zip(COUNTS, (input_tokens, output_tokens), strict=True))
    if sum(column is not None for column in counts.values()) == 1:
        (given,) = (name for name, column in counts.items() if column is not None)
        (other,) = counts.keys() - {given}
        problems.append(Problem(f"workload.{other}", f"tokens of each task, as there are {given}", "none"))
    within = {"first_token_within_us": first_token_within_us, "token_within_us": token_within_us}
    for name, column in within.items():
        if column is not None and input_tokens is None and output_tokens is None:
            problems.append(Problem(f"workload.{name}", "input_tokens and output_tokens next to it", "none"))
    return problems


def wrong_prefixes(
    input_tokens: np.ndarray | None,
    output_tokens: np.ndarray | None,
    prefix: np.ndarray | None,
    prefix_tokens: np.ndarray | None,
) -> list[Problem]:
    """Find what is wrong with the columns of a workload about what requests share, [N] each."""
    if prefix is None and prefix_tokens is None:
        return []
    given = {"prefix": prefix, "prefix_tokens": prefix_tokens, COUNTS[0]: input_tokens, COUNTS[1]: output_tokens}
    problems = [
        Problem(("workload", name), "a value of each task, as there are prefixes", "none")
        for name, column in given.items()
        if column is None
    ]
    if prefix is None or prefix_tokens is None or input_tokens is None or output_tokens is None:
        return problems
    most = input_tokens + output_tokens
    for t in np.flatnonzero(prefix_tokens > most)[:SHOWN]:
        expected = f"0 to {most[t]}, the tokens of its prompt and its answer"
        problems.append(Problem(("workload", "prefix_tokens", int(t)), expected, f"{prefix_tokens[t]}"))
    return problems
