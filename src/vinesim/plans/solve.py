"""Answer a plan: screen, search, confirm, and say what was found. This is the verb ``plan``."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vinesim.formats.plan.file import plan as plan_of
from vinesim.formats.plan.file import read_plan
from vinesim.model.plan import Plan
from vinesim.plans import answer as answers
from vinesim.plans import trade_offs
from vinesim.plans.answer import Answer, Row, Status, row_of
from vinesim.plans.board import Board
from vinesim.plans.check import check_plan
from vinesim.plans.conclusion import End, accounted, counts, ended, proof, still_open, why_none
from vinesim.plans.confirm import Confirmation, Outcome, confirm
from vinesim.plans.neighbors import neighbors, settle
from vinesim.plans.record import write_answer
from vinesim.plans.run_ids import joined
from vinesim.plans.runs import Runs
from vinesim.plans.screen import screened
from vinesim.plans.search import search
from vinesim.plans.space import Space
from vinesim.plans.verdicts import Verdict
from vinesim.plans.what_if import at_loads
from vinesim.policies.documents import checked_scenario
from vinesim.studies.backends import check_backend

MOST_TRIES = 5  # points that are run again


def plan(
    plan: Plan | Mapping[str, object] | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    backend: str = "loky",
    workers: int | None = None,
    address: str | None = None,
    on_step: Callable[[Board], None] | None = None,
    on_message: Callable[[str], None] | None = None,
) -> Answer:
    """Search for the best choices of a plan within its limits. ``plan`` may also be a plan file or its mapping.

    ``out`` is the folder of the runs, which is also the folder of a sweep; finished runs in it are not repeated. The
    search writes ``plan.json``, ``recommendation.yaml`` and the scenarios of the answer's other rows there, and
    ``vinesim report`` turns them into pages. ``backend``, ``workers`` and ``address`` are as for ``sweep``. Ctrl-C ends
    the search and returns the answer so far. Raises :class:`InputError` for a plan or folder that cannot be used.
    """
    check_backend(backend, workers, address)
    if not isinstance(plan, Plan):
        plan = plan_of(plan) if isinstance(plan, Mapping) else read_plan(plan, check=checked_scenario)
    space = Space(plan)
    check_plan(plan, space)
    known = screened(plan, space)
    choice = (backend, workers, address)
    folder = None if out is None else Path(out)
    with (
        _place(folder) as place,
        Runs(
            plan, space, known, place, choice, in_memory=out is None, on_message=on_message or (lambda _: None)
        ) as runs,
    ):
        board = Board(plan, space, known, runs, on_step or (lambda _: None))
        found = _solved(board, folder, choice)
    if folder is not None:
        write_answer(replace(found, plan=replace(plan, space=runs.kept)), folder)
    return found


def _solved(board: Board, out: Path | None, choice: tuple[str, int | None, str | None]) -> Answer:
    """Search and confirm until a point is confirmed, or none is left."""
    confirmation: Confirmation | None = None
    failed: list[tuple[Row, Outcome]] = []
    try:
        end = _searched(board)
        while board.best is not None and len(failed) < MOST_TRIES:
            board.stage = "confirm"
            board.on_step(board)
            confirmation = confirm(board, board.best.point, len(failed) + 1, out, choice)
            if confirmation.outcome not in (Outcome.FAILED, Outcome.UNDECIDED):
                break
            failed.append((row_of(board, board.best), confirmation.outcome))
            board.reject(board.best.point)
            confirmation = None
            end = _searched(board)
        around = () if board.best is None else neighbors(board, board.best)
        found = answer_of(board, end, confirmation, tuple(failed), around)
        return found if board.best is None else replace(found, at_loads=at_loads(board, board.best, out, choice))
    except KeyboardInterrupt:
        return answer_of(board, End.INTERRUPTED, confirmation, tuple(failed), ())


def _searched(board: Board) -> End:
    end = search(board)
    settle(board)
    return end


def answer_of(
    board: Board,
    end: End,
    confirmation: Confirmation | None,
    failed: tuple[tuple[Row, Outcome], ...],
    neighbors: tuple[answers.Neighbor, ...],
) -> Answer:
    """Return the answer that the runs on a board give."""
    best, is_front = board.best, len(board.plan.objectives) > 1
    near = sorted(
        answers.ranked(board, [Verdict.FAILS]), key=lambda c: (c.shortfall, board.screened.load[c.point], c.point)
    )
    undecided = answers.ranked(board, [Verdict.UNDECIDED])
    found = counts(board)
    return Answer(
        plan=board.plan,
        status=_status(board, end, confirmation),
        recommended=None if best is None else row_of(board, best),
        runners=() if best is None else answers.runners(board, best),
        front=tuple(answers.front_row(board, c) for c in answers.front(board)) if is_front else (),
        nearest=tuple(row_of(board, c, answers.why_failed(c)) for c in near[: answers.N_NEAREST]),
        undecided=tuple(row_of(board, c, answers.why_failed(c)) for c in undecided[: answers.N_NEAREST]),
        binding="" if best is None else answers.binding(board, best),
        relaxed=() if best is None else answers.relaxations(board, best),
        neighbors=neighbors,
        nearly=None if best is None else trade_offs.nearly(board, best),
        knee=trade_offs.knee(board) if is_front else None,
        at_loads=(),
        price_ranges=() if best is None else trade_offs.price_ranges(board, best),
        confirmation=confirmation,
        not_confirmed=failed,
        counts=found,
        accounted=accounted(found, board, end),
        screened_why=dict(Counter(board.screened.why.values()).most_common()),
        ended=ended(board, end),
        why_none=why_none(board, end) if best is None else "",
        is_proved=not is_front and not still_open(board),
        closed=proof(board),
        notes=answers.notes(board, best),
        prices=board.screened.prices,
        n_jobs=answers.n_jobs(board),
        evaluated=tuple(answers.evaluated(board)),
        run_ids=joined(board.runs.used),
        course=tuple(board.course),
    )


def _status(board: Board, end: End, confirmation: Confirmation | None) -> Status:
    if board.best is None:
        if end in (End.SPENT, End.INTERRUPTED, End.STORED):
            return Status.NOT_FOUND
        undecided = any(c.verdict is Verdict.UNDECIDED for c in board.candidates.values())
        return Status.UNDECIDED if undecided or board.rejected else Status.NONE
    if confirmation is None or confirmation.outcome is Outcome.UNCHECKED:
        return Status.UNCONFIRMED
    return Status.SHORT if confirmation.outcome is Outcome.SHORT else Status.RECOMMENDED


@contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
    else:
        with tempfile.TemporaryDirectory(prefix="vinesim-plan-") as folder:
            yield Path(folder)
