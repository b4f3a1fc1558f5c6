"""The stages of a search: all points where they are few; otherwise a first guess, moves, samples, and a proof.

The recommended order of a study of strategies: no single one is best. Cheapest first proves that nothing is better but
says nothing until it ends; the fluid model gives a first answer; moves and samples improve it between the two.
"""

import numpy as np

from vinesim.plans.board import Board, SpentError
from vinesim.plans.conclusion import End, end_of
from vinesim.plans.guesses import first_guess
from vinesim.plans.moves import improve
from vinesim.plans.pareto import trace_front
from vinesim.plans.proof import prove
from vinesim.plans.race import race
from vinesim.plans.sampler import sample

SMALL_SHARE = 0.5  # of the budget: what the first look at all points may take, so that all are run


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
