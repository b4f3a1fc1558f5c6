"""Run the neighbours of the best point: one step more or less of one choice.

They run before the answer is fixed, in addition to the budget, because an answer next to a better point that holds
would contradict itself. The answer lists all of them.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from vinesim.model.plan import Choice
from vinesim.plans.answer import Neighbor, row_of, unrun_row, why_failed
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate, difference
from vinesim.plans.race import race
from vinesim.plans.verdicts import Verdict
from vinesim.studies.statistics import Interval

MOST_MOVES = 10  # to a better neighbour
N_RUNS = 8  # replications of neighbours that cannot be better
UNKNOWN = Interval(math.nan, math.nan, math.nan, 0.95, 0)


def settle(board: Board) -> None:
    """Decide the neighbours of the best point, and continue from a better one that holds."""
    board.stage, board.is_settling = "neighbours", True
    try:
        for _ in range(MOST_MOVES):
            best = board.best
            if best is None:
                return
            around = [point for _, point in _steps(board, best.point)]
            race(board, [point for point in around if board.is_candidate(point, again=True)])
            if board.best is not None and board.best.point == best.point:
                return
    finally:
        board.is_settling = False


def neighbors(board: Board, best: Candidate) -> tuple[Neighbor, ...]:
    """Return one step more and less of each ordered choice. Neighbours that cannot be better get only a few runs."""
    found = []
    for choice, point in _steps(board, best.point):
        label = board.space.label(point)[choice.name]
        candidate, why = _known(board, point, best)
        if candidate is None:
            found.append(Neighbor(choice.name, label, unrun_row(board, point, why), UNKNOWN))
            continue
        change = UNKNOWN if candidate.why else difference(best, candidate)
        if board.plan.objectives[0].is_maximized:
            change = replace(change, low=-change.high, estimate=-change.estimate, high=-change.low)
        if candidate.verdict is not Verdict.HOLDS:
            why = why_failed(candidate)
        found.append(Neighbor(choice.name, label, row_of(board, candidate, why), change))
    return tuple(found)


def _known(board: Board, point: int, best: Candidate) -> tuple[Candidate | None, str]:
    """Return a neighbour, run now if it cannot be better than the best point, and what else to say about it."""
    if point in board.candidates:
        return board.candidates[point], "not confirmed on fresh seeds" if point in board.rejected else ""
    if point in board.screened.why:
        return None, board.screened.why[point]
    if not board.runs.does_more or point in board.ruled_out or float(board.screened.bound[point, 0]) < best.value():
        return None, "not simulated"
    replications = range(min(N_RUNS, board.looks(point)[-1]))
    board.runs.ask([(point, replications)], counts=False)
    return board.judge(point, replications, len(board.looks(point))), ""


def _steps(board: Board, point: int) -> Iterator[tuple[Choice, int]]:
    """Yield the points that differ by one step of one ordered choice, with that choice."""
    positions, choices = board.space.positions, board.space.choices
    for other in dict.fromkeys(board.space.neighbors(point)):
        changed = [c for c, choice in enumerate(choices) if positions[other][c] != positions[point][c]]
        if len(changed) == 1 and choices[changed[0]].is_ordered:
            yield choices[changed[0]], other
