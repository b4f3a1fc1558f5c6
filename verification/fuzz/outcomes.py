"""The possible outcomes of a damaged file, and how a command's answer is judged."""

import re
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import NamedTuple

from vinesim.cli.exit_codes import ExitCode

MOST_MEMORY = 1500  # MB, of which Python and the packages are 300
ENDS = (ExitCode.DONE, ExitCode.STALLED, ExitCode.NO_PLAN)  # with an answer
RAW = re.compile(
    r"NoneType|has no attribute|not subscriptable|not iterable|unsupported operand|cannot unpack|invalid literal|"
    r"could not convert|codec can't|\b\w+Exception\b|\b(?:Binder|Conversion|Invalid Input|Parser|IO|INTERNAL) Error|"
    r"Unable to allocate|divide by zero|\berrno\b|\(\S*\.py:\d+\)|"
    r"\b(?:Key|Type|Value|Index|Attribute|Overflow|Memory|Unicode\w*)Error\b"
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
DRAFT = re.compile(r"(^|/)\.[^/]*\.(tmp|partial|draft|old)[^/]*$")


class Outcome(StrEnum):
    """The outcome of an input; all but the first two are failures."""

    ACCEPTED = "accepted"
    REFUSED = "refused"  # with exit code 2 and a message
    UNCLEAR = "unclear message"  # none, or words of Python or a library, or control characters
    TRACEBACK = "traceback"
    WRONG_CODE = "wrong exit code"
    CRASH = "crash"
    SLOW = "too slow"
    MEMORY = "too much memory"
    HALF = "half-written output"
    CONTRADICTION = "contradiction"  # what one command accepted or wrote, the next refuses


GOOD = (Outcome.ACCEPTED, Outcome.REFUSED)


class Seen(NamedTuple):
    """How a command ended."""

    code: int | None  # None: it was stopped, as it took too long
    output: str
    errors: str
    cpu_s: float
    memory: float  # MB, at most
    traceback: str = ""  # of an exception that left the command


def outcome_of(seen: Seen, made: AbstractSet[str]) -> tuple[Outcome, str]:
    """Return the outcome of a command, and what shows it; ``made`` are the paths that it left behind."""
    if seen.code is None:
        return Outcome.SLOW, f"more than {seen.cpu_s:.0f} s"
    if seen.memory > MOST_MEMORY:
        return Outcome.MEMORY, f"{seen.memory:.0f} MB"
    if seen.code < 0:
        return Outcome.CRASH, f"the process ended, {seen.code}"
    if seen.traceback or "Traceback (most recent call last)" in seen.errors:
        return Outcome.TRACEBACK, (seen.traceback or seen.errors).strip().splitlines()[-1]
    if seen.code not in (*ENDS, ExitCode.BAD_INPUT):
        return Outcome.WRONG_CODE, f"{seen.code}: {seen.errors[:200]}"
    if seen.code == ExitCode.BAD_INPUT and made:
        return Outcome.HALF, f"refused, but there is {sorted(made)[0]}"
    if drafts := sorted(filter(DRAFT.search, made)):
        return Outcome.HALF, drafts[0]
    text = seen.errors + seen.output
    for what, found in (("", RAW.search(seen.errors)), ("control character", CONTROL.search(text))):
        if found:
            line = next(line for line in text.split("\n") if found[0] in line)
            return Outcome.UNCLEAR, f"{what or found[0]}: {line[max(0, line.index(found[0]) - 120) :][:300]!r}"
    if seen.code == ExitCode.BAD_INPUT and len(seen.errors.split()) < 4:
        return Outcome.UNCLEAR, f"nothing said: {seen.errors!r}"
    return (Outcome.REFUSED if seen.code == ExitCode.BAD_INPUT else Outcome.ACCEPTED), ""
