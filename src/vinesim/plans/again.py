"""Answer a plan again from its stored runs, with other prices, limits or costs: nothing is run."""

import os
from collections.abc import Iterable
from pathlib import Path

from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError, Problem
from vinesim.model.plan import FRESH, Plan
from vinesim.plans.answer import Answer
from vinesim.plans.board import Board
from vinesim.plans.check import check_plan
from vinesim.plans.conclusion import End
from vinesim.plans.neighbors import neighbors
from vinesim.plans.runs import Runs
from vinesim.plans.screen import Screened, screened
from vinesim.plans.solve import answer_of
from vinesim.plans.space import Space
from vinesim.plans.stored import read_answer
from vinesim.plans.unfinished import why_broken
from vinesim.studies.damage import intact_parts
from vinesim.studies.expand import scenario_of
from vinesim.studies.repriced import check_prices, costs_of, other_prices, warn_of_own
from vinesim.studies.rows import stored_numbers, stored_places

_SAME = "The stored runs are those of another question: run the plan with it, in another folder."


class StoredRuns(Runs):
    """The finished runs in a plan's folder; no other can be asked for."""

    does_more = False

    def __init__(self, plan: Plan, known: Screened, runs: dict[tuple[int, int], tuple[str, Numbers]]):
        """``runs`` are the ids and numbers of runs, by point and replication."""
        self.plan, self._screened = plan, known
        self._ids = {place: run_id for place, (run_id, _) in runs.items()}
        self._known = dict(runs.values())
        self._asked = set(self._known)
        self.n_asked, self.n_beyond, self.n_done = len(runs), 0, 0

    def ask(self, wanted: Iterable[tuple[int, range]], *, counts: bool = True) -> None:
        """Do nothing: what is not stored stays unknown."""

    def why(self, point: int, replications: range) -> str:
        """Return why a point cannot keep the limits whatever its numbers are: a run that did not finish."""
        found = (why_broken(self._known[self._ids[point, r]], self.plan.names) for r in replications)
        return next((reason for reason in found if reason), "")


def answered_again(folder: str | os.PathLike[str], was: Plan, asked: Plan) -> Answer:
    """Return the answer that the runs in a plan's folder give to a plan that differs from it in prices, electricity,
    costs, limits or objectives.

    Raises :class:`InputError` for what needs other runs. Points that the folder has no runs of count as not looked at.
    """
    path = Path(folder)
    stored = read_answer(path)
    space = Space(asked)
    if [choice.settings for choice in was.choices] != [choice.settings for choice in asked.choices]:
        raise InputError([Problem("--set choose", "the choices of the stored runs", "other values or choices", _SAME)])
    check_plan(asked, space)
    known = screened(asked, space)
    runs = StoredRuns(asked, known, _runs(path, was, asked))
    board = Board(asked, space, known, runs, stage="stored")
    for point in sorted({point for point, _ in runs._ids} - set(known.why)):
        n = next(n for n in range(FRESH + 1) if (point, n) not in runs._ids)
        if n:
            board.take(point, range(min(n, board.looks(point)[-1])))
    for row, _ in stored["not_confirmed"]:
        board.reject(row["point"])
    around = () if board.best is None else neighbors(board, board.best)
    return answer_of(board, End.STORED, None, (), around)


def _runs(folder: Path, was: Plan, asked: Plan) -> dict[tuple[int, int], tuple[str, Numbers]]:
    """Return the stored runs of a plan under the other one's prices, by point and replication."""
    old, new = Space(was), Space(asked)
    parts = intact_parts(folder)
    numbers = stored_numbers(parts, {name for axis in was.space.axes for name in axis.columns})
    found: dict[tuple[int, int], tuple[str, Numbers]] = {}
    scenarios = {}
    for run_id, (point, replication) in stored_places(parts).items():
        if point >= old.n or replication >= FRESH:
            continue
        (run,) = old.points.runs(point, [replication])
        if run.run_id != run_id:
            continue
        if point not in scenarios:
            (other,) = new.points.runs(point, [replication])
            scenarios[point] = scenario_of(was.space, run), scenario_of(asked.space, other)
            check_prices(*scenarios[point], _SAME)
        found[point, replication] = run_id, numbers[run_id] | costs_of(*scenarios[point], numbers[run_id])
    if any(any(other_prices(*pair)) for pair in scenarios.values()):
        warn_of_own(was.space)
    return found
