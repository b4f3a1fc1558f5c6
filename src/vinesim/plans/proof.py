"""The proof: all points that could be better than the best one, the cheapest first, until each is decided."""

from vinesim.plans.board import Board
from vinesim.plans.race import race

AT_A_TIME = 16
FIRST_RUNS = 20  # replications in a first pass; each later pass takes all points that are left one look further


def prove(board: Board) -> None:
    """Race what could be better until nothing is left, or nothing can be better by more than the plan's gap."""
    board.stage = "proof"
    later = [n for n in board.plan.looks if n > FIRST_RUNS]
    for most in (FIRST_RUNS, *later):
        _pass(board, most)


def _pass(board: Board, most: int) -> None:
    """Race what could be better up to ``most`` replications each, the least bound first."""
    done: set[int] = set()
    while True:
        left = [int(p) for p in board.screened.left if int(p) not in done and board.is_candidate(int(p), again=True)]
        if not left:
            return
        left.sort(key=lambda point: (float(board.screened.bound[point, 0]), point))
        some = left[:AT_A_TIME]
        done |= set(some)
        race(board, some, most)
