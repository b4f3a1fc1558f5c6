"""A Pareto front: first guesses along rays of weights, then the neighbours of what is on the front so far."""

import numpy as np

from vinesim.plans.answer import front
from vinesim.plans.board import Board
from vinesim.plans.guesses import rungs
from vinesim.plans.verdicts import Verdict

N_RAYS = 7
AT_A_TIME = 12
MOST_RUNS = 20  # replications of a point of a front
STEPS = (1, 2)


def trace_front(board: Board) -> None:
    """Search for points that no other one beats in all objectives, until their neighbours add nothing."""
    board.stage = "rays"
    for weights in _rays(board):
        for guesses in rungs(board, weights):
            race_front(board, guesses)
    board.stage = "neighbours"
    tried: set[int] = set()
    while True:
        new = [
            point
            for candidate in front(board)
            for point in [*board.space.neighbors(candidate.point, STEPS), *board.space.swaps(candidate.point)]
            if point not in tried and point not in board.candidates and point not in board.screened.why
        ]
        some = list(dict.fromkeys(new))[:AT_A_TIME]
        if not some:
            return
        tried |= set(some)
        race_front(board, some)


def _rays(board: Board) -> list[np.ndarray]:
    """Return weights of the objectives, each scaled by the range of its bounds."""
    bound = board.screened.bound[board.screened.left]
    bound = np.where(np.isfinite(bound), bound, 0.0)
    scale = 1.0 / np.maximum(np.ptp(bound, axis=0), 1e-12) if len(bound) else np.ones(bound.shape[1])
    n = len(scale)
    even = [np.full(n, 1.0 / n), *np.eye(n)]
    between = [np.roll([1 - w, w, *([0.0] * (n - 2))], k) for w in np.linspace(0.1, 0.9, N_RAYS) for k in range(n - 1)]
    return [np.asarray(weights) * scale for weights in [*even, *between]]


def race_front(board: Board, points: list[int]) -> None:
    """Judge the limits of these points; those that hold get enough runs for their place on the front."""
    left = list(points)
    for n in board.plan.looks:
        if not left or n > MOST_RUNS:
            return
        found = board.look(left, n)
        open_ = [c.point for c in found if c.verdict is not Verdict.FAILS and c.n == n]
        left = [point for point in open_ if not is_dominated(board, point)]


def is_dominated(board: Board, point: int) -> bool:
    """Whether a point on the front is better in all objectives, beyond the noise."""
    candidate = board.candidates[point]
    goals = range(len(board.plan.objectives))
    return any(
        all(other.interval(k).high < candidate.interval(k).low for k in goals)
        for other in front(board)
        if other.point != point
    )
