"""Guess the units that a log's column names do not give, from all columns together.

Times are in the unit of the arrivals or, if that is unknown, in the first unit in which both the log and its jobs have
plausible lengths. Memory is compared with what machines have per core. If several units are plausible, or none is, the
guess is marked as doubtful.
"""

from collections.abc import Mapping
from typing import NamedTuple

from vinesim.formats.importers.csv_columns import Column
from vinesim.formats.importers.report import Guess
from vinesim.formats.scenario.workload_columns import CLOCK, MEMORY_UNITS, PARTS, POINTS, UNITS
from vinesim.formats.source.quantities import format_bytes, format_time_us

SECONDS = "s"
NO_UNIT = {unit: UNITS[unit] for unit in ("s", "ms", "us", "ns")}  # possible units of times without one
LONGEST_US = 1e12  # longest plausible median duration: 11 days
LONGEST_LOG_US = 6.3e14  # 20 years
ENOUGH = 20  # jobs, of which most are shorter than the log
LIMITS = ("limit", "estimate")  # of which most are longer than the jobs
SIZES = ("", "kib", "mib", "gib")  # possible units of memory without one, each 1024 times the last
PER_CORE = 2.0**32  # typical bytes of memory per core; the unit closest to it is chosen
SURE, EVER = 8.0, 1024.0  # factors from the typical size that are certain, and that are possible at all


class Known(NamedTuple):
    """A column whose form is known: a unit, or date, epoch_ms, clock and so on."""

    column: Column
    form: str

    @property
    def unit(self) -> str:
        """The unit of the column's numbers; empty if it has none."""
        unit = self.form.removeprefix("epoch_")
        return unit if unit in UNITS else ""


class Units:
    """Guesses the units of the columns ``bare``, whose names give none, from the columns ``known``, whose names do.

    Both are by VineSim's names. If the unit of no time is known, times are in ``unit``, if that is plausible.
    """

    def __init__(self, known: Mapping[str, Known], bare: Mapping[str, Column], unit: str = SECONDS):
        self.known, self.bare = known, bare
        units = [known[stem].unit for stem in POINTS if stem in known and known[stem].unit]
        self.first = next(iter(units), unit)
        self.unit = next((unit for unit in (self.first, *NO_UNIT) if self._is_possible(unit)), "ns")

    def guesses(self) -> dict[str, Guess]:
        """Return the guess for each column without a unit, by its name in the log."""
        return {column.name: self._guess(stem, column) for stem, column in self.bare.items()}

    def doubt(self, stem: str) -> str:
        """Return why the known unit of a column may be wrong; empty if it is plausible."""
        if stem == "memory":
            column, form = self.known[stem]
            return self._memory_doubt(column.median * MEMORY_UNITS.get(form, 1.0), EVER)
        if stem == "time" and self._has_enough and self._median_us() > self._span_us():
            return "half of the jobs are longer than the log"
        return ""

    def _guess(self, stem: str, column: Column) -> Guess:
        if stem == "memory":
            return self._memory(column)
        if stem in POINTS:
            doubt = self._doubt() or self._other_unit()
            return _guess(f"{stem}_{self.unit}", f"no unit is given, {self.unit} is assumed", doubt)
        unit, doubt = self.unit, ""
        if stem == "time":
            doubt = self._doubt() or self._doubt_of_durations()
        elif stem in LIMITS:
            may_be = [u for u in (unit, "min", "h") if column.median * UNITS[u] >= self._median_us()]
            doubt = "" if unit in may_be else f"in {unit} it is less than the duration"
            unit = next(iter(may_be), unit)
        median = format_time_us(column.median * UNITS[unit])
        return _guess(f"{stem}_{unit}", f"no unit is given, in {unit} its median is {median}", doubt)

    def _is_possible(self, unit: str) -> bool:
        """Whether this unit is possible for the columns without one."""
        is_log = self._arrival in self.known or self._span_us(unit) <= LONGEST_LOG_US
        return is_log and ("time" not in self.bare or self._median_us(unit) <= LONGEST_US)

    def _doubt(self) -> str:
        """Return why the unit guessed for all columns without one may be wrong."""
        if self.unit == self.first:
            return ""
        span, median = self._span_us(self.first), self._median_us(self.first)
        what, us = (
            ("log", span) if self._arrival in self.bare and span > LONGEST_LOG_US else ("median duration", median)
        )
        return f"in {self.first} the {what} would be {format_time_us(us)}"

    def _other_unit(self) -> str:
        """Describe the doubt if durations have another unit than the arrivals, whose unit is guessed."""
        unit = self.known["time"].unit if "time" in self.known else ""
        return f"the durations are in {unit}" if unit not in ("", self.unit) else ""

    def _doubt_of_durations(self) -> str:
        if not self._are_shorter(self.unit):
            return "many jobs would be longer than the log"
        if self.unit != "s" and self._is_possible("s") and self._are_shorter("s"):
            return f"in s it would be {format_time_us(self._median_us('s'))}"
        return ""

    def _are_shorter(self, unit: str) -> bool:
        """Whether nearly all jobs are shorter than the log, if it has enough of them."""
        return not self._has_enough or self.bare["time"].high * UNITS[unit] <= self._span_us(unit)

    @property
    def _has_enough(self) -> bool:
        return any(column.n_rows >= ENOUGH for column in self._columns.values())

    @property
    def _columns(self) -> dict[str, Column]:
        return {stem: known.column for stem, known in self.known.items()} | dict(self.bare)

    @property
    def _arrival(self) -> str:
        return "arrival" if "arrival" in self._columns else "start"

    def _span_us(self, unit: str = "") -> float:
        """Return the time from first to last arrival, us, if columns without a unit have this one."""
        known = self.known.get(self._arrival)
        if known is not None and not known.unit:
            return known.column.dates_us
        column = self._columns.get(self._arrival)
        scale = UNITS[unit or self.unit] if known is None else UNITS[known.unit]
        return 0.0 if column is None else (column.high - column.low) * scale

    def _median_us(self, unit: str = "") -> float:
        """Return the median duration, us, if columns without a unit have this one; 0 if no column has durations."""
        if "time" in self.known:
            column, form = self.known["time"]
            return column.clock_us if form == CLOCK else column.median * UNITS[form]
        return self.bare["time"].median * UNITS[unit or self.unit] if "time" in self.bare else 0.0

    def _memory(self, column: Column) -> Guess:
        """Return the unit in which the memory per core of jobs is closest to that of typical machines."""
        sizes = {unit: column.median * MEMORY_UNITS.get(unit, 1.0) for unit in SIZES}
        likely = {unit: max(size / self._typical, self._typical / max(size, 1.0)) for unit, size in sizes.items()}
        unit = min(likely, key=likely.__getitem__)
        why = f"no unit is given, its median would be {format_bytes(sizes[unit])}"
        return _guess(f"memory_{unit}".rstrip("_"), why, self._memory_doubt(sizes[unit], SURE))

    def _memory_doubt(self, size: float, factor: float) -> str:
        """Describe the doubt if jobs have far more or less memory per core than typical machines."""
        is_likely = not size or 1 / factor <= size / self._typical <= factor
        return "" if is_likely else f"{format_bytes(size * PER_CORE / self._typical)} for each core"

    @property
    def _typical(self) -> float:
        """The bytes of memory that a typical machine has for a median job's cores (one core if no column has them)."""
        column, form = self.known.get("cores", (None, ""))
        scale = PARTS.get(form, 1.0)
        return PER_CORE * (column.median * scale or 1.0 if column is not None and column.is_number else 1.0)


def _guess(meaning: str, why: str, doubt: str) -> Guess:
    return Guess(meaning, f"its name; {why}" + (f"; {doubt}" if doubt else ""), bool(doubt))
