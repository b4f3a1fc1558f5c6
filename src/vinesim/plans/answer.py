"""The answer of a plan: what is recommended, what comes next and why, what binds, and how sure all this is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.model.plan import Limit, Plan
from vinesim.plans.board import Board, Step
from vinesim.plans.candidate import Candidate, are_same, difference
from vinesim.plans.confirm import Confirmation, Outcome
from vinesim.plans.verdicts import Judgement, Verdict, judged
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
    NONE = "no point keeps the limits"


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


@dataclass(frozen=True)
class Beside:
    """A neighbour of the recommendation: one step more or less of one choice, by simulated differences."""

    choice: str
    label: Any
    row: Row
    change: Interval  # of the first objective, with the same seeds


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
    beside: tuple[Beside, ...]
    confirmation: Confirmation | None
    not_confirmed: tuple[tuple[Row, Outcome], ...]  # points that were best until they were run again
    counts: dict[str, int]
    screened_why: dict[str, int]
    ended: str
    is_proved: bool  # one objective only: whether no point that could be better is left undecided
    evaluated: tuple[Row, ...]  # all points that were run
    closed: str  # what was proved about the points that could be better
    course: tuple[Step, ...]


def row_of(board: Board, candidate: Candidate, why: str = "") -> Row:
    """Return a candidate as a row of the answer; objectives as they were written."""
    goals = []
    for k, goal in enumerate(board.plan.objectives):
        if candidate.why:
            continue
        found = candidate.interval(k)
        if goal.is_maximized:
            found = replace(found, low=-found.high, estimate=-found.estimate, high=-found.low)
        goals.append(found)
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


def percent(share: float) -> str:
    """Write a share in percent with two digits, and never in powers of ten if it is large."""
    return f"{100 * share:,.0f}" if abs(share) >= 0.0995 else f"{100 * share:.2g}"


def evaluated(board: Board) -> list[Row]:
    """Return all points that were run, by number, with why those that do not hold do not."""
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
    text = f"load {load:.0%} of the fluid capacity" if load > 0 else ""
    if not best.judgements:
        return text or "nothing"
    tight = max(best.judgements, key=lambda judgement: judgement.shortfall)
    margin = -tight.shortfall
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
            if candidate.why or gain <= saving:
                continue
            values = board.runs.values(candidate.point, range(candidate.n), [limit.number])[limit.number]
            n_looks = len(board.looks(candidate.point))
            again = judged(relaxed, values, n_looks, bool(board.screened.is_random[candidate.point]))
            others = [judgement for judgement in candidate.judgements if judgement.limit != limit]
            if all(each.shortfall <= 0 for each in [again, *others]):
                saving, point = gain, candidate.point
                is_certain = all(each.verdict is Verdict.HOLDS for each in [again, *others])
        found.append(Relaxed(limit, relaxed.value, saving, point, is_certain))
    return tuple(found)


def beside(board: Board, best: Candidate, n: int) -> tuple[Beside, ...]:
    """Return one step more and less of each ordered choice, run as often as ``n``."""
    found = []
    here = board.space.positions[best.point]
    for point in dict.fromkeys(board.space.neighbors(best.point)):
        changed = [c for c in range(len(here)) if board.space.positions[point][c] != here[c]]
        if len(changed) != 1 or not board.space.choices[changed[0]].is_ordered:
            continue
        choice = board.space.choices[changed[0]]
        label = choice.labels[board.space.positions[point][changed[0]]]
        candidate = board.candidates.get(point)
        if candidate is None:
            if point in board.screened.why:
                empty = Interval(float("nan"), float("nan"), float("nan"), 0.95, 0)
                load = float(board.screened.load[point])
                row = Row(point, board.space.label(point), (), 0, Verdict.FAILS, (), load, board.screened.why[point])
                found.append(Beside(choice.name, label, row, empty))
                continue
            replications = range(min(n, board.looks(point)[-1]))
            board.runs.ask([(point, replications)], counts=False)
            candidate = board.judge(point, replications, len(board.looks(point)))
        why = why_failed(candidate) if candidate.verdict is not Verdict.HOLDS else ""
        change = Interval(float("nan"), float("nan"), float("nan"), 0.95, 0)
        if not candidate.why:
            change = difference(best, candidate)
            if board.plan.objectives[0].is_maximized:
                change = replace(change, low=-change.high, estimate=-change.estimate, high=-change.low)
        found.append(Beside(choice.name, label, row_of(board, candidate, why), change))
    return tuple(found)


def counts(board: Board) -> dict[str, int]:
    """Return how many points there are, and what is known of them."""
    by = Counter(candidate.verdict for candidate in board.candidates.values())
    return {
        "points": board.space.n,
        "screened": len(board.screened.why),
        "run": len(board.candidates),
        **{verdict.value: by[verdict] for verdict in Verdict},
        "runs": board.runs.n_asked,
        "runs_done_now": board.runs.n_done,
    }


def front(board: Board) -> list[Candidate]:
    """Return the points that hold and are not dominated in all objectives by another one, by the first objective.

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
    """Return a point of the front as a row that names the points which are the same in all objectives."""
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
