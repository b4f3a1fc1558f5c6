"""Run a recommendation under other loads, and if it misses a limit there, the points that come next.

The runs are new and go to the folder ``what_if`` of the plan. The load affects what happens in a run, so no stored run
can answer.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from vinesim.formats.plan.numbers import is_own
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.study import Axis
from vinesim.plans.answer import AtLoad, ranked, row_of
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate
from vinesim.plans.confirm import judged_in
from vinesim.plans.verdicts import Judgement, Verdict
from vinesim.studies.sweep import sweep

FOLDER = "what_if"
N_RUNS = 20  # replications of each point
MOST = 10  # points that are run under a load
LOAD = "workload.load"


def at_loads(board: Board, best: Candidate, out: Path | None, choice: tuple[Any, ...]) -> tuple[AtLoad, ...]:
    """Return what the plan's loads do to the best point; ``choice`` is the back-end, as of a sweep."""
    return tuple(_at(board, best, load, out, choice) for load in board.plan.loads)


def _at(board: Board, best: Candidate, load: float, out: Path | None, choice: tuple[Any, ...]) -> AtLoad:
    later = [c for c in ranked(board, [Verdict.HOLDS]) if c.point not in {best.point, *board.rejected}]
    own: tuple[Judgement, ...] = ()
    for n_tried, candidate in enumerate([best, *later[: MOST - 1]], 1):
        try:
            found = _judgements(board, candidate.point, load, out, choice)
        except InputError as error:
            return AtLoad(load, own, None, n_tried, "; ".join(str(problem) for problem in error.problems))
        own = own or found
        if all(each.verdict is Verdict.HOLDS for each in found):
            return AtLoad(load, own, None if candidate is best else row_of(board, candidate), n_tried)
    return AtLoad(load, own, None, min(MOST, 1 + len(later)))


def _judgements(
    board: Board, point: int, load: float, out: Path | None, choice: tuple[Any, ...]
) -> tuple[Judgement, ...]:
    """Return whether the limits that depend on the runs hold at a point under a load. Raises :class:`InputError`."""
    plan, settings = board.plan, board.space.settings(point)
    workload = scenario_source(plan.space).changed(settings).data.get("workload") or {}
    now = float(workload.get("load") or 1.0)
    study = replace(
        plan.space,
        axes=(Axis(("load",), ((load,),), ({**settings, LOAD: now * load},)),),
        replications=N_RUNS if board.screened.is_random[point] else 1,
    )
    backend, workers, address = choice
    folder = None if out is None else out / FOLDER / f"{load:g}" / str(point)
    done = sweep(study, folder, backend=backend, workers=workers, address=address)
    limits = [limit for limit in plan.limits if not is_own(limit.number)]
    return tuple(judged_in(limit, done.table, study, plan.names) for limit in limits)
