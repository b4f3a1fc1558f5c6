"""Race points: run all of them up to a look, judge them, and take the undecided ones to the next look."""

from collections.abc import Iterable

from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate
from vinesim.plans.verdicts import Verdict

PATIENCE = 40  # replications of a promising point after which others are looked at too


def race(board: Board, points: Iterable[int], most: int | None = None) -> None:
    """Race these points up to ``most`` replications, and only while they are likely to be better than the best one; by
    default up to the last look. Raises :class:`~vinesim.plans.board.SpentError`.
    """
    left = [point for point in points if point not in board.rejected]
    last = board.plan.looks[-1] if most is None else most
    for n in board.plan.looks:
        if n > last or not left:
            break
        board.look_at_best(n)
        found = board.look([point for point in left if point not in board.ruled_out], n)
        left = [candidate.point for candidate in found if board.is_open(candidate, likely=last < board.plan.looks[-1])]


def promising(board: Board, points: Iterable[int]) -> list[Candidate]:
    """Return the undecided points that seem to keep all limits and to be better than the best one, the most certain
    first."""
    known = [board.candidates[point] for point in points if point in board.candidates]
    found = [c for c in known if c.verdict is Verdict.UNDECIDED and c.shortfall < 0 and board.is_open(c)]
    return sorted((c for c in found if c.value() < board.goal), key=lambda c: (c.doubt, c.point))


def look_again(board: Board, candidate: Candidate) -> None:
    """Run an undecided point up to its next look."""
    board.look([candidate.point], next(n for n in board.looks(candidate.point) if n > candidate.n))
