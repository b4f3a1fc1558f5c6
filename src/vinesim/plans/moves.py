"""Improve the best point by moves: one choice a step up or down, two choices against each other, another policy."""

from vinesim.plans.board import Board
from vinesim.plans.race import race

STEPS = (1, 2, 4, 8)
SWAPS = (1, 2, 4)
AT_A_TIME = 6  # moves raced together
MARGIN = 0.05  # of the load: how much tighter than what is known to work a move may be


def improve(board: Board) -> None:
    """Move until no move makes the best point better."""
    board.stage = "moves"
    tried: set[int] = set()
    while board.best is not None:
        best = board.best.point
        around = dict.fromkeys([*board.space.neighbors(best, STEPS), *board.space.swaps(best, SWAPS)])
        moves = [point for point in around if point not in tried and board.is_candidate(point)]
        if not moves:
            return
        most = board.screened.load[best] + MARGIN
        moves.sort(key=lambda point: (board.screened.load[point] > most, *board.promise(point)))
        some = moves[:AT_A_TIME]
        tried |= set(some)
        race(board, some)
