"""Search for the best point of a plan: try all points if they are few; otherwise guess, move, sample, then prove.

The order is the result of a study of strategies, in which none was best by itself. Working from the cheapest point up
proves that nothing is better, but gives no answer until it ends. The fluid model gives a first answer, and moves and
samples improve it. The proof then runs every point that could still be better, the cheapest first.
"""

import numpy as np

from vinesim.plans.board import Board, SpentError
from vinesim.plans.conclusion import End, end_of
from vinesim.plans.guesses import first_guess
from vinesim.plans.pareto import trace_front
from vinesim.plans.race import PATIENCE, look_again, promising, race
from vinesim.plans.sampler import sample
from vinesim.plans.surface import Surface

SMALL_SHARE = 0.5  # of the budget: what the first look at all points may take, so that all are run
STEPS = (1, 2, 4, 8)  # of a move of one choice
SWAPS = (1, 2, 4)  # steps of a move of two choices against each other
MOVES_AT_A_TIME = 6  # moves raced together
MOST_RUNS = 20  # replications of a move; a point at the border of a limit takes more, which the proof gives it
POINTS_AT_A_TIME = 16  # points raced together in a proof
FIRST_RUNS = 20  # replications in its first pass; each later pass takes all points that are left one look further


def search(board: Board) -> End:
    """Search until nothing is left to do or the budget is spent; return why it ended."""
    try:
        if is_small(board):
            enumerate_all(board)
        elif len(board.plan.objectives) > 1:
            trace_front(board)
        else:
            first_guess(board)
            improve(board)
            sample(board)
            improve(board)
            prove(board)
    except SpentError:
        return End.SPENT
    return end_of(board)


def is_small(board: Board) -> bool:
    """Whether the first look at all points takes a small part of the budget."""
    runs = sum(board.looks(int(point))[0] for point in board.screened.left)
    return runs <= SMALL_SHARE * board.plan.budget.runs


def enumerate_all(board: Board) -> None:
    """Race all points, those with the least bounds first."""
    board.stage = "enumerate"
    left = board.screened.left
    order = np.lexsort((left, board.screened.bound[left, 0]))
    race(board, left[order].tolist())


def improve(board: Board) -> None:
    """Move the best point: one choice by steps or to its end, two choices against each other, or another policy.

    Stop when no move makes it better, and every move that seemed to has been decided by further runs.
    """
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
        some = surface.order(moves, board.candidates)[:MOVES_AT_A_TIME]
        tried |= set(some)
        race(board, some, MOST_RUNS)


def prove(board: Board) -> None:
    """Race each point that could be better, until none is left or none can be better by more than the plan's gap."""
    board.stage = "proof"
    later = [n for n in board.plan.looks if n > FIRST_RUNS]
    for most in (FIRST_RUNS, *later):
        _pass(board, most)


def _pass(board: Board, most: int) -> None:
    """Race each point that could be better, with up to ``most`` replications, the lowest bound first."""
    done: set[int] = set()
    while True:
        left = [int(p) for p in board.screened.left if int(p) not in done and board.is_candidate(int(p), again=True)]
        if not left:
            return
        left.sort(key=lambda point: (float(board.screened.bound[point, 0]), point))
        some = left[:POINTS_AT_A_TIME]
        done |= set(some)
        race(board, some, most)
