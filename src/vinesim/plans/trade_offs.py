"""The answers that other limits and other prices would give, judged by the runs that were done."""

import math

import numpy as np

from vinesim.plans.answer import PriceRange, Rival, Row, front, ranked, row_of
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate, difference
from vinesim.plans.verdicts import Verdict

NEARLY = 0.05  # of the best objective
COST = ("cost.total", "cost.purchase")  # the objectives that are linear in the prices


def nearly(board: Board, best: Candidate) -> Row | None:
    """Return the cheapest point that holds and whose objective is within 5 % of the best; None if that is the best
    point itself, costs are unknown, or there is a front."""
    goal = board.plan.objectives[0]
    if len(board.plan.objectives) > 1 or goal.number.startswith("cost."):
        return None
    most = best.value() + NEARLY * abs(best.value())
    holding = [c for c in ranked(board, [Verdict.HOLDS]) if c.value() <= most and c.point not in board.rejected]
    name = "cost.total" if board.plan.costs is not None else "cost.purchase"
    costs = {c.point: float(board.runs.values(c.point, range(c.n), [name])[name].mean()) for c in holding}
    known = [c for c in holding if not math.isnan(costs[c.point])]
    if best.point not in {c.point for c in known}:
        return None
    cheapest = min(known, key=lambda c: (costs[c.point], c.value(), c.point))
    if costs[cheapest.point] >= costs[best.point]:
        return None
    return row_of(board, cheapest, f"{name} {costs[cheapest.point]:,.0f} in place of {costs[best.point]:,.0f}")


def knee(board: Board) -> Row | None:
    """Return the point of a front of two objectives that lies farthest below the line between its ends, both scaled to
    the front. Source: Das, Structural Optimization 18 (1999)."""
    points = front(board)
    if len(board.plan.objectives) != 2 or len(points) < 3:
        return None
    goals = np.array([[c.value(0), c.value(1)] for c in points])
    span = np.ptp(goals, axis=0)
    if not (span > 0).all():
        return None
    below = 1.0 - ((goals - goals.min(axis=0)) / span).sum(axis=1)
    at = int(below.argmax())
    return row_of(board, points[at]) if below[at] > 0 else None


def price_ranges(board: Board, best: Candidate) -> tuple[PriceRange, ...]:
    """Return, for each type with a price, the prices at which the best point stays the best, if the objective is a
    cost.

    Points that were not run, or are undecided, count with the least that they can cost. Points that may be cheaper at
    present prices do not count, because for them the answer is open at any price.
    """
    goal = board.plan.objectives[0]
    if len(board.plan.objectives) > 1 or goal.number not in COST or goal.is_maximized:
        return ()
    rented = {} if board.plan.costs is None else board.plan.costs.rent_per_hour
    rivals = _rivals(board, best)
    return tuple(
        _range(board, best, rivals, kind, price) for kind, price in board.screened.prices.items() if kind not in rented
    )


def _rivals(board: Board, best: Candidate) -> list[tuple[int, float, str]]:
    """Return the points that might be better at other prices: by how much they are dearer, and what is known."""
    found: list[tuple[int, float, str]] = []
    for point in board.screened.left.tolist():
        candidate = board.candidates.get(point)
        if point == best.point or point in board.ruled_out or point in board.rejected:
            continue
        if candidate is None:
            dearer, word = float(board.screened.bound[point, 0]) - best.value(), "not run"
        elif candidate.verdict is not Verdict.FAILS:
            dearer = difference(best, candidate).estimate
            word = "undecided" if candidate.verdict is Verdict.UNDECIDED else ""
        else:
            continue
        if not (word and dearer < 0):
            found.append((point, dearer, word))
    return found


def _range(board: Board, best: Candidate, rivals: list[tuple[int, float, str]], kind: str, price: float) -> PriceRange:
    name = f"units.by_type.{kind}"
    own = board.screened.known[best.point][name]
    low, high, below, above = -math.inf, math.inf, None, None
    for point, dearer, word in rivals:
        more = board.screened.known[point].get(name, 0.0) - own
        if more == 0 or math.isnan(dearer):
            continue
        at = price - max(0.0, dearer) / more
        if more > 0 and at > low:
            low, below = at, Rival(board.space.label(point), word)
        if more < 0 and at < high:
            high, above = at, Rival(board.space.label(point), word)
    if low <= 0:
        low, below = 0.0, None
    return PriceRange(kind, price, low, high, below, above)
