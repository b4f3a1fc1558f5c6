"""Conclude a search: what became of every candidate, what is proved, and which budget would decide the rest."""

import math
from collections import Counter
from enum import StrEnum

from vinesim.formats.source.quantities import format_time_us
from vinesim.model.time import US_PER_S
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate
from vinesim.plans.verdicts import Verdict


class End(StrEnum):
    """Why a search ended."""

    DECIDED = "no other candidate can change the answer"
    UNLIKELY = "no other candidate is likely to change the front"
    UNDECIDED = "some candidates stay undecided after all looks"
    SPENT = "the budget is spent"
    INTERRUPTED = "interrupted"
    STORED = "nothing was run: these are stored runs"


def end_of(board: Board) -> End:
    """Return why a search ended that spent no more than its budget."""
    if len(board.plan.objectives) > 1:
        is_all = len(board.candidates) == len(board.screened.left) and not _undecided(board)
        return End.DECIDED if is_all else End.UNLIKELY
    return End.UNDECIDED if still_open(board) else End.DECIDED


def could_be_better(board: Board) -> list[int]:
    """Return the points other than the best one that may be better, by their bounds."""
    best = -1 if board.best is None else board.best.point
    return [int(p) for p in board.screened.left if int(p) != best and board.could_win(int(p))]


def still_open(board: Board) -> list[int]:
    """Return the points that may be better than the best one, and are not run or not decided."""
    return [p for p in could_be_better(board) if board.is_candidate(p, again=True) or _may_hold(board, p)]


def _may_hold(board: Board, point: int) -> bool:
    candidate = board.candidates.get(point)
    return candidate is not None and candidate.verdict is Verdict.UNDECIDED and candidate.value() < board.goal


def _undecided(board: Board) -> list[Candidate]:
    return [candidate for candidate in board.candidates.values() if candidate.verdict is Verdict.UNDECIDED]


def counts(board: Board) -> dict[str, int]:
    """Return what became of the points: each is in one of ``screened``, ``holds``, ``fails``, ``undecided``,
    ``cannot_be_better``, ``ruled_out`` and ``not_run``; and how many runs there were."""
    by = Counter(candidate.verdict for candidate in board.candidates.values())
    others = [int(point) for point in board.screened.left if int(point) not in board.candidates]
    is_front = len(board.plan.objectives) > 1
    ruled_out = sum(point in board.ruled_out for point in others)
    not_run = len(others) if is_front else sum(board.could_win(point) for point in others)
    return {
        "points": board.space.n,
        "screened": len(board.screened.why),
        "run": len(board.candidates),
        **{verdict.value: by[verdict] for verdict in Verdict},
        "cannot_be_better": len(others) - ruled_out - not_run,
        "ruled_out": ruled_out,
        "not_run": not_run,
        "runs": board.runs.n_asked,
        "runs_beyond_budget": board.runs.n_beyond,
        "runs_done_now": board.runs.n_done,
    }


def runs_to_decide(board: Board) -> int | None:
    """Return about how large a budget of runs decides all that is open; None if no budget does."""
    looks_left = [point for point in still_open(board) if _n(board, point) < board.looks(point)[-1]]
    if not looks_left:
        return None
    decided = [c.n for c in board.candidates.values() if c.verdict is not Verdict.UNDECIDED]
    usual = sum(decided) / len(decided) if decided else 0
    more = 0.0
    for point in looks_left:
        looks = board.looks(point)
        n = looks[-1] if point in board.candidates else min(max(usual, looks[0]), looks[-1])
        more += n - _n(board, point)
    return _rounded_up(board.runs.n_asked + more)


def _n(board: Board, point: int) -> int:
    return board.candidates[point].n if point in board.candidates else 0


def _rounded_up(n: float) -> int:
    """Round up to two digits."""
    step = 10 ** max(0, math.floor(math.log10(n)) - 1)
    return math.ceil(n / step) * step


def accounted(found: dict[str, int], board: Board, end: End) -> str:
    """Say what became of the points."""
    better = better_word(board)
    parts = [f"{found['holds']:,} keep all limits"]
    parts += [f"{found['undecided']:,} undecided"] if found["undecided"] else []
    texts = [
        f"{found['screened']:,} ruled out without a run",
        f"{found['run']:,} simulated ({', '.join(parts)})",
        f"{found['cannot_be_better']:,} cannot be {better}",
        f"{found['ruled_out']:,} have less than one that fails",
        f"{found['not_run']:,} not looked at",
    ]
    shown = [text for text in texts if not text.startswith("0 ")]
    beyond = found["runs_beyond_budget"]
    more = f", and {beyond:,} beyond the budget, of neighbours and on fresh seeds" if beyond else ""
    return f"{candidates(found['points'])}: {', '.join(shown)}. {found['runs']:,} runs{more}; {ended(board, end)}."


def ended(board: Board, end: End) -> str:
    """Say why the search ended, with its budget if that was spent."""
    if end is End.DECIDED and board.best is None:
        return "all candidates are decided"
    if end is not End.SPENT:
        return end.value
    budget = board.plan.budget
    if board.is_late:
        return f"the budget of {format_time_us(budget.time_s * US_PER_S)} is spent"
    return f"the budget of {budget.runs:,} run{'s' * (budget.runs != 1)} is spent"


def better_word(board: Board) -> str:
    """Return what a better point is."""
    goal = board.plan.objectives[0]
    is_price = len(board.plan.objectives) == 1 and goal.number.startswith("cost.") and not goal.is_maximized
    return "cheaper" if is_price else "better"


def proof(board: Board) -> str:
    """Say what is proved about the points that could be better than the best one; empty without one, or for a front."""
    if board.best is None or len(board.plan.objectives) > 1:
        return ""
    gap, better, others, left = board.plan.budget.gap, better_word(board), could_be_better(board), still_open(board)
    could = f"could be {better} by more than {100 * gap:g} %" if gap else f"could be {better}"
    if left:
        what = "is undecided or not simulated" if len(left) == 1 else "are undecided or not simulated"
        return f"Not proven: {candidates(len(left))} that {could} {what}{_at_most(board, left)}. {to_decide(board)}"
    if not others:
        return f"Proven: no other candidate {could}."
    fail = all(p in board.candidates and board.candidates[p].verdict is Verdict.FAILS for p in others)
    how = "a limit" if fail else f"a limit or is not {better}"
    return f"Proven: each of the {candidates(len(others))} that {could} misses {how}."


def candidates(n: int) -> str:
    """Write a number of candidates."""
    return f"{n:,} candidate{'' if n == 1 else 's'}"


def _at_most(board: Board, left: list[int]) -> str:
    """Say by how much these points may be better than the best one, if their bounds say anything about it."""
    assert board.best is not None
    value, low = board.best.value(), min(float(board.screened.bound[point, 0]) for point in left)
    is_cost = not board.plan.objectives[0].is_maximized
    if not value or not math.isfinite(low) or (is_cost and low <= 0):
        return ""
    share = percent((value - low) / abs(value))
    return f", and could save up to {share} %" if is_cost else f", and could be better by up to {share} %"


def to_decide(board: Board) -> str:
    """Say what would decide what is open."""
    if not board.runs.does_more:
        return "To decide that, run the plan with these values."
    runs = runs_to_decide(board)
    if runs is None:
        return f"Only more than {board.plan.looks[-1]:,} replications may decide that: add to looks."
    if runs <= board.plan.budget.runs:
        return "To decide that, raise budget.time."
    return f"To decide that, raise budget.runs to about {runs:,}."


def percent(share: float) -> str:
    """Write a share in percent with two digits, and never in powers of ten if it is large."""
    return f"{100 * share:,.0f}" if abs(share) >= 0.0995 else f"{100 * share:.2g}"


def why_none(board: Board, end: End) -> str:
    """Say why no point is recommended: none holds, none was found, or some stay undecided."""
    found, n_left = counts(board), len(board.screened.left)
    if end in (End.SPENT, End.INTERRUPTED, End.STORED):
        n = f"{found['run']:,} of the {n_left:,} candidates" if n_left else "candidates"
        some = f", {found['undecided']:,} of them undecided" if found["undecided"] else ""
        text = f"No candidate that keeps all limits was found: {ended(board, end)}, with {n} simulated{some}."
        return f"{text} {to_decide(board)}"
    undecided = _undecided(board)
    if undecided or board.rejected:
        parts = [f"{len(undecided):,} may keep all limits"] if undecided else []
        parts += [f"{len(board.rejected):,} were not confirmed on fresh seeds"] if board.rejected else []
        text = f"Undecided: of the {found['run']:,} candidates that were simulated, {' and '.join(parts)}."
        return f"{text} {to_decide(board)}" if undecided else text
    return "No candidate keeps all limits: each is ruled out without a run, or misses a limit when it is simulated."
