"""The answer of a plan: what is recommended, what comes next and why, which limit binds, and how certain this is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from vinesim.formats.source.units import axis_label
from vinesim.formats.study.file import scenario_source
from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.model.plan import Limit, Plan
from vinesim.plans.board import Board, Step
from vinesim.plans.candidate import Candidate, are_same, difference
from vinesim.plans.conclusion import percent
from vinesim.plans.confirm import Confirmation, Outcome
from vinesim.plans.ranges import range_of
from vinesim.plans.verdicts import Judgement, Verdict, judged
from vinesim.studies.backtest_record import error_note
from vinesim.studies.same_workload import RESAMPLE, is_fixed
from vinesim.studies.statistics import Interval

N_RUNNERS, N_NEAREST = 5, 3
RELAXED = 0.1
CLOSE = 0.02  # objectives within this of the best are listed


class Status(StrEnum):
    """What a plan ended with."""

    RECOMMENDED = "recommended"
    UNCONFIRMED = "recommended, not confirmed"
    SHORT = "horizon too short"
    UNDECIDED = "undecided"
    NOT_FOUND = "no candidate found that keeps the limits"
    NONE = "no candidate keeps the limits"


@dataclass(frozen=True)
class Row:
    """A point in the answer: what it chooses, its objectives as written, its limits, and why it is not the best."""

    point: int
    choice: dict[str, Any]
    objectives: tuple[Interval, ...]
    n: int
    verdict: Verdict
    judgements: tuple[Judgement, ...]
    load: float
    why: str = ""


@dataclass(frozen=True)
class Relaxed:
    """What relaxing one limit by 10 % would save, by the means of the runs that were done."""

    limit: Limit
    value: float  # of the relaxed limit
    saving: float  # in the objective, 0 or more
    point: int | None
    is_certain: bool = False  # whether those runs prove that the cheaper point keeps the relaxed limit
    text: str = ""  # what it saves, in words


@dataclass(frozen=True)
class Neighbor:
    """A neighbour of the recommendation: one step more or less of one choice, by simulated differences."""

    choice: str
    label: Any
    row: Row
    change: Interval  # of the first objective, with the same seeds


@dataclass(frozen=True)
class Rival:
    """A point that is better than the recommendation beyond some price, or may be, and what is known of it."""

    choice: dict[str, Any]
    known: str  # empty: by its runs it is better


@dataclass(frozen=True)
class PriceRange:
    """The prices of one unit of a type at which the recommendation stays the best, all else being as it is.

    ``low`` is 0 at least, ``high`` infinite without an end; ``below`` and ``above`` are what is better, or may be,
    beyond them.
    """

    kind: str
    price: float
    low: float
    high: float
    below: Rival | None
    above: Rival | None


@dataclass(frozen=True)
class AtLoad:
    """The recommendation under a multiple of the load: how each limit fares, and if one is missed, the point with the
    next objective that keeps all; or why this is not known."""

    load: float
    judgements: tuple[Judgement, ...]
    instead: Row | None  # with its objectives under the plan's own load
    n_tried: int  # points that were run under this load
    why_not: str = ""

    @property
    def holds(self) -> bool:
        """Whether all limits hold."""
        return not self.why_not and all(each.verdict is Verdict.HOLDS for each in self.judgements)


@dataclass(frozen=True)
class Answer:
    """The answer of a plan."""

    plan: Plan
    status: Status
    recommended: Row | None
    runners: tuple[Row, ...]
    front: tuple[Row, ...]
    nearest: tuple[Row, ...]  # of the points that miss a limit, those that miss it least
    undecided: tuple[Row, ...]
    binding: str
    relaxed: tuple[Relaxed, ...]
    neighbors: tuple[Neighbor, ...]
    nearly: Row | None  # the cheapest point whose objective is within 5 % of the best
    knee: Row | None  # of the front of two objectives: where giving up one begins to cost much of the other
    price_ranges: tuple[PriceRange, ...]
    at_loads: tuple[AtLoad, ...]  # of the plan's what_if
    confirmation: Confirmation | None
    not_confirmed: tuple[tuple[Row, Outcome], ...]  # points that were best until they were run again
    counts: dict[str, int]
    accounted: str  # what became of every point
    screened_why: dict[str, int]  # why points are left out, and how many
    ended: str
    why_none: str  # why no point is recommended
    is_proved: bool  # one objective only: whether no point that could be better is left undecided
    closed: str  # what was proved about the points that could be better
    notes: tuple[str, ...]  # what the answer does not cover
    prices: Mapping[str, float]  # of one unit by type
    n_jobs: int | None  # in a run
    evaluated: tuple[Row, ...]  # all points that were run
    run_ids: str  # the first digits of the ids of their runs, in a row
    course: tuple[Step, ...]

    def __repr__(self) -> str:
        choice = {} if self.recommended is None else self.recommended.choice
        words = ", ".join(f"{name} {axis_label(name, label)}" for name, label in choice.items())
        return f"Answer({self.status.value}{f': {words}' if words else ''}; {len(self.evaluated):,} points run)"


def row_of(board: Board, candidate: Candidate, why: str = "") -> Row:
    """Return a candidate as a row of the answer; objectives as they were written."""
    goals = []
    for k, goal in enumerate(board.plan.objectives):
        if candidate.why:
            continue
        found = candidate.interval(k)
        low, high = goal.expression.range({name: range_of(name) for name in goal.expression.names})
        if goal.is_maximized:
            found = replace(found, low=-found.high, estimate=-found.estimate, high=-found.low)
        goals.append(replace(found, low=max(found.low, low), high=min(found.high, high)))
    return Row(
        candidate.point,
        board.space.label(candidate.point),
        tuple(goals),
        candidate.n,
        candidate.verdict,
        candidate.judgements,
        float(board.screened.load[candidate.point]),
        why or candidate.why,
    )


def unrun_row(board: Board, point: int, why: str) -> Row:
    """Return a point that was not run as a row, with why."""
    load = float(board.screened.load[point])
    verdict = Verdict.FAILS if point in board.screened.why else Verdict.UNDECIDED
    return Row(point, board.space.label(point), (), 0, verdict, (), load, why)


def ranked(board: Board, wanted: Sequence[Verdict]) -> list[Candidate]:
    """Return the candidates with these verdicts, the best objective first."""
    found = [candidate for candidate in board.candidates.values() if candidate.verdict in wanted]
    return sorted(found, key=lambda candidate: (candidate.value(), candidate.point))


def runners(board: Board, best: Candidate) -> tuple[Row, ...]:
    """Return what comes next: cheaper points and why they fail, then dearer ones and what they cost more."""
    rows = []
    below = [c for c in ranked(board, [Verdict.FAILS, Verdict.UNDECIDED]) if c.value() < best.value()]
    for candidate in sorted(below, key=lambda c: c.shortfall)[:N_NEAREST]:
        rows.append(row_of(board, candidate, why_failed(candidate)))
    above = [c for c in ranked(board, [Verdict.HOLDS]) if c.point != best.point]
    close = [c for c in above if c.value() <= best.value() + CLOSE * abs(best.value())]
    for candidate in (close if len(close) > N_RUNNERS else above)[:N_RUNNERS]:
        more = difference(best, candidate)
        share = more.estimate / abs(best.value()) if best.value() else 0.0
        word = "more" if more.estimate > 0 else "less"
        amount = shown_number(board.plan.objectives[0].number, abs(more.estimate))
        text = "the same" if more.estimate == 0 else f"{amount} {word} ({percent(abs(share))} %)"
        if candidate.point in board.rejected:
            text += ", not confirmed on fresh seeds"
        rows.append(row_of(board, candidate, text))
    return tuple(rows)


def evaluated(board: Board) -> list[Row]:
    """Return all points that were run, by number, with the reason for each point that does not hold."""
    found = [board.candidates[point] for point in sorted(board.candidates)]
    return [row_of(board, c, "" if c.verdict is Verdict.HOLDS else why_failed(c)) for c in found]


def why_failed(candidate: Candidate) -> str:
    """Say which limit a point misses, and by how much."""
    if candidate.why:
        return candidate.why
    if not candidate.judgements:
        return "no value of the objective"
    worst = max(candidate.judgements, key=lambda judgement: judgement.shortfall)
    number = worst.limit.number
    word = "misses" if worst.verdict is Verdict.FAILS else "undecided:"
    if worst.limit.share is not None:
        return f"{word} {number}: {100 * worst.estimate:.3g} % of runs keep it"
    return f"{word} {number}: {shown_number(number, worst.estimate)}"


def binding(board: Board, best: Candidate) -> str:
    """Say what keeps the recommendation from being better: the limit with the least margin, or the load."""
    load = float(board.screened.load[best.point])
    text = f"load {load:.0%} of the fluid capacity" if 0 < load < 1 else ""  # a log that ends may have more
    if not best.judgements:
        return text or "nothing"
    tight = max(best.judgements, key=lambda judgement: judgement.shortfall)
    margin = max(0.0, -tight.shortfall)
    limit = shown_limit(tight.limit.number, tight.limit.side, tight.limit.value)
    own = f"{limit} ({percent(margin)} % to spare)"
    if not text:
        return own
    return f"{text}; {own}" if 1 - load < margin else f"{own}; {text}"


def relaxations(board: Board, best: Candidate) -> tuple[Relaxed, ...]:
    """Return what each limit costs, by judging the runs that were done against a limit relaxed by 10 %."""
    found = []
    for limit in board.plan.limits:
        wider = abs(limit.value) * RELAXED * (1 if limit.side == "below" else -1)
        relaxed = replace(limit, value=limit.value + wider)
        saving, point, is_certain = 0.0, None, False
        for candidate in ranked(board, [Verdict.FAILS, Verdict.UNDECIDED]):
            gain = best.value() - candidate.value()
            own = [judgement for judgement in candidate.judgements if judgement.limit == limit]
            if candidate.why or gain <= saving or own[0].verdict is Verdict.HOLDS:
                continue  # relaxing this limit changes nothing there
            values = board.runs.values(candidate.point, range(candidate.n), [limit.number])[limit.number]
            n_looks = len(board.looks(candidate.point))
            again = judged(relaxed, values, n_looks, bool(board.screened.is_random[candidate.point]))
            others = [judgement for judgement in candidate.judgements if judgement.limit != limit]
            if all(each.shortfall <= 0 for each in [again, *others]):
                saving, point = gain, candidate.point
                is_certain = all(each.verdict is Verdict.HOLDS for each in [again, *others])
        text = "saves nothing" if point is None else _saves(board, saving, is_certain)
        found.append(Relaxed(limit, relaxed.value, saving, point, is_certain, text))
    return tuple(found)


def _saves(board: Board, saving: float, is_certain: bool) -> str:
    amount = shown_number(board.plan.objectives[0].number, saving)
    return f"saves {amount}" if is_certain else f"would save about {amount} (estimate from few runs)"


def n_jobs(board: Board) -> int | None:
    """Return how many jobs a run has, by the first one of a point that did not fail."""
    for candidate in board.candidates.values():
        if not candidate.why:
            return int(board.runs.values(candidate.point, range(1), ["jobs.count"])["jobs.count"][0])
    return None


def notes(board: Board, best: Candidate | None) -> tuple[str, ...]:
    """Return what the answer does not cover: what the runs of a recommendation do not vary in, and the error of the
    model."""
    error = error_note(board.plan.space)
    known = () if error is None else (error,)
    if best is None or not is_fixed(scenario_source(board.plan.space).changed(board.space.settings(best.point)).data):
        return known
    text = "Every run has the same jobs, those of the file, so what holds here says nothing about other days."
    return (f"{text} {RESAMPLE}", *known)


def front(board: Board) -> list[Candidate]:
    """Return the points that hold and that no other point dominates in all objectives, ordered by the first objective.

    Of points that are the same in all objectives, only one is there.
    """
    holding = _holding(board)
    goals = {c.point: [c.value(k) for k in range(len(board.plan.objectives))] for c in holding}
    found: list[Candidate] = []
    for c in holding:
        is_beaten = any(_dominates(goals[other.point], goals[c.point]) for other in holding)
        if not is_beaten and not any(are_same(c, other) for other in found):
            found.append(c)
    return found


def front_row(board: Board, candidate: Candidate) -> Row:
    """Return a point of the front as a row that also names the points with equal objectives."""
    here = board.space.label(candidate.point)
    same = []
    for other in _holding(board):
        if other.point != candidate.point and are_same(other, candidate):
            label = board.space.label(other.point)
            same.append(", ".join(f"{name} {value}" for name, value in label.items() if here.get(name) != value))
    return row_of(board, candidate, f"the same: {'; '.join(same)}" if same else "")


def _holding(board: Board) -> list[Candidate]:
    return [c for c in ranked(board, [Verdict.HOLDS]) if c.point not in board.rejected]


def _dominates(one: list[float], other: list[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other
