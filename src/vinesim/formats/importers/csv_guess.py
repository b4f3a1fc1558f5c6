"""Guess what the columns of a log mean, from their names, the units in the names, and their values.

Each guess has a reason, and the user can correct it. Columns without a meaning are ignored. Most cells of a column
decide what it holds; rows with other cells are dropped later. See ``csv_names`` and ``csv_units``.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from vinesim.formats.importers.csv_columns import Column
from vinesim.formats.importers.csv_names import (
    NOUNS,
    SIZE_WORDS,
    TIME_WORDS,
    UNKNOWN,
    Named,
    is_time,
    named,
    stem_of,
    words_of,
)
from vinesim.formats.importers.csv_units import NO_UNIT, SECONDS, Known, Units
from vinesim.formats.importers.report import Guess
from vinesim.formats.scenario.workload_columns import (
    ALL,
    CALENDAR,
    CLOCK,
    CLOCKED,
    EMPTY,
    GANG,
    IGNORE,
    IN_PARTS,
    KUBERNETES,
    PARTS,
    POINTS,
    REQUESTED,
    SLURM,
    TOTAL,
    UNITS,
)
from vinesim.model.tokens import COUNTS

MAY_BE_EMPTY = {  # columns with values in some rows; rows without times or tokens are dropped
    *(*EMPTY, *REQUESTED, *GANG, *TOTAL, *POINTS, *COUNTS, "time_us", "user", "partition")
}
ONLY_A_NAME = ("job_id",)  # not worth dropping rows: such a column is used only if all of its cells can be read
BARE = "bare"  # the meaning of a column of times or memory without a unit, until all units are guessed together
EPOCH_S = (6.3e8, 4.1e9)  # 1990 to 2099


class Rival(NamedTuple):
    """A candidate column for a stem, such as ``arrival``."""

    column: Column
    name: Named


def guessed(columns: list[Column], given: Mapping[str, str], unit: str = SECONDS) -> dict[str, Guess]:
    """Return the guessed meaning of each column.

    ``given`` are the meanings set by the user; ``unit`` is the unit of times whose names give none.
    """
    found = {name: Guess(meaning, "as given") for name, meaning in given.items()}
    taken = {stem_of(meaning): name for name, meaning in given.items() if meaning != IGNORE}
    by_stem: dict[str, list[Rival]] = {}
    for column in columns:
        if column.name in given:
            continue
        name = named(column.name)
        if not name.stem:
            found[column.name] = Guess(IGNORE, name.why_not)
        elif not column.n_filled:
            found[column.name] = Guess(IGNORE, "it is empty")
        else:
            by_stem.setdefault(name.stem, []).append(Rival(column, name))
    _settle_time(by_stem, taken)
    _settle_walltime(by_stem, taken)
    for stem, rivals in by_stem.items():
        for column, name in sorted(rivals, key=lambda rival: rival.name.rank):
            if stem in taken:
                found[column.name] = Guess(IGNORE, f"{stem} is already {taken[stem]}")
                continue
            found[column.name] = _of_values(stem, column, name.unit)
            if found[column.name].meaning != IGNORE:
                taken[stem] = column.name
    by_name = {column.name: column for column in columns}
    found = _with_units(found, taken, by_name, unit)
    found = _without_superfluous(found, taken, by_name)
    return found | _sizes_not_used(found, taken.keys(), by_name)


def _sizes_not_used(
    found: Mapping[str, Guess], taken: Collection[str], columns: Mapping[str, Column]
) -> dict[str, Guess]:
    """Mark ignored columns of numbers that may be the sizes of jobs, if no other column gives these."""
    marked = {}
    for name, guess in found.items():
        nouns = (NOUNS[word] for word in words_of(name)[0] if word in NOUNS)
        stem = next(nouns, "")
        is_said = stem in taken or (stem == "gpus" and "total_gpus" in taken)
        if guess.why == UNKNOWN and stem and not is_said and columns[name].is_number and columns[name].n_filled:
            remedy = f"if it says the {stem} of a job, give --column {name}={stem}"
            if stem in IN_PARTS:
                remedy += f", or {stem}_percent or {stem}_milli if it is in hundredths or thousandths"
            marked[name] = Guess(IGNORE, f"{guess.why}; {remedy}", is_doubtful=True)
    return marked


def _settle_time(by_stem: dict[str, list[Rival]], taken: Mapping[str, str]) -> None:
    """Decide what a column named only "time" is: the arrival if no other column is, otherwise the duration."""
    plain = [rival for rival in by_stem.get("time", []) if rival.column.name.lower() in ("time", "date")]
    for rival in plain:
        if "arrival" not in by_stem and "arrival" not in taken:
            by_stem["time"].remove(rival)
            by_stem["arrival"] = [rival]
    if not by_stem.get("time", True):
        del by_stem["time"]


def _settle_walltime(by_stem: dict[str, list[Rival]], taken: Mapping[str, str]) -> None:
    """Treat a wall time as the limit if another column gives durations and none gives limits."""
    wall = [rival for rival in by_stem.get("time", []) if "".join(words_of(rival.column.name)[0]).endswith("walltime")]
    others = [rival for rival in by_stem.get("time", []) if rival not in wall]
    if wall and (others or "time" in taken) and "limit" not in by_stem and "limit" not in taken:
        by_stem["limit"] = wall
        by_stem["time"] = others


def _of_values(stem: str, column: Column, unit: str) -> Guess:
    """Return the meaning of a column with this stem, judged by its values."""
    n_empty = column.n_rows - column.n_filled
    if n_empty and not {stem, f"{stem}_us"} & MAY_BE_EMPTY:
        return _unfit(stem, f"{n_empty:,} cells are empty")
    if stem in POINTS:
        return _point(stem, column, unit)
    if is_time(stem):
        return _span(stem, column, unit)
    if stem == "memory":
        return _memory(column, unit)
    if stem == "cores" and column.kubernetes_cores > column.numbers and column.is_mostly(column.kubernetes_cores):
        return Guess(f"cores_{KUBERNETES}", "its name; cores as Kubernetes writes them, such as " + column.example[:20])
    kind = ALL[stem][0]
    if kind != "VARCHAR" and not column.is_number:
        return _unfit(stem, f"it holds texts such as {column.example[:20]!r}")
    if kind in ("BIGINT", "INTEGER") and not column.is_mostly(column.wholes):
        return _unfit(stem, "its numbers are not whole")
    if stem == "gpus" and not column.is_mostly(column.wholes + column.shares):
        return _unfit(stem, "its numbers are neither whole nor below 1")
    if stem in ONLY_A_NAME and column.wholes < column.n_filled:
        return _unfit(stem, "not all its cells are whole numbers")
    return Guess(f"{stem}_{unit}", "its name and the unit in it") if unit in PARTS else Guess(stem, "its name")


def _unfit(stem: str, reason: str) -> Guess:
    """Return a doubtful guess that ignores a column, because its values contradict its name."""
    return Guess(IGNORE, f"its name says {stem}, but {reason}", stem not in ONLY_A_NAME)


def _point(stem: str, column: Column, unit: str) -> Guess:
    if column.is_mostly(column.dates):
        zone = "with time zones" if column.zoned == column.dates else "taken as UTC where no time zone is given"
        return Guess(f"{stem}_date", f"its name; dates, {zone}")
    if not column.is_number:
        return _unfit(stem, f"{column.example[:25]!r} is neither a date nor a number")
    own = TIME_WORDS.get(unit, "")
    epoch = next((u for u in (own, *NO_UNIT) if u in NO_UNIT and _is_epoch(column, NO_UNIT[u])), "")
    is_far = own != "" and column.high * UNITS[own] / 1e6 > EPOCH_S[1]
    if own not in ("", epoch) and not (epoch and is_far):
        return Guess(f"{stem}_{own}", "its name and the unit in it")
    if not epoch:
        return Guess(BARE, "")
    other = f", though its name says {own}" if own not in ("", epoch) else ""
    return Guess(f"{stem}_epoch_{epoch}", f"its name; numbers as large as {epoch} since 1970{other}", bool(other))


def _is_epoch(column: Column, us: float) -> bool:
    """Whether numbers in a unit of ``us`` us may be times since 1970, in recent decades."""
    return EPOCH_S[0] <= column.low_above_0 * us / 1e6 and column.high * us / 1e6 <= EPOCH_S[1]


def _span(stem: str, column: Column, unit: str) -> Guess:
    if stem in CLOCKED and column.is_mostly(column.clocks):
        return Guess(f"{stem}_{CLOCK}", "its name; durations such as " + column.example[:20])
    if not column.is_number:
        return _unfit(stem, f"it holds texts such as {column.example[:20]!r}")
    own = TIME_WORDS.get(unit, "")
    return Guess(f"{stem}_{own}", "its name and the unit in it") if own else Guess(BARE, "")


def _memory(column: Column, unit: str) -> Guess:
    if column.is_mostly(column.sizes):
        return Guess("memory", "its name; sizes such as " + column.example[:20])
    if column.is_mostly(column.slurm_sizes):
        return Guess(f"memory_{SLURM}", "its name; sizes as Slurm writes them, such as " + column.example[:20])
    if not column.is_number:
        return _unfit("memory", f"{column.example[:20]!r} is no size such as 16 GiB")
    own = SIZE_WORDS.get(unit)
    if own is None:
        return Guess(BARE, "")
    return Guess(f"memory_{own}" if own else "memory", "its name and the unit in it")


def _with_units(
    found: Mapping[str, Guess], taken: Mapping[str, str], columns: Mapping[str, Column], unit: str
) -> dict[str, Guess]:
    """Choose units for columns whose names give none, and mark inconsistent units as doubtful."""
    bare = {stem: columns[name] for stem, name in taken.items() if found[name].meaning == BARE}
    known = {
        stem: Known(columns[name], found[name].meaning.removeprefix(stem).lstrip("_"))
        for stem, name in taken.items()
        if stem not in bare
    }
    units = Units(known, bare, unit)
    settled = dict(found) | units.guesses()
    for stem in known:
        guess, doubt = found[taken[stem]], units.doubt(stem)
        if doubt and guess.why != "as given":
            settled[taken[stem]] = Guess(guess.meaning, f"{guess.why}; {doubt}", is_doubtful=True)
    return settled


def _is_calendar(guess: Guess) -> bool:
    return guess.meaning.partition("_")[2] in CALENDAR


def _without_superfluous(
    found: dict[str, Guess], taken: Mapping[str, str], columns: Mapping[str, Column]
) -> dict[str, Guess]:
    """Ignore columns that repeat others, or that need a column that is missing."""
    left_out: dict[str, str] = {}
    if taken.keys() >= set(COUNTS):
        left_out |= dict.fromkeys(("time", "end"), "an engine's steps say how long a request takes")
    if "time" in taken:
        left_out["end"] = f"the time of a job is already {taken['time']}"
    if "arrival" not in taken and "start" in taken:
        name = taken["start"]
        why = f"{found[name].why}; no column says when jobs were submitted, so they arrive when they started"
        found[name] = found[name]._replace(meaning=f"arrival{found[name].meaning.removeprefix('start')}", why=why)
    elif {"arrival", "start"} <= taken.keys() and _is_calendar(found[taken["start"]]) != _is_calendar(
        found[taken["arrival"]]
    ):
        left_out["start"] = "it is not a date as the arrivals are, or they are not"
    is_guessed = "end" in taken.keys() - left_out.keys() and found[taken["end"]].why != "as given"
    if is_guessed and not {"time", "start"} & taken.keys():
        name = taken["end"]
        why = f"{found[name].why}; no column says when jobs started, so their times count from their arrivals"
        found[name] = found[name]._replace(why=why, is_doubtful=True)
    left_out["partition"] = "name the partitions in a scenario first, then give it with --like"
    if not {"gpus", "total_gpus"} & taken.keys():
        left_out |= dict.fromkeys(("gpu_type", "gpu_share"), "there is no column of GPUs")
    if "nodes" in taken and "tasks_per_node" not in taken and columns[taken["nodes"]].largest > 1:
        left_out["nodes"] = "here a job's cores would count on each node: if they do, say --column NAME=nodes"
        if "gpus" in taken:
            left_out["nodes"] += f"; if its GPUs are those of all nodes, say --column {taken['gpus']}=total_gpus"
    if not {"gang", "nodes"} & (taken.keys() - left_out.keys()):
        left_out |= dict.fromkeys(("tasks_per_node", "spread"), "there is no column gang or nodes")
    for stem, why in left_out.items():
        if stem in taken and found[taken[stem]].why != "as given" and stem_of(found[taken[stem]].meaning) == stem:
            found[taken[stem]] = Guess(IGNORE, why, is_doubtful=stem == "nodes")
    return {name: found[name] for name in columns}
