"""Serving engines: when requests make their tokens, where they go on, and what memories hold."""

import math
from collections.abc import Iterator

from tests.invariants.facts import Facts
from vinesim.model.batching import DECODE, PREFILL


def tokens_come_in_order(facts: Facts) -> Iterator[str]:
    """A request begins, is scheduled, makes its first token, and is done; with one token at once, else later."""
    for row in facts.folder.tasks if "first_token_us" in facts.folder.tables["tasks"] else ():
        task, begun = row["task"], row["start_us"]
        first, scheduled, end = (row[name] for name in ("first_token_us", "scheduled_us", "finish_us"))
        if facts.is_missing(first):
            if not facts.is_missing(end) and facts.is_engine(row["unit"]):
                yield f"task {task} ended without a token"
            continue
        begun = min((hold.start for hold in facts.holds_of[task] if hold.start == hold.start), default=math.nan)
        if not begun <= scheduled < first:
            yield f"task {task} begins at {begun}, is scheduled at {scheduled}, and makes its first token at {first}"
        is_one = facts.work.output_tokens[task] == 1
        if not (facts.is_missing(end) or (first == end if is_one else first < end)):
            yield f"task {task} makes its first token at {first}, and ends at {end}"


def roles_are_kept(facts: Facts) -> Iterator[str]:
    """A request leaves an engine that only prefills after its prompt, and none else; it begins on none that only
    decodes."""
    for task, holds in facts.holds_of.items():
        for i, hold in enumerate(holds):
            batching = facts.types[facts.unit_type[hold.unit]].batching
            role = None if batching is None else batching.role
            is_first = i == 0 or holds[i - 1].outcome != "prefilled"
            if role == (DECODE if is_first else PREFILL):
                yield f"task {task} is on unit {hold.unit}, which is for {role}"
            may_leave = role == PREFILL and facts.work.output_tokens[task] > 1
            if hold.outcome == "prefilled" and not may_leave:
                yield f"task {task} is prefilled on unit {hold.unit}, which does more"
            if hold.outcome == "finished" and role == PREFILL and may_leave:
                yield f"task {task} ends on unit {hold.unit}, which only prefills"


def memories_hold_what_fits(facts: Facts) -> Iterator[str]:
    """An engine has at most the tokens in memory that it has room for, and on average no more than at most."""
    for unit, row in enumerate(facts.folder.units):
        batching = facts.types[facts.unit_type[unit]].batching
        if batching is None or "memory_peak" not in row:
            continue
        peak, held = row["memory_peak"], row["memory_us"]
        if not 0 <= peak <= batching.memory_tokens or held > peak * facts.makespan * (1 + 1e-9):
            yield f"unit {unit} had {peak} of {batching.memory_tokens} tokens, {held} token us"
