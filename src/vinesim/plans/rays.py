"""A Pareto front: first guesses along rays of weights, then the neighbours of what is on the front so far."""

import numpy as np

from vinesim.plans.answer import front
from vinesim.plans.board import Board
from vinesim.plans.guesses import rungs
from vinesim.plans.surface import Surface
from vinesim.plans.verdicts import Verdict

N_RAYS = 7
AT_A_TIME = 12
ENOUGH = 8  # replications of a point whose limits hold, for its place on the front
MOST_RUNS = 20  # replications of a point whose limits are undecided
STEPS = (1, 2, 4)
LOADS = (0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35, 0.25, 0.15)
IDLE = 5  # rounds in a row without a new point on the front, after which the search ends


def trace_front(board: Board) -> None:
    """Search for points that no other one beats in all objectives: along rays, around the front, by its surface."""
    board.stage = "rays"
    for weights in _rays(board):
        for guesses in rungs(board, weights, LOADS):
            race_front(board, [point for point in guesses if point not in board.candidates])
    surface, random = Surface(board.space, board.screened), np.random.default_rng(board.plan.space.seed)
    idle = 0
    while idle < IDLE:
        before = {candidate.point for candidate in front(board)}
        board.stage = "neighbours"
        _around(board)
        board.stage = "surface"
        left = [int(point) for point in board.screened.left if int(point) not in board.candidates]
        if not left:
            return
        weights = random.dirichlet(np.ones(len(board.plan.objectives)))
        race_front(board, surface.order(left, board.candidates, weights)[:AT_A_TIME])
        idle = 0 if {candidate.point for candidate in front(board)} - before else idle + 1


def _around(board: Board) -> None:
    """Run the neighbours of the front, until there are no new ones."""
    while True:
        new = [
            point
            for candidate in front(board)
            for point in [*board.space.neighbors(candidate.point, STEPS), *board.space.swaps(candidate.point)]
            if point not in board.candidates and point not in board.screened.why
        ]
        some = list(dict.fromkeys(new))[:AT_A_TIME]
        if not some:
            return
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
        wanted = (Verdict.UNDECIDED,) if n >= ENOUGH else (Verdict.UNDECIDED, Verdict.HOLDS)
        open_ = [c.point for c in found if c.verdict in wanted and c.n == n]
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
