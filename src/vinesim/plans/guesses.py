"""Find a first answer with the fluid model: the cheapest datacenters at given loads, under several policies.

A search without an answer is worth nothing, so it first looks for a point that holds, and then for cheaper ones. The
guesses are bisected from the middle, and grow more generous while none holds.
"""

import numpy as np

from vinesim.plans.board import Board
from vinesim.plans.race import PATIENCE, look_again, promising, race
from vinesim.plans.space import NOT_MADE
from vinesim.plans.surface import Surface
from vinesim.plans.verdicts import Verdict

LOADS = (0.97, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)  # and the least load of all
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # of the points by cost, where the model says nothing about loads
LOOK = 3  # replications of a guess
MOST_RUNS = 12  # of the most promising guess at a load
MOST_WAYS = 8  # combinations of policies and options for each datacenter
AT_A_TIME = 6  # points that the regression proposes
RUNS_A_WAY = 30  # of the budget, for each point that is looked at together with others
RUNS_PER_POINT, MAX_SCATTERED = 15, 40  # points all over the space: one for this number of runs of the budget


def first_guess(board: Board) -> None:
    """Look for the tightest guess that holds; if there is none, look for any point that holds."""
    board.stage = "first guess"
    if len(np.unique(board.screened.bound[board.screened.left, 0])) <= 1:
        race(board, _anywhere(board), LOOK)
    rungs = _rungs(board)
    tight, generous = 0, len(rungs)  # the tightest rung that may hold, and the tightest one that does
    while tight < generous:
        middle = (tight + generous) // 2
        tight, generous = (tight, middle) if _holds(board, rungs[middle]) else (middle + 1, generous)
    surface = Surface(board.space, board.screened)
    no_objective = np.zeros(len(board.plan.objectives))  # only the limits count until one point holds
    while board.best is None:
        found = promising(board, board.candidates)
        if found:
            look_again(board, found[0])
        left = [int(point) for point in board.screened.left if int(point) not in board.candidates]
        if not left and not found:
            return
        if left and (not found or found[0].n >= PATIENCE):
            race(board, surface.order(left, board.candidates, no_objective)[: _at_once(board, AT_A_TIME)], LOOK)


def _holds(board: Board, points: list[int]) -> bool:
    """Whether one of these points holds, after a look at each and some more runs of the most promising one."""
    points = points[: _at_once(board, MOST_WAYS)]
    race(board, [point for point in points if point not in board.candidates], LOOK)
    if found := promising(board, points):
        race(board, [found[0].point], MOST_RUNS)
    return any(board.candidates[point].verdict is Verdict.HOLDS for point in points if point in board.candidates)


def _at_once(board: Board, most: int) -> int:
    """Return how many points to look at together: fewer if the budget is small."""
    return max(1, min(most, board.plan.budget.runs // RUNS_A_WAY))


def _anywhere(board: Board) -> list[int]:
    """Return points all over the space, for objectives without a known bound."""
    n = min(MAX_SCATTERED, board.plan.budget.runs // RUNS_PER_POINT)
    return np.random.default_rng(board.plan.space.seed).permutation(board.screened.left)[:n].tolist()


def _rungs(board: Board) -> list[list[int]]:
    """Return guesses by load: the datacenter with the least bound, and the points that differ only in other choices."""
    left, load = board.screened.left, board.screened.load
    bound = np.where(np.isfinite(board.screened.bound), board.screened.bound, 0.0)
    order = left[np.lexsort((left, load[left], bound.sum(axis=1)[left]))]
    if load[left].max(initial=0.0) > 0:
        loads = (*LOADS, float(load[left].min()))
        firsts = [next((int(point) for point in order if load[point] <= most), None) for most in loads]
    else:
        firsts = [int(order[min(len(order) - 1, int(share * len(order)))]) for share in SHARES] if len(order) else []
    found: dict[int, list[int]] = {}
    for first in firsts:
        if first is not None and first not in found:
            found[first] = _ways(board, first)
    return list(found.values())


def _ways(board: Board, point: int) -> list[int]:
    """Return the point and the points that differ from it only in unordered choices or in the options of these."""
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
