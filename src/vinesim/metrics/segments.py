"""Segments: which task held how much of which unit, from when to when, and why it ended.

A task has one segment, or several if outages interrupted it or a batch policy moved it. A segment has one row, or one
for each unit where the task held several. All results about units start here: how long they were active, how much of
them was allocated, their energy, the pictures and explanations.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.model.result import Outcome, Table
from vinesim.state.demand import amounts

OUTCOMES = ("finished", "unfinished", "moved", "interrupted")  # why a segment ended; unfinished: the run ended
FINISHED, UNFINISHED, MOVED, INTERRUPTED = range(4)
NO_AMOUNTS = np.empty(0)
Stretches = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # unit, begin, end, us; and a level, such as a load


@dataclass(frozen=True, eq=False)
class Segments:
    """S rows: first that of the last segment of each task, in trace order, then those of the earlier ones, then one for
    each further unit that a task held in one of these.

    For K runs that all finished, with one segment per task, [..., S] means [K, S]. Units index ``capacity``.
    """

    task: np.ndarray  # [S] int64
    unit: np.ndarray  # [..., S] int32; -1: the task never had one
    begin_us: np.ndarray  # [..., S] float64: when it was given to the unit; NaN: never
    start_us: np.ndarray  # [..., S] float64: when its data was there and it began to execute; NaN: never
    finish_us: np.ndarray  # [..., S] float64: when it left the unit; NaN: it was there when the run ended
    moved: slice  # segments ended by a move
    interrupted: slice  # segments ended by an outage
    followers: np.ndarray  # segments of tasks consolidated behind a leader, which holds the unit for all
    run_end_us: Any  # [...] us
    demand: Any  # [N] of the tasks, or ONE_SLOT for all
    capacity: np.ndarray  # [U]
    row: np.ndarray  # [S] int64: the row of the segment's first unit; its own, if it is that
    further_amount: np.ndarray  # [F] float64: what was held of the units of the last F rows, the further units
    is_shared: bool  # units can hold several tasks, or part of them is free; else each task holds a whole unit

    @property
    def outcome(self) -> np.ndarray:
        """[S] why each segment ended, of OUTCOMES; for a single run."""
        found = np.where(np.isnan(self.finish_us), UNFINISHED, FINISHED)
        found[self.moved], found[self.interrupted] = MOVED, INTERRUPTED
        return np.array(OUTCOMES)[found[self.row]]

    @property
    def n_units(self) -> int:
        """The number of units, U."""
        return len(self.capacity)

    @cached_property
    def end_us(self) -> np.ndarray:
        """[..., S] us: when it left the unit, or the run's end if it did not."""
        return np.where(np.isnan(self.finish_us), np.expand_dims(self.run_end_us, -1), self.finish_us)

    @cached_property
    def amount(self) -> np.ndarray:
        """[..., S] the amount held of the unit's capacity; 0 for followers."""
        demand = self.demand if np.ndim(self.demand) == 0 else self.demand[self.task]
        if not self.is_shared:
            return self.capacity[self.unit]
        held = np.array(amounts(demand, self.capacity[self.unit]))
        held[..., self.followers] = 0.0
        if len(self.further_amount):
            held[-len(self.further_amount) :] = self.further_amount
        return held

    @cached_property
    def share(self) -> np.ndarray:
        """[..., S] the amount held as a share of the unit's capacity."""
        if not self.is_shared:
            return np.broadcast_to(1.0, self.unit.shape)
        return self.amount / self.capacity[self.unit]

    @cached_property
    def ordered(self) -> Stretches:
        """Segments that held a unit, without followers, as stretches of their shares, by unit and begin. Units of
        several runs are numbered as in :func:`numbered`."""
        leads = self.unit >= 0
        leads[..., self.followers] = False
        unit, begin = numbered(self.unit, self.n_units)[leads], self.begin_us[leads]
        order = np.lexsort((begin, unit))
        return unit[order], begin[order], self.end_us[leads][order], self.share[leads][order]

    def table(self) -> Table:
        """Return one row per segment and unit, task by task in the order of time, the unit that it ran on first."""
        is_further = self.row != np.arange(len(self.row))
        rows = np.lexsort((self.unit, is_further, self.row, self.end_us, self.begin_us, self.task))
        rows = rows[self.unit[rows] >= 0]
        begins = ~is_further[rows]
        parts = {"part": _count_within(self.row[rows], np.ones(len(rows), bool))} if is_further.any() else {}
        return Table(
            {
                "task": self.task[rows],
                "segment": _count_within(self.task[rows], begins),
                **parts,
                "unit": self.unit[rows],
                "begin_us": self.begin_us[rows],
                "start_us": self.start_us[rows],
                "end_us": self.finish_us[rows],
                "outcome": self.outcome[rows],
                "amount": self.amount[rows],
            }
        )


def segments_of(outcome: Outcome, demand: Any, capacity: np.ndarray) -> Segments:
    """Return the segments of a run, or of K runs. ``demand`` is [N], or one for all; ``capacity`` [U] of the units."""
    task = np.arange(outcome.task_unit.shape[-1])
    unit, begin, start = outcome.task_unit, outcome.task_init_us, outcome.task_start_us
    finish, followers = outcome.task_finish_us, outcome.followers
    moved = interrupted = slice(len(task), len(task))
    if outcome.stays is not None:
        stays = outcome.stays
        came_us = np.full(len(task), -np.inf)
        np.maximum.at(came_us, stays.task, stays.end_us)
        stay_start = np.maximum(start[stays.task], stays.begin_us)
        stay_start = np.where(stay_start <= stays.end_us, stay_start, np.nan)
        task, unit = np.append(task, stays.task), np.append(unit, stays.unit)
        begin = np.append(np.maximum(begin, came_us), stays.begin_us)
        start = np.append(np.maximum(start, came_us), stay_start)
        finish = np.append(finish, stays.end_us)
        moved = slice(moved.start, len(task))
    if outcome.lost is not None:
        lost = outcome.lost
        followers = np.append(followers, len(task) + np.flatnonzero(lost.is_follower))
        task, unit = np.append(task, lost.task), np.append(unit, lost.unit)
        begin, finish = np.append(begin, lost.init_us), np.append(finish, lost.end_us)
        start = np.append(start, np.where(lost.start_us <= lost.end_us, lost.start_us, np.nan))
        interrupted = slice(moved.stop, len(task))
    row, further = np.arange(len(task)), NO_AMOUNTS
    if outcome.held is not None:
        of, unit_of, further = outcome.held
        if outcome.lost_held is not None:
            of = np.append(of, interrupted.start + outcome.lost_held.row)
            unit_of = np.append(unit_of, outcome.lost_held.unit)
            further = np.append(further, outcome.lost_held.amount)
        row, unit = np.append(row, of), np.append(unit, unit_of)
        task, begin, start, finish = task[row], begin[row], start[row], finish[row]
    return Segments(
        task=task,
        unit=unit,
        begin_us=begin,
        start_us=start,
        finish_us=finish,
        moved=moved,
        interrupted=interrupted,
        followers=followers.astype(np.int64),
        run_end_us=outcome.end_us,
        demand=demand,
        capacity=capacity,
        row=row,
        further_amount=further,
        is_shared=outcome.shares_units,
    )


def _count_within(group: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """[n] how many rows of ``begins`` lie between each row and the first of its group; a group's rows, such as a
    task's, are consecutive."""
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    number = np.cumsum(begins)
    return (number - np.repeat(number[first], np.diff(np.r_[first, len(group)]))).astype(np.int32)


def numbered(unit: np.ndarray, n_units: int) -> np.ndarray:
    """[..., S] with the units of run k numbered from k x ``n_units``."""
    if unit.ndim == 1:
        return unit
    return unit + n_units * np.arange(len(unit))[:, np.newaxis]
