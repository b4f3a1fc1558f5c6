"""Race points: all are run up to a look and judged; those that are still open go on to the next look."""

from collections.abc import Iterable

from vinesim.plans.board import Board


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
