"""Find out from a column's name which of VineSim's columns it is, and in which unit.

Names are looked up in a list of words that other logs use (``workload_columns.MEANINGS``). Upper case, ``_`` and a
leading ``job`` are ignored, and for columns of times so is a last word such as ``time``.
"""

import re
from typing import NamedTuple

from vinesim.formats.scenario.workload_columns import (
    ALL,
    CALENDAR,
    CLOCK,
    KUBERNETES,
    MEANINGS,
    MEMORY_UNITS,
    NAMES,
    POINTS,
    SLURM,
    UNITS,
    WRITTEN,
)

TIME_WORDS = {word: unit for unit, words in {
    "s": "s sec secs second seconds", "ms": "ms msec millis millisecond milliseconds",
    "us": "us usec micros microsecond microseconds", "ns": "ns nanos nanosecond nanoseconds",
    "min": "min mins minute minutes", "h": "h hr hrs hour hours",
}.items() for word in words.split()}  # fmt: skip
SIZE_WORDS = {"b": "", "byte": "", "bytes": "", "k": "kib", "m": "mib", "g": "gib"} | {
    unit: unit for unit in MEMORY_UNITS
}
MILLI = "milli"
PREFIXES, SUFFIXES = ("job", "task", "pod"), ("time", "date", "timestamp", "ts", "at")
NOT_USED = {word: why for why, words in {
    "the simulated policy decides when and where a job starts": "wait waittime waiting queuetime queuedtime pending "
    "scheduled scheduledtime node host hostname nodelist machine server",
    "the statuses of jobs are only counted": "state status phase exitcode exitstatus result jobstate podphase",
    "the time that processors worked, not how many a job has": "cputime cputimeraw totalcpu usercpu systemcpu gputime",
}.items() for word in words.split()}  # fmt: skip
STATUS = [word for word, why in NOT_USED.items() if "counted" in why]


class Named(NamedTuple):
    """What the name of a column says."""

    stem: str  # our name without its unit; nothing: it says none
    unit: str = ""  # in the name
    rank: int = 0  # how sure the name makes it: 0 is surest
    why_not: str = ""  # of a name without a stem


def named(name: str) -> Named:
    """Return what a column's name says."""
    if name.lower() == "job":  # a row is a job: it is the log's own number
        return Named("job_id")
    if name in NAMES:
        stem = stem_of(name)
        return Named(stem, name.removeprefix(stem).lstrip("_"))
    words, unit = words_of(name)
    if "".join(words) in NOT_USED:
        return Named("", why_not=NOT_USED["".join(words)])
    shorter = words[1:] if words and words[0] in PREFIXES else words
    plain = shorter[:-1] if len(shorter) > 1 and shorter[-1] in SUFFIXES else []
    for rank, candidate in enumerate((words, shorter, plain), 1):
        stem = _known("".join(candidate))
        if stem and candidate is plain and not is_time(stem):
            return Named("", why_not=f"its name says {stem}, and a time, which {stem} is not")
        if stem and not _may_be_in(stem, unit):
            return Named("", why_not=f"its name says {stem}, but in {unit}, which is no unit of it")
        if stem:
            return Named(stem, unit, rank)
    if "." in name:  # a key of an object in an object
        return named(name.rpartition(".")[2])._replace(rank=4)
    return Named("", why_not="no meaning is known for this name")


def words_of(name: str) -> tuple[list[str], str]:
    """Return the words of a column's name in lower case, and the unit that its last word is."""
    plain = re.sub(r"\b([kKMGT]i?B)\b", lambda found: found[1].lower(), name)
    plain = re.sub(r"(?<=[A-Z])s\b", "S", plain)  # GPUs
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)]
    last = words[-1] if len(words) > 1 else ""
    if last in (*TIME_WORDS, MILLI) or (last in SIZE_WORDS and {"mem", "memory", "ram"} & set(words)):
        return words[:-1], last
    return words, ""


def stem_of(meaning: str) -> str:
    """Return a name of ours without its unit or form."""
    for form in (*CALENDAR, CLOCK, MILLI, SLURM, KUBERNETES, *UNITS, *MEMORY_UNITS):
        stem = meaning.removesuffix(f"_{form}")
        if stem != meaning and (meaning in WRITTEN or f"{stem}_us" in ALL or stem in POINTS):
            return stem
    return meaning


def is_time(stem: str) -> bool:
    """Whether a column is a point in time or a duration."""
    return stem in POINTS or f"{stem}_us" in ALL


def _known(word: str) -> str:
    """Return our name without unit for a word; nothing if there is none."""
    meaning = stem_of(MEANINGS.get(word, ""))
    return meaning or (word if word in ALL or is_time(word) else "")


def _may_be_in(stem: str, unit: str) -> bool:
    """Whether a column may have the unit in its name."""
    if unit == MILLI:
        return stem == "cores"
    return not unit or (is_time(stem) if unit in TIME_WORDS else stem == "memory")
