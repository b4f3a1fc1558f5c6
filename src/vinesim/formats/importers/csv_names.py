"""Find out from a column's name which of VineSim's columns it is, and in which unit.

Names are looked up in a list of words that other logs use (``workload_columns.MEANINGS``). Upper case, ``_``, a leading
``job``, the order of two words and, for columns of times, a first or last word such as ``time`` are ignored. For
amounts, words for counts and requests are ignored too, as in ``gpu_num`` and ``num_cores_req``; a requested time is a
limit.
"""

import re
from typing import NamedTuple

from vinesim.formats.scenario.workload_columns import (
    ALL,
    CALENDAR,
    CLOCK,
    IN_PARTS,
    KUBERNETES,
    MEANINGS,
    MEMORY_UNITS,
    NAMES,
    PARTS,
    POINTS,
    SLURM,
    UNITS,
    WRITTEN,
)
from vinesim.model.tokens import COUNTS

TIME_WORDS = {word: unit for unit, words in {
    "s": "s sec secs second seconds", "ms": "ms msec millis millisecond milliseconds",
    "us": "us usec micros microsecond microseconds", "ns": "ns nanos nanosecond nanoseconds",
    "min": "min mins minute minutes", "h": "h hr hrs hour hours",
}.items() for word in words.split()}  # fmt: skip
SIZE_WORDS = {"b": "", "byte": "", "bytes": "", "k": "kib", "m": "mib", "g": "gib"} | {
    unit: unit for unit in MEMORY_UNITS
}
UNKNOWN = "no meaning is known for this name"
PREFIXES, SUFFIXES = ("job", "task", "pod"), ("time", "date", "timestamp", "ts", "at")
BEFORE_POINTS = ("time", "ts", "t")  # as in time_submit
RUNNING = ("run", "exec", "execution", "wall", "busy", "processing", "service")  # with a unit of time, a duration
COUNTING = ("n", "num", "nr", "number", "count")
ASKING = ("req", "request", "requests", "requested", "alloc", "allocated", "demand")
AMOUNTS = ("cores", "gpus", "total_gpus", "nodes", "memory", *COUNTS)
NOUNS = {word: stem for stem, words in {
    "cores": "cpu cpus vcpu vcpus core cores slots", "gpus": "gpu gpus", "memory": "mem memory ram vmem maxvmem",
}.items() for word in words.split()}  # fmt: skip
NOT_USED = {word: why for why, words in {
    "the simulated policy decides when and where a job starts": "wait waittime waiting queuetime queuedtime pending "
    "scheduled scheduledtime node host hostname nodelist machine server",
    "the statuses of jobs are only counted": "state status phase exitcode exitstatus result jobstate podphase",
    "the time that processors worked, not how many a job has": "cputime cputimeraw totalcpu usercpu systemcpu gputime",
}.items() for word in words.split()}  # fmt: skip
_OWN = {name.replace("_", ""): name for name in ALL}
STATUS = [word for word, why in NOT_USED.items() if "counted" in why]


class Named(NamedTuple):
    """The meaning that the name of a column suggests."""

    stem: str  # VineSim's name without its unit; empty if the name suggests none
    unit: str = ""  # the unit in the name
    rank: int = 0  # how certain the meaning is: 0 is most certain
    why_not: str = ""  # for a name without a stem


def named(name: str) -> Named:
    """Return the meaning that a column's name suggests."""
    if name.lower() == "job":  # a row is a job, so this is the log's own row number
        return Named("job_id")
    if name in NAMES:
        stem = stem_of(name)
        return Named(stem, name.removeprefix(stem).lstrip("_"))
    words, unit = words_of(name)
    if "".join(words) in NOT_USED:
        return Named("", why_not=NOT_USED["".join(words)])
    shorter = words[1:] if words and words[0] in PREFIXES else words
    plain = shorter[:-1] if len(shorter) > 1 and shorter[-1] in SUFFIXES else []
    turned = words[::-1] if len(words) == 2 else []
    for rank, candidate in enumerate((words, shorter, plain, turned), 1):
        stem = _known("".join(candidate))
        if stem and candidate is plain and not is_time(stem):
            return Named("", why_not=f"its name says {stem}, and a time, which {stem} is not")
        if stem and not _may_be_in(stem, unit):
            if stem in IN_PARTS and unit in PARTS:
                ways = f"{stem}_{unit}, or gpu_share_{unit} if another column counts them"
                return Named("", why_not=f"its name says parts of {stem}: give --column {name}={ways}")
            return Named("", why_not=f"its name says {stem}, but in {unit}, which is no unit of it")
        if stem:
            return Named(stem, unit, rank)
    if stem := _loosely(shorter, unit):
        return Named(stem, unit, 5)
    if "." in name:  # a key of an object in an object
        return named(name.rpartition(".")[2])._replace(rank=6)
    return Named("", why_not=UNKNOWN)


def _loosely(words: list[str], unit: str) -> str:
    """Return the stem of a name without its common words; empty if it is uncertain."""
    if words and words[0] in BEFORE_POINTS and (point := _known("".join(words[1:]))) in POINTS:
        return point
    if unit in TIME_WORDS and len(words) == 1 and words[0] in RUNNING:
        return "time"
    left = [word for word in words if word not in (*COUNTING, *ASKING)]
    noun = "".join(left)
    if _known(noun) == "time" and (
        {"req", "requested"} & set(words) or (noun == "walltime" and len(left) < len(words))
    ):
        return "limit"
    forms = (noun, f"{noun}s", noun.removeprefix("n")) if noun else ()
    return next((stem for stem in map(_known, forms) if stem in AMOUNTS and _may_be_in(stem, unit)), "")


def words_of(name: str) -> tuple[list[str], str]:
    """Return the words of a column's name in lower case, and its unit if the last word is one."""
    plain = re.sub(r"\b([kKMGT]i?B)\b", lambda found: found[1].lower(), name)
    plain = re.sub(r"(?<=[A-Z])s\b", "S", plain)  # GPUs
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)]
    last = words[-1] if len(words) > 1 else ""
    if last in (*TIME_WORDS, "milli") or (last in SIZE_WORDS and {"mem", "memory", "ram"} & set(words)):
        return words[:-1], last
    return words, ""


def stem_of(meaning: str) -> str:
    """Return one of VineSim's names without its unit or form."""
    for form in (*CALENDAR, CLOCK, *PARTS, SLURM, KUBERNETES, *UNITS, *MEMORY_UNITS):
        stem = meaning.removesuffix(f"_{form}")
        if stem != meaning and (meaning in WRITTEN or f"{stem}_us" in ALL or stem in POINTS):
            return stem
    return meaning


def is_time(stem: str) -> bool:
    """Whether a column is a point in time or a duration."""
    return stem in POINTS or f"{stem}_us" in ALL


def _known(word: str) -> str:
    """Return VineSim's name, without unit, for a word; empty if there is none."""
    meaning = stem_of(MEANINGS.get(word, ""))
    return meaning or _OWN.get(word, "") or (word if is_time(word) else "")


def _may_be_in(stem: str, unit: str) -> bool:
    """Whether a column may have the unit in its name."""
    if unit in PARTS:  # a share of a GPU is not known from the GPUs of the job by its name
        return stem == "cores"
    return not unit or (is_time(stem) if unit in TIME_WORDS else stem == "memory")
