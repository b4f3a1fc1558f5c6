"""Trace a Pareto front: points spread over the screen's own front, then points that should improve the front most.

The measure is hypervolume: the part of the space of objectives, up to the worst values seen, that the front dominates.
A regression over the points that were run says where to look. Points next to the front are run too, because the
regression is too smooth to tell one unit more from one unit less. Source: Emmerich, Giannakoglou and Naujoks, IEEE
Transactions on Evolutionary Computation 10 (2006), for the criterion.
"""

from collections.abc import Sequence

import numpy as np

from vinesim.plans.answer import front
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate, paired
from vinesim.plans.surface import Surface
from vinesim.plans.verdicts import Verdict

RUNS_A_SEED = 25  # one first point for this number of runs of the budget
FEWEST, MOST = 6, 40  # first points
AT_A_TIME = 3
HOPE = 0.5  # standard deviations by which a point may be better than expected
MAY = 0.2  # chance of keeping the limits above which a point counts
BEYOND = 3.0  # how far beyond the front its ends are looked for, in ranges of the front
ENOUGH = 3  # replications of a point whose limits hold, for its place on the front
MOST_RUNS = 20  # replications of a point whose limits are undecided, before all others had their chance
N_SAMPLES = 20_000  # of the objectives, to measure hypervolumes
STEPS = (1, 2)
LEAST = 5e-4  # share of the hypervolume below which a gain is not worth its runs, until there is none above it
IDLE = 6  # rounds in a row without a gain, after which smaller gains count


def trace_front(board: Board) -> None:
    """Search for points that no other point beats in all objectives."""
    random = np.random.default_rng(board.plan.space.seed)
    board.stage = "spread"
    _race(board, _spread(board, random))
    surface = Surface(board.space, board.screened)
    idle, is_near, least = 0, False, LEAST
    while least * N_SAMPLES >= 1:
        board.stage = "neighbours" if is_near else "surface"
        points = _near(board) if is_near else [int(point) for point in board.screened.left]
        points = [point for point in points if point not in board.candidates]
        some = _promising(board, surface, points, random, least)
        if is_near:  # the regression is least sure where loads are high, and bounds are low there
            some += [point for point in _by_bound(board, points) if point not in some][: AT_A_TIME - len(some)]
        before = _front_points(board)
        _race(board, some)
        idle = 0 if _front_points(board) != before else idle + 1
        if idle == IDLE:
            idle, least = 0, least / 4
        is_near = not is_near
    board.stage = "decide"
    for n in board.plan.looks:
        _race(board, _undecided(board), n)


def _spread(board: Board, random: np.random.Generator) -> list[int]:
    """Return points of the front of bounds and load, evenly by load, with other policies and options in turn; and
    random ones if these are few."""
    left = board.screened.left
    n = min(MOST, max(FEWEST, board.plan.budget.runs // RUNS_A_SEED))
    alike: dict[tuple[float, ...], list[int]] = {}
    for point, key in zip(
        left.tolist(), np.column_stack([_bounds(board, left), board.screened.load[left]]), strict=True
    ):
        alike.setdefault(tuple(key.tolist()), []).append(point)
    each = np.array(list(alike))
    best = [key for key in each if not ((each <= key).all(axis=1) & (each < key).any(axis=1)).any()]
    best.sort(key=lambda key: (-key[-1], *key))
    picked = dict.fromkeys(np.linspace(0, len(best) - 1, min(n, len(best))).round().astype(int).tolist())
    ways = [alike[tuple(best[i].tolist())] for i in picked]
    found = [points[k % len(points)] for k, points in enumerate(ways)]
    others = [point for point in random.permutation(left).tolist() if point not in found]
    return found + others[: max(0, FEWEST - len(found))]


def _bounds(board: Board, points: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the bounds on the objectives [n, K], 0 where there are none."""
    bound = board.screened.bound[np.array(points, np.int64)]
    return np.where(np.isfinite(bound), bound, 0.0)


def _by_bound(board: Board, points: list[int]) -> list[int]:
    """Return the points, those with the least bounds first."""
    bound = _bounds(board, points)
    sums = (bound / np.maximum(np.abs(bound).max(axis=0, initial=0.0), 1e-300)).sum(axis=1)
    return [points[i] for i in np.argsort(sums, kind="stable").tolist()]


def _near(board: Board) -> list[int]:
    """Return the points next to those on the front."""
    found: dict[int, None] = {}
    for candidate in front(board):
        around = [*board.space.neighbors(candidate.point, STEPS), *board.space.swaps(candidate.point)]
        found |= dict.fromkeys(point for point in around if point not in board.screened.why)
    return list(found)


def _promising(
    board: Board, surface: Surface, points: list[int], random: np.random.Generator, least: float
) -> list[int]:
    """Return the points from which the front should gain most hypervolume, one after the other."""
    if not points:
        return []
    values, missed, off = surface.predicted(points, board.candidates)
    hopes = values - HOPE * off[:, :-1]
    chance = _normal(-missed / np.maximum(off[:, -1], 1e-2))
    own = np.array([_goals(c) for c in board.candidates.values() if c.verdict is Verdict.HOLDS])
    own = own.reshape(-1, values.shape[1])
    both = np.concatenate([own, hopes[chance >= MAY]])
    if not len(both):
        return [points[int(i)] for i in np.argsort(-chance, kind="stable")[:AT_A_TIME]]
    low, high = both.min(axis=0), both.max(axis=0)
    if len(own):
        high = np.minimum(high, own.max(axis=0) + BEYOND * np.ptp(own, axis=0))
    samples = random.uniform(low, high, (N_SAMPLES, len(low)))
    for goals in own:
        samples = samples[~(goals <= samples).all(axis=1)]
    found: list[int] = []
    while len(found) < AT_A_TIME and len(samples):
        gain = np.array([(row <= samples).all(axis=1).sum() for row in hopes]) * chance
        gain[[points.index(point) for point in found]] = 0
        best = int(gain.argmax())
        if gain[best] < least * N_SAMPLES:
            break
        found.append(points[best])
        samples = samples[~(hopes[best] <= samples).all(axis=1)]
    return found


def _normal(values: np.ndarray) -> np.ndarray:
    """Return how likely a normal deviate is less than these."""
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def _race(board: Board, points: list[int], most: int = MOST_RUNS) -> None:
    """Judge the limits of these points. Points that hold get enough runs for their place on the front."""
    left = list(points)
    for n in board.plan.looks:
        if not left or n > most:
            return
        found = board.look(left, n)
        wanted = (Verdict.UNDECIDED,) if n >= ENOUGH else (Verdict.UNDECIDED, Verdict.HOLDS)
        left = [c.point for c in found if c.verdict in wanted and c.n == n and not is_beaten(board, c)]


def _undecided(board: Board) -> list[int]:
    """Return the points that would be on the front if their limits held."""
    found = [c for c in board.candidates.values() if c.verdict is Verdict.UNDECIDED and c.shortfall < 0]
    return [c.point for c in found if c.point not in board.rejected and not is_beaten(board, c)]


def is_beaten(board: Board, candidate: Candidate) -> bool:
    """Whether a point on the front is as good in all objectives, judged by the means over the same seeds."""
    both = (paired(other, candidate) for other in front(board) if other.point != candidate.point)
    return any((first.mean(axis=1) <= second.mean(axis=1)).all() for first, second in both)


def _front_points(board: Board) -> set[int]:
    return {candidate.point for candidate in front(board)}


def _goals(candidate: Candidate) -> list[float]:
    return [candidate.value(k) for k in range(len(candidate.objectives))]
