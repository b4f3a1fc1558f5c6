"""Who held what of which unit, and everything that follows, in plain loops over the columns of a result folder.

The package is used only to read Parquet files and the summary.
"""

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.results.folder import TABLES, to_json
from vinesim.formats.results.parquet import read_table

EPS = 1e-9


class Hold(NamedTuple):
    """A task was on a unit, and held an amount of its capacity."""

    task: int
    unit: int
    begin: float
    start: float  # NaN: it did not execute there
    end: float
    outcome: str
    amount: float
    part: int = 0  # which of the units that the task held at the time; 0: the one that it ran on


class Folder:
    """What a result folder says, or what would be written into one."""

    def __init__(self, path: Path | None, tables: dict[str, dict[str, np.ndarray]], summary: dict):
        self.path, self.tables, self.summary = path, tables, summary
        self.tasks, self.jobs, self.units = (self.rows(name) for name in ("tasks", "jobs", "units"))
        self.utilization, self.periods, self.applications = (
            self.rows(name) if name in tables else None for name in ("utilization", "periods", "applications")
        )
        self.makespan = summary["makespan_us"]
        self.names = summary["provenance"]["processor_types"]
        self.capacity = [unit["capacity"] for unit in self.units]
        self.has_segments = "segments" in tables
        self.failures: tuple = ()  # as they were drawn; a folder does not have them
        self.holds = self._segments() if self.has_segments else self._tasks()

    @classmethod
    def read(cls, path):
        """Read the files of a folder."""
        tables = {file.stem: read_table(file) for file in path.glob("*.parquet") if file.stem in TABLES}
        return cls(path, tables, json.loads((path / "summary.json").read_text()))

    @classmethod
    def of(cls, result):
        """Build the contents of a folder from a result, without files."""
        tables = {name: dict(table) for name in TABLES if (table := getattr(result, name)) is not None}
        folder = cls(None, tables, json.loads(to_json(result.summary)))
        folder.failures = result.outcome.failures
        return folder

    def rows(self, name):
        """The rows of a table, as dictionaries."""
        table = {column: values.tolist() for column, values in self.tables[name].items()}
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]

    def _tasks(self):
        found = []
        for row in self.tasks:
            if row["unit"] >= 0:
                end, is_done = row["finish_us"], row["finish_us"] == row["finish_us"]
                amount = row.get("amount", self.capacity[row["unit"]])
                outcome = "finished" if is_done else "unfinished"
                end = end if is_done else self.makespan
                found.append(Hold(row["task"], row["unit"], row["init_us"], row["start_us"], end, outcome, amount))
        return found

    def _segments(self):
        return [
            Hold(
                *(row[name] for name in ("task", "unit", "begin_us", "start_us")),
                row["end_us"] if row["end_us"] == row["end_us"] else self.makespan,
                *(row[name] for name in ("outcome", "amount")),
                row.get("part", 0),
            )
            for row in self.rows("segments")
        ]

    def groups(self):
        """Units by name of the group: all of types that run tasks, and each type in use."""
        resources = self.summary["provenance"].get("resources", [])
        found = {"all": []}
        for number, unit in enumerate(self.units):
            name = self.names[unit["unit_type"]]
            found.setdefault(name, []).append(number)
            if name not in resources:
                found["all"].append(number)
        return found

    def measured(self, unit, low, high):
        """(allocated, active) of a unit between two times: shares x us, and us."""
        here = [h for h in self.holds if h.unit == unit and h.begin < high and h.end > low]
        cuts = sorted({low, high, *(t for h in here for t in (h.begin, h.end) if low < t < high)})
        allocated = active = 0.0
        for a, b in itertools.pairwise(cuts):
            there = [h.amount / self.capacity[unit] for h in here if h.begin <= a and h.end >= b]
            allocated += sum(there) * (b - a)
            active += bool(there) * (b - a)
        return allocated, active

    def shares(self, units, low, high):
        """(allocated, active) of a group of units: of the capacity of all, and of the time of all."""
        if high <= low:
            return 0.0, 0.0
        of_units = {unit: self.measured(unit, low, high) for unit in units}
        held = sum(self.capacity[unit] * allocated for unit, (allocated, _) in of_units.items())
        of_capacity = held / (high - low) / sum(self.capacity[unit] for unit in units)
        return of_capacity, sum(active for _, active in of_units.values()) / (high - low) / len(units)

    @property
    def is_shared(self):
        """Whether what is allocated and active may be two things."""
        return "amount" in self.tasks[0] or len(set(self.capacity)) > 1

    def wait(self, row):
        """From the arrival to the last start, without the time on units before; NaN: it was never given to a unit."""
        earlier = (h for h in self.holds if h.task == row["task"] and h.part == 0 and h.begin < row["init_us"])
        return row["init_us"] - row["arrival_us"] - sum(h.end - h.begin for h in earlier)

    def job_wait(self, rows):
        """From the arrival to the last start of a job's tasks, without the times at which one of them held a unit."""
        tasks = {row["task"] for row in rows}
        holds = [h for h in self.holds if h.task in tasks and h.part == 0]
        last = max((h.begin for h in holds), default=math.nan)
        cuts = sorted({rows[0]["arrival_us"], *(t for h in holds for t in (h.begin, h.end) if t <= last)})
        free = (b - a for a, b in itertools.pairwise(cuts) if not any(h.begin <= a and h.end >= b for h in holds))
        return sum(free) if holds else math.nan


def nearest_rank(values, share):
    """Return the smallest value with at least this share of the values at or below it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share - 1))]


def close(found, expected, slack=1e-9):
    """Whether two numbers are equal except for rounding."""
    return abs(found - expected) <= slack * max(1.0, abs(expected))


@dataclass
class Room:
    """What the units had left for one waiting task, at any time."""

    folder: Folder
    task: int
    until: float
    needs: dict[int, float]  # by unit that can run it and meets its requests: what it takes there
    down: list[tuple[int, float, float]]  # unit, from when to when

    def left(self, time):
        """The room on each of those units at a time between events."""
        found = {}
        for unit in self.needs:
            if any(u == unit and a < time < b for u, a, b in self.down):
                continue
            others = (h for h in self.folder.holds if h.task != self.task or h.begin < self.until)
            load = sum(h.amount for h in others if h.unit == unit and h.begin < time < h.end)
            found[unit] = self.folder.capacity[unit] - load
        return found

    def free(self, time):
        """The units on which the task could have started."""
        capacity = self.folder.capacity
        return {
            unit
            for unit, room in self.left(time).items()
            if room > capacity[unit] * EPS and room + capacity[unit] * EPS >= self.needs[unit]
        }

    def is_fragmented(self, time):
        """Whether there was enough in all, and on no unit alone."""
        least = min(self.needs.values(), default=0.0)
        if least <= 0.0 or self.free(time):
            return False
        return sum(max(0.0, room) for room in self.left(time).values()) >= least * (1 - EPS)


def is_number(value):
    """Whether a value of a table is not missing."""
    return value is not None and not np.isnan(value)
