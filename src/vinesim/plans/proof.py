"""The proof: all points that could be better than the best one, the cheapest first, until each is decided."""

from vinesim.plans.board import Board
from vinesim.plans.race import race

AT_A_TIME = 16
FIRST_RUNS = 20  # replications in a first pass, before points at the border of a limit get more


def prove(board: Board) -> None:
    """Race what could be better until nothing is left, or nothing can be better by more than the plan's gap."""
    board.stage = "proof"
    for most in (FIRST_RUNS, board.plan.looks[-1]):
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


def closed(board: Board) -> str:
    """Say what is known about the points that could be better than the best one."""
    best = board.best
    if best is None:
        return ""
    if len(board.plan.objectives) > 1:
        return ""
    better, left = _better(board, best.point), still_open(board)
    if not left:
        return f"none of {len(better):,} points that could be better passed"
    low = min(float(board.screened.bound[point, 0]) for point in left)
    text = f"{len(left):,} points that could be better are not decided"
    if best.value() and low > -float("inf"):
        gap = max(0.0, (best.value() - low) / abs(best.value()))
        text += f"; none is better by more than {100 * gap:.3g} %"
    return text


def still_open(board: Board) -> list[int]:
    """Return the points that could be the best one, or better than it, and are not decided."""
    best = -1 if board.best is None else board.best.point
    return [p for p in _better(board, best) if board.is_candidate(p, again=True) or _is_undecided(board, p)]


def _better(board: Board, best: int) -> list[int]:
    return [int(p) for p in board.screened.left if int(p) != best and board.could_win(int(p))]


def _is_undecided(board: Board, point: int) -> bool:
    candidate = board.candidates.get(point)
    return candidate is not None and candidate.verdict == "undecided" and candidate.value() < board.goal
