"""A first answer from the fluid model: the cheapest datacenters at falling loads, under each policy in turn."""

import numpy as np

from vinesim.plans.board import Board
from vinesim.plans.race import race
from vinesim.plans.space import NOT_MADE
from vinesim.plans.surface import Surface
from vinesim.plans.verdicts import Verdict

LOADS = (0.97, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the points by cost, where the model says nothing about loads
MOST_RUNS = 12  # replications of a guess
AT_A_TIME = 6
RUNS_A_POINT, MOST_ANYWHERE = 15, 40  # points all over the space: one for so many runs of the budget
LOOK = 3  # replications of these
MOST_WAYS = 8  # combinations of policies and options for each datacenter


def first_guess(board: Board) -> None:
    """Run guesses from the tightest to the most generous until one holds; then those that nearly do, with more runs."""
    board.stage = "first guess"
    if len(np.unique(board.screened.bound[board.screened.left, 0])) <= 1:
        race(board, _anywhere(board), LOOK)
    for guesses in _rungs(board):
        race(board, [point for point in guesses if point not in board.candidates], MOST_RUNS)
        if board.best is not None:
            return
    surface = Surface(board.space, board.screened)
    while board.best is None:
        undecided = [c for c in board.candidates.values() if c.verdict is Verdict.UNDECIDED and board.is_open(c)]
        nearest = sorted(undecided, key=lambda c: (c.shortfall, c.point))[:AT_A_TIME]
        if nearest and nearest[0].shortfall < 0:
            race(board, [candidate.point for candidate in nearest])
            continue
        left = [int(point) for point in board.screened.left if int(point) not in board.candidates]
        if not left:
            return
        no_objective = np.zeros(len(board.plan.objectives))  # only the limits count until one point holds
        race(board, surface.order(left, board.candidates, no_objective)[:AT_A_TIME], MOST_RUNS)


def _anywhere(board: Board) -> list[int]:
    """Return points all over the space, for objectives of which no bound is known."""
    n = min(MOST_ANYWHERE, board.plan.budget.runs // RUNS_A_POINT)
    return np.random.default_rng(board.plan.space.seed).permutation(board.screened.left)[:n].tolist()


def _rungs(board: Board) -> list[list[int]]:
    """Return guesses by load: the datacenter with the least bound, and the points that differ only in other choices."""
    left, load = board.screened.left, board.screened.load
    bound = np.where(np.isfinite(board.screened.bound), board.screened.bound, 0.0)
    order = left[np.lexsort((left, load[left], bound.sum(axis=1)[left]))]
    if load[left].max(initial=0.0) > 0:
        firsts = [next((int(point) for point in order if load[point] <= most), None) for most in LOADS]
    else:
        firsts = [int(order[min(len(order) - 1, int(share * len(order)))]) for share in SHARES] if len(order) else []
    found: dict[int, list[int]] = {}
    for first in firsts:
        if first is not None and first not in found:
            found[first] = _ways(board, first)
    return list(found.values())


def _ways(board: Board, point: int) -> list[int]:
    """Return the point and those that differ from it only in choices that are not ordered, or in their options."""
    choices, row = board.space.choices, board.space.positions[point]
    others = [c for c, choice in enumerate(choices) if not choice.is_ordered]
    if not others:
        return [point]
    positions = board.space.positions
    fixed = [c for c, choice in enumerate(choices) if choice.is_ordered and not choice.when]
    same = (positions[:, fixed] == row[fixed]).all(axis=1)
    for c, choice in enumerate(choices):  # options in the middle of their range
        if choice.is_ordered and choice.when:
            same &= (positions[:, c] == NOT_MADE) | (positions[:, c] == len(choice) // 2)
    ways = [int(number) for number in np.flatnonzero(same) if int(number) not in board.screened.why]
    return [point, *(number for number in ways if number != point)][:MOST_WAYS]
