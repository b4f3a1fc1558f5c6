"""Improve the best point by moves: one choice by steps or to its end, two against each other, another policy."""

from vinesim.plans.board import Board
from vinesim.plans.race import PATIENCE, look_again, promising, race
from vinesim.plans.surface import Surface

STEPS = (1, 2, 4, 8)
SWAPS = (1, 2, 4)
AT_A_TIME = 6  # moves raced together
MOST_RUNS = 20  # replications of a move; a point at the border of a limit takes more, which the proof gives it


def improve(board: Board) -> None:
    """Move until no move makes the best point better, and none that seems to is undecided after some more runs."""
    board.stage = "moves"
    tried: set[int] = set()
    surface = Surface(board.space, board.screened)
    while board.best is not None:
        best = board.best.point
        around = dict.fromkeys(
            [*board.space.neighbors(best, STEPS), *board.space.ends(best), *board.space.swaps(best, SWAPS)]
        )
        moves = [point for point in around if point not in tried and board.is_candidate(point)]
        if not moves:
            found = [candidate for candidate in promising(board, board.candidates) if candidate.n < PATIENCE]
            if not found:
                return
            look_again(board, found[0])
            continue
        some = surface.order(moves, board.candidates)[:AT_A_TIME]
        tried |= set(some)
        race(board, some, MOST_RUNS)
