"""Guess what the columns of a log are: by their names, the units in them, and their values.

Names are looked up in the words that other logs use (``workload_columns.MEANINGS``). A guess says why it was made, and
the user can correct it; a column without a meaning is left out.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from vinesim.formats.importers.csv_columns import Column
from vinesim.formats.scenario.workload_columns import (
    ALL,
    CALENDAR,
    CLOCK,
    CLOCKED,
    EMPTY,
    GANG,
    IGNORE,
    KUBERNETES,
    MEANINGS,
    MEMORY_UNITS,
    NAMES,
    NODES,
    POINTS,
    REQUESTED,
    SLURM,
    UNITS,
    WRITTEN,
)
from vinesim.formats.source.quantities import format_bytes, format_time_us

UNIT_WORDS = {word: unit for unit, words in {
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
}.items() for word in words.split()}  # fmt: skip
STATUS = [word for word, why in NOT_USED.items() if "counted" in why]
MAY_BE_EMPTY = {*EMPTY, *REQUESTED, *GANG, *NODES, "time_us"}  # in some rows: what is dropped has no time
EPOCH_S = (6.3e8, 4.1e9)  # 1990 to 2099
LONGEST_S = 1e6  # a median duration above 11 days is no number of seconds
NO_UNIT = {unit: UNITS[unit] for unit in ("s", "ms", "us", "ns")}  # that numbers without a unit may be in


class Guess(NamedTuple):
    """What a column was taken for: a name of ours, or ``ignore``, and the reason."""

    meaning: str
    why: str


def guessed(columns: list[Column], given: Mapping[str, str]) -> dict[str, Guess]:
    """Return what each column is; ``given`` says it for some."""
    found = {name: Guess(meaning, "as given") for name, meaning in given.items()}
    taken = {_stem(meaning): name for name, meaning in given.items() if meaning != IGNORE}
    asked = [column for column in columns if column.name not in given]
    by_stem: dict[str, list[tuple[int, Column, str]]] = {}
    for at, column in enumerate(asked):
        stem, unit, rank = named(column.name)
        if not stem:
            why = NOT_USED.get("".join(words_of(column.name)[0]), "no meaning is known for this name")
            found[column.name] = Guess(IGNORE, why)
        elif not column.n_filled:
            found[column.name] = Guess(IGNORE, "it is empty")
        else:
            by_stem.setdefault(stem, []).append((rank * len(asked) + at, column, unit))
    _settle_time(by_stem, taken)
    for stem, rivals in _in_order(by_stem):
        for _, column, unit in sorted(rivals, key=lambda rival: rival[0]):
            if stem in taken:
                found[column.name] = Guess(IGNORE, f"{stem} is already {taken[stem]}")
                continue
            guess = _of_values(stem, column, unit)
            n_empty = column.n_rows - column.n_filled
            if n_empty and stem not in ("arrival", "start", "end") and not {stem, f"{stem}_us"} & MAY_BE_EMPTY:
                guess = Guess(IGNORE, f"its name says {stem}, but {n_empty:,} cells are empty")
            found[column.name] = guess
            if guess.meaning != IGNORE:
                taken[stem] = column.name
    return _without_superfluous(found, taken, {column.name: column for column in columns})


def words_of(name: str) -> tuple[list[str], str]:
    """Return the words of a column's name in lower case, and the unit that its last word is."""
    plain = re.sub(r"\b([kKMGT]i?B)\b", lambda found: found[1].lower(), name)
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)]
    last = words[-1] if len(words) > 1 else ""
    if last in (*UNIT_WORDS, MILLI) or (last in SIZE_WORDS and {"mem", "memory", "ram"} & set(words)):
        return words[:-1], last
    return words, ""


def _stem(meaning: str) -> str:
    """Return a name of ours without its unit or form."""
    for form in (*CALENDAR, CLOCK, MILLI, SLURM, KUBERNETES, *UNITS, *MEMORY_UNITS):
        stem = meaning.removesuffix(f"_{form}")
        if stem != meaning and (meaning in WRITTEN or f"{stem}_us" in ALL or stem in POINTS):
            return stem
    return meaning


def named(name: str) -> tuple[str, str, int]:
    """Return our name without unit, the unit's word, and how sure the name makes it (0 is surest); "" for no name."""
    if name.lower() == "job":  # a row is a job: it is the log's own number
        return "job_id", "", 0
    if name in NAMES:
        stem = _stem(name)
        return stem, name.removeprefix(stem).lstrip("_"), 0
    words, unit = words_of(name)
    shorter = words[1:] if words and words[0] in PREFIXES else words
    plain = shorter[:-1] if len(shorter) > 1 and shorter[-1] in SUFFIXES else shorter
    for rank, candidate in enumerate((words, shorter, plain), 1):
        joined = "".join(candidate)
        meaning = _stem(MEANINGS.get(joined, ""))
        if not meaning and (joined in ALL or f"{joined}_us" in ALL or joined in POINTS):
            meaning = joined
        if meaning:
            return meaning, unit, rank
    return "", "", 0


def _settle_time(by_stem: dict[str, list[tuple[int, Column, str]]], taken: Mapping[str, str]) -> None:
    """A column that is only called time is the arrival if there is no other, else the duration."""
    plain = [rival for rival in by_stem.get("time", []) if rival[1].name.lower() in ("time", "date")]
    for rival in plain:
        if "arrival" not in by_stem and "arrival" not in taken:
            by_stem["time"].remove(rival)
            by_stem["arrival"] = [rival]
    if not by_stem.get("time", True):
        del by_stem["time"]


def _in_order(by_stem: Mapping[str, list[tuple[int, Column, str]]]) -> list[tuple[str, list[tuple[int, Column, str]]]]:
    """Points in time first: durations without a unit are held against them."""
    return sorted(by_stem.items(), key=lambda item: (item[0] not in POINTS, item[0] not in CLOCKED))


def _of_values(stem: str, column: Column, unit: str) -> Guess:
    """Return what a column of that name is by its values."""
    if stem in POINTS:
        return _point(stem, column, unit)
    if f"{stem}_us" in ALL:
        return _span(stem, column, unit)
    if stem == "memory":
        return _memory(column, unit)
    if stem == "cores" and not column.is_number and column.is_mostly(column.kubernetes_cores):
        return Guess(f"cores_{KUBERNETES}", "its name; cores as Kubernetes writes them, such as " + column.example[:20])
    if ALL[stem][0] != "VARCHAR" and not column.is_number:
        return Guess(IGNORE, f"its name says {stem}, but it holds texts such as {column.example[:20]!r}")
    if ALL[stem][0] in ("BIGINT", "INTEGER") and not column.is_mostly(column.wholes):
        return Guess(IGNORE, f"its name says {stem}, but its numbers are not whole")
    if unit == MILLI and stem != "cores":
        return Guess(IGNORE, f"its name says {stem} in thousandths, which only cores can be")
    return Guess(f"{stem}_{MILLI}", "its name and the unit in it") if unit == MILLI else Guess(stem, "its name")


def _point(stem: str, column: Column, unit: str) -> Guess:
    if column.is_mostly(column.dates):
        zone = "with time zones" if column.zoned == column.dates else "taken as UTC where no time zone is given"
        return Guess(f"{stem}_date", f"its name; dates, {zone}")
    if not column.is_number:
        return Guess(IGNORE, f"its name says {stem}, but {column.example[:25]!r} is neither a date nor a number")
    own = UNIT_WORDS.get(unit)
    for known in [own] if own in NO_UNIT else NO_UNIT if own is None else ():
        if EPOCH_S[0] <= column.median * NO_UNIT[known] / 1e6 <= EPOCH_S[1]:
            return Guess(f"{stem}_epoch_{known}", f"its name; numbers as large as {known} since 1970")
    if own is not None:
        return Guess(f"{stem}_{own}", "its name and the unit in it")
    return Guess(f"{stem}_s", "its name; no unit is given, s is assumed")


def _span(stem: str, column: Column, unit: str) -> Guess:
    if stem in CLOCKED and column.is_mostly(column.clocks):
        return Guess(f"{stem}_{CLOCK}", "its name; durations such as " + column.example[:20])
    if not column.is_number:
        return Guess(IGNORE, f"its name says {stem}, but it holds texts such as {column.example[:20]!r}")
    own = UNIT_WORDS.get(unit)
    if own is not None:
        return Guess(f"{stem}_{own}", "its name and the unit in it")
    by_size = next((u for u, us in NO_UNIT.items() if column.median * us / 1e6 <= LONGEST_S), "ns")
    median = format_time_us(column.median * NO_UNIT[by_size])
    return Guess(f"{stem}_{by_size}", f"its name; no unit is given, in {by_size} its median is {median}")


def _memory(column: Column, unit: str) -> Guess:
    if column.is_mostly(column.sizes):
        return Guess("memory", "its name; sizes such as " + column.example[:20])
    if column.is_mostly(column.slurm_sizes):
        return Guess(f"memory_{SLURM}", "its name; sizes as Slurm writes them, such as " + column.example[:20])
    if not column.is_number:
        return Guess(IGNORE, f"its name says memory, but {column.example[:20]!r} is no size such as 16 GiB")
    own = SIZE_WORDS.get(unit)
    if own is not None:
        return Guess(f"memory_{own}" if own else "memory", "its name and the unit in it")
    likely = "" if column.median >= 2**20 else "mib" if column.median >= 256 else "gib"
    median = format_bytes(column.median * MEMORY_UNITS.get(likely, 1.0))
    return Guess(
        f"memory_{likely}" if likely else "memory", f"its name; no unit is given, its median would be {median}"
    )


def _without_superfluous(
    found: dict[str, Guess], taken: Mapping[str, str], columns: Mapping[str, Column]
) -> dict[str, Guess]:
    """Leave out what other columns already say, or what needs a column that is not there."""
    left_out: dict[str, str] = {}
    if "time" in taken:
        left_out |= dict.fromkeys(("start", "end"), f"the time of a job is already {taken['time']}")
    elif "arrival" not in taken and "start" in taken:
        name = taken["start"]
        why = f"{found[name].why}; no column says when jobs were submitted, so they arrive when they started"
        found[name] = Guess(f"arrival{found[name].meaning.removeprefix('start')}", why)
    elif "end" not in taken:
        left_out["start"] = "the simulated policy decides when a job starts"
    left_out["partition"] = "name the partitions in a scenario first, then give it with --like"
    if "gpus" not in taken:
        left_out |= dict.fromkeys(("gpu_type", "gpu_share"), "there is no column of GPUs beside it")
    if "nodes" in taken and columns[taken["nodes"]].largest > 1 and found[taken["nodes"]].why != "as given":
        left_out["nodes"] = "here a job's cores would count on each node: give it if they do in this log"
    for stem, why in left_out.items():
        if stem in taken and found[taken[stem]].why != "as given" and _stem(found[taken[stem]].meaning) == stem:
            found[taken[stem]] = Guess(IGNORE, why)
    return {name: found[name] for name in columns}
