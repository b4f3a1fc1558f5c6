"""The board of a search: runs points up to a look, judges them, and compares them with the best one so far."""

import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from vinesim.model.plan import Plan
from vinesim.plans.candidate import Candidate, are_same, difference
from vinesim.plans.runs import Runs
from vinesim.plans.screen import Screened
from vinesim.plans.space import Space
from vinesim.plans.verdicts import Verdict, judged

COMPARED = 20  # replications up to which objectives that seem equal are distinguished
LIKELY = 0.8  # confidence that a point is worse with which it is left for the time being
SAME_AFTER = 5  # replications that must agree before objectives are believed to be the same
AT_ONCE = 64  # runs asked for together, so that a stop loses little and the budget is kept


class SpentError(Exception):
    """The budget of the search is spent."""


@dataclass(frozen=True)
class Step:
    """A moment of the search, for its course: after a number of runs, the best objective so far."""

    n_runs: int
    stage: str
    value: float
    point: int


@dataclass
class Board:
    """All points that have been run, by number.

    Attributes:
        stage: what the search is doing.
        course: when the best point changed.
        is_settling: whether runs are beyond the budget, and any better point counts, whatever the plan's gap.
        is_late: whether the time of the budget is over.
    """

    plan: Plan
    space: Space
    screened: Screened
    runs: Runs
    on_step: Callable[["Board"], None] = lambda _: None
    candidates: dict[int, Candidate] = field(default_factory=dict)
    stage: str = ""
    course: list[Step] = field(default_factory=list)
    best: Candidate | None = None
    is_settling: bool = False
    is_late: bool = False
    rejected: set[int] = field(default_factory=set)  # points that did not hold on fresh seeds
    ruled_out: set[int] = field(default_factory=set)  # points with less of what the plan says never hurts
    _begun: float = field(default_factory=lambda: time.monotonic())

    @property
    def n_left(self) -> int:
        """Runs left in the budget."""
        if self.is_settling:
            return sys.maxsize
        self.is_late |= time.monotonic() - self._begun > self.plan.budget.time_s
        if self.is_late:
            return 0
        return max(0, self.plan.budget.runs - self.runs.n_asked)

    def looks(self, point: int) -> tuple[int, ...]:
        """Return the replications after which a point is judged: one is enough if the seed decides nothing."""
        return self.plan.looks if self.screened.is_random[point] else (1,)

    def look(self, points: Iterable[int], n: int) -> list[Candidate]:
        """Run these points up to ``n`` replications, and judge them. Raises :class:`SpentError`."""
        found, batch, size = [], list[int](), 0
        for point in points:
            known = self.candidates.get(point)
            wanted = min(n, self.looks(point)[-1])
            if known is not None and (known.n >= wanted or known.verdict is Verdict.FAILS):
                found.append(known)
                continue
            cost = wanted - (0 if known is None else known.n)
            if size and size + cost > AT_ONCE:
                found += self._run(batch, n)
                batch, size = [], 0
            batch.append(point)
            size += cost
        return found + (self._run(batch, n) if batch else [])

    def look_at_best(self, n: int) -> None:
        """Run the best point up to ``n`` replications too, since it may only be the best by the chance of few runs."""
        if self.best is not None and self.best.is_random and n <= COMPARED:
            self.look([self.best.point], n)

    def _run(self, points: list[int], n: int) -> list[Candidate]:
        wanted = {point: range(min(n, self.looks(point)[-1])) for point in points}
        cost = sum(len(all_) - self._n(point) for point, all_ in wanted.items())
        while wanted and cost > self.n_left:
            point, all_ = wanted.popitem()
            cost -= len(all_) - self._n(point)
        if not wanted:
            raise SpentError
        self.runs.ask(wanted.items(), counts=not self.is_settling)
        found = [self.take(point, all_) for point, all_ in wanted.items()]
        self.on_step(self)
        if len(wanted) < len(points):
            raise SpentError
        return found

    def take(self, point: int, replications: range) -> Candidate:
        """Judge a point by replications that are done, and compare it with the best one."""
        candidate = self.judge(point, replications, len(self.looks(point)))
        self.candidates[point] = candidate
        self._compare(candidate)
        self._rule_out(candidate)
        return candidate

    def _n(self, point: int) -> int:
        known = self.candidates.get(point)
        return 0 if known is None else known.n

    def judge(self, point: int, replications: range, n_looks: float, error_share: float = 1.0) -> Candidate:
        """Judge a point by these replications; ``error_share`` is the part of the error that this judgement may use."""
        n = len(replications)
        is_random, known = bool(self.screened.is_random[point]), self.screened.known[point]
        if why := self.runs.why(point, replications):
            return Candidate(point, n, why=why, is_fixed=not is_random)
        values = self.runs.values(point, replications, self.plan.names)
        n_looks = n_looks / error_share
        judgements = tuple(
            judged(limit, values[limit.number], n_looks, is_random and limit.number not in known)
            for limit in self.plan.limits
        )
        goals = [goal.sign * np.broadcast_to(goal.expression.value(values), (n,)) for goal in self.plan.objectives]
        return Candidate(point, n, judgements, np.array(goals, np.float64), is_fixed=not is_random)

    def _compare(self, candidate: Candidate) -> None:
        """Note a new best point."""
        best, contenders = self.best, [candidate]
        if best is not None and best.point == candidate.point:
            self.best = None
            contenders = [candidate, *sorted(self.candidates.values(), key=_order)]
        for one in filter(self._may_be_best, contenders):
            if self.best is None or replaces(one, self.best, min(COMPARED, self.plan.looks[-1])):
                self.best = one
        if self.best is not None and (best is None or best.point != self.best.point):
            self.course.append(Step(self.runs.n_asked, self.stage, self.best.value(), self.best.point))

    def _rule_out(self, candidate: Candidate) -> None:
        """Rule out points with no more of the choices for which the plan says that more is always better."""
        names = self.plan.more_is_better
        if not names or candidate.why or candidate.verdict is not Verdict.FAILS:
            return
        counted = np.array([choice.name in names for choice in self.space.choices])
        positions, row = self.space.positions, self.space.positions[candidate.point]
        less = (positions[:, counted] <= row[counted]).all(axis=1)
        same = (positions[:, ~counted] == row[~counted]).all(axis=1)
        self.ruled_out |= set(np.flatnonzero(less & same).tolist()) - self.candidates.keys()

    def _may_be_best(self, candidate: Candidate) -> bool:
        return candidate.verdict is Verdict.HOLDS and candidate.point not in self.rejected

    def reject(self, point: int) -> None:
        """Take away a best point that did not hold on fresh seeds."""
        self.rejected.add(point)
        self.best = min(filter(self._may_be_best, self.candidates.values()), key=_order, default=None)

    @property
    def goal(self) -> float:
        """The objective that other points must beat, with the plan's gap."""
        if self.best is None:
            return math.inf
        value, gap = self.best.value(), 0.0 if self.is_settling else self.plan.budget.gap
        return value - gap * abs(value)

    def could_win(self, point: int) -> bool:
        """Whether the bound on a point's objective allows that it is better than the best point."""
        return float(self.screened.bound[point, 0]) < self.goal and point not in self.ruled_out

    def is_candidate(self, point: int, *, again: bool = False) -> bool:
        """Whether a point is worth running: not left out, not run yet (or, ``again``, still open), and it could win."""
        if point in self.screened.why or not self.could_win(point):
            return False
        known = self.candidates.get(point)
        return known is None or (again and self.is_open(known))

    def is_open(self, candidate: Candidate, *, likely: bool = False) -> bool:
        """Whether more runs of a point may change the answer, or are ``likely`` to."""
        looks, best = self.looks(candidate.point), self.best
        if candidate.n >= looks[-1] or candidate.verdict is Verdict.FAILS or candidate.point in self.rejected:
            return False
        if best is None or candidate.point == best.point:
            return candidate.verdict is Verdict.UNDECIDED
        if not self.could_win(candidate.point):
            return False
        is_random = candidate.is_random or best.is_random
        worse = difference(best, candidate, 0, LIKELY if likely else 1 - (1 - 0.95) / len(looks))
        if candidate.verdict is Verdict.HOLDS and candidate.n >= SAME_AFTER and are_same(candidate, best):
            return False
        if not is_random or worse.low > 0:
            return candidate.verdict is Verdict.UNDECIDED and candidate.value() < self.goal
        return candidate.verdict is Verdict.UNDECIDED or candidate.n < COMPARED


def _order(candidate: Candidate) -> tuple[float, int]:
    return candidate.value(), candidate.point


def replaces(one: Candidate, other: Candidate, most: int) -> bool:
    """Whether a candidate takes the place of the best one: better, and not only by the chance of fewer runs than the
    best one has, or than ``most``. One that no seed changes also does if the best one may be better by such chance."""
    if one.is_fixed and other.is_random and other.n < most:
        return not difference(one, other).high < 0
    n_enough = most if other.is_fixed else min(other.n, most)
    if one.is_fixed or not (one.is_random or other.is_random) or one.n >= n_enough:
        return is_better(one, other)
    return difference(other, one).high < 0


def is_better(one: Candidate, other: Candidate) -> bool:
    """Whether a candidate's objective is less over the replications that both have; the lower number wins a tie."""
    mean = difference(other, one).estimate
    return mean < 0 or (mean == 0 and one.point < other.point)
