"""Segments: which task held how much of which unit, from when until when, and why it ended.

A task has one segment, or several if outages interrupted it or a policy preempted or moved it. A segment has one row
per unit that the task held. All results about units are computed from segments: how long units were active, how much
of them was allocated, their energy, pictures and explanations.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.model.columns import SEGMENTS
from vinesim.model.result import CUT, FINISHED, MOVED, OUTCOMES, EarlyEnds, Outcome
from vinesim.state.demand import amounts

NO_AMOUNTS = np.empty(0)
Stretches = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # unit, begin, end, us; and a level, such as a load


@dataclass(frozen=True, eq=False)
class Segments:
    """The S segments of a run: first the last one of each task, in trace order, then the earlier ones, then one row for
    each further unit that a task held in one of these.

    For K runs that all finished, with one segment per task, [..., S] means [K, S]. Units index ``capacity``.
    """

    task: np.ndarray  # [S] int64
    unit: np.ndarray  # [..., S] int32; -1: the task never had one
    begin_us: np.ndarray  # [..., S] float64: when it got the unit; NaN: never
    start_us: np.ndarray  # [..., S] float64: when its data had arrived and it began to execute; NaN: never
    finish_us: np.ndarray  # [..., S] float64: when it released the unit; NaN: it still held it when the run ended
    why: np.ndarray | None  # [S] int8: why each ended, of OUTCOMES; None: none ended early
    followers: np.ndarray  # segments of tasks consolidated behind a leader, which holds the unit for all
    run_end_us: Any  # [...] us
    demand: Any  # [N] of the tasks, or ONE_SLOT for all
    capacity: np.ndarray  # [U]
    row: np.ndarray  # [S] int64: the row of the segment's first unit (the row itself, if it is that one)
    further_amount: np.ndarray  # [F] float64: the amounts held of further units, which are the last F rows
    is_shared: bool  # whether tasks may hold a part of a unit; otherwise each holds a whole one

    @property
    def outcome(self) -> np.ndarray:
        """[S] why each segment ended, of OUTCOMES; for a single run."""
        found = np.where(np.isnan(self.finish_us), CUT, FINISHED)
        return np.array(OUTCOMES)[found if self.why is None else np.where(self.why == FINISHED, found, self.why)]

    def ended_by(self, *why: int) -> np.ndarray:
        """Return [S] bool: which segments ended early for one of these reasons, in their first rows only.

        The segments are of a single run, or of runs in which none ended early.
        """
        if self.why is None:
            return np.zeros(self.unit.shape[-1], bool)
        return np.isin(self.why, why) & (self.row == np.arange(len(self.row)))

    @property
    def n_units(self) -> int:
        """The number of units, U."""
        return len(self.capacity)

    @cached_property
    def end_us(self) -> np.ndarray:
        """[..., S] us: when it released the unit, or the run's end if it did not."""
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
        """The segments that held a unit, without followers, as stretches sorted by unit and start.

        Units of several runs are numbered as in :func:`numbered`.
        """
        leads = self.unit >= 0
        leads[..., self.followers] = False
        unit, begin = numbered(self.unit, self.n_units)[leads], self.begin_us[leads]
        order = np.lexsort((begin, unit))
        return unit[order], begin[order], self.end_us[leads][order], self.share[leads][order]

    def table(self) -> Table:
        """Return one row per segment and unit, sorted by task and time; the unit that the task ran on comes first."""
        is_further = self.row != np.arange(len(self.row))
        is_last = self.row < len(np.unique(self.task))  # the last segments, one per task
        rows = np.lexsort((self.unit, is_further, self.row, is_last, self.end_us, self.begin_us, self.task))
        rows = rows[self.unit[rows] >= 0]
        begins = ~is_further[rows]
        has_parts = is_further.any()
        return Table(
            SEGMENTS.of(
                {
                    "task": self.task[rows],
                    "segment": _count_within(self.task[rows], begins),
                    "part": _count_within(self.row[rows], np.ones(len(rows), bool)) if has_parts else None,
                    "unit": self.unit[rows],
                    "begin_us": self.begin_us[rows],
                    "start_us": self.start_us[rows],
                    "end_us": self.finish_us[rows],
                    "outcome": self.outcome[rows],
                    "amount": self.amount[rows],
                }
            )
        )


def segments_of(outcome: Outcome, demand: Any, capacity: np.ndarray) -> Segments:
    """Return the segments of a run, or of K runs. ``demand`` is [N], or one for all; ``capacity`` [U] of the units."""
    task, why = np.arange(outcome.task_unit.shape[-1]), None
    unit, begin, start = outcome.task_unit, outcome.task_init_us, outcome.task_start_us
    finish, followers = outcome.task_finish_us, outcome.followers
    if outcome.early is not None:
        early, last = outcome.early, outcome.early.is_last
        why, finish = np.zeros(len(task), np.int8), finish.copy()
        why[early.task[last]], finish[early.task[last]] = early.why[last], early.end_us[last]
        came_us = np.full(len(task), -np.inf)
        is_moved = early.why == MOVED
        np.maximum.at(came_us, early.task[is_moved], early.end_us[is_moved])
        begin, start = np.maximum(begin, came_us), np.maximum(start, came_us)
        early_row = len(task) + np.cumsum(~last) - 1
        early = EarlyEnds(*(column[~last] for column in early))
        followers = np.append(followers, len(task) + np.flatnonzero(early.is_follower))
        task, unit, why = np.append(task, early.task), np.append(unit, early.unit), np.append(why, early.why)
        begin, finish = np.append(begin, early.init_us), np.append(finish, early.end_us)
        start = np.append(start, np.where(early.start_us <= early.end_us, early.start_us, np.nan))
    row, further = np.arange(len(task)), NO_AMOUNTS
    if outcome.held is not None:
        of, unit_of, further = outcome.held
        if outcome.early_held is not None:
            of = np.append(of, early_row[outcome.early_held.row])
            unit_of = np.append(unit_of, outcome.early_held.unit)
            further = np.append(further, outcome.early_held.amount)
        row, unit = np.append(row, of), np.append(unit, unit_of)
        task, begin, start, finish = task[row], begin[row], start[row], finish[row]
        why = None if why is None else why[row]
    return Segments(
        task=task,
        unit=unit,
        begin_us=begin,
        start_us=start,
        finish_us=finish,
        why=why,
        followers=followers.astype(np.int64),
        run_end_us=outcome.end_us,
        demand=demand,
        capacity=capacity,
        row=row,
        further_amount=further,
        is_shared=outcome.shares_units,
    )


def _count_within(group: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Return [n] how many rows of ``begins`` lie between each row and the first row of its group.

    The rows of a group, such as a task, are consecutive.
    """
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    number = np.cumsum(begins)
    return number - np.repeat(number[first], np.diff(np.r_[first, len(group)]))


def numbered(unit: np.ndarray, n_units: int) -> np.ndarray:
    """Return [..., S] the units, with those of run k numbered from k x ``n_units``."""
    if unit.ndim == 1:
        return unit
    return unit + n_units * np.arange(len(unit))[:, np.newaxis]
