"""Run a recommendation again, with seeds that the search never used and with a longer workload.

The best of many points tends to have been lucky with its seeds, so only fresh seeds decide the confidence of a
recommendation. The k-th point tried on them gets 1 / (k (k + 1)) of the allowed error, so that all points together stay
within it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.plan.numbers import is_own
from vinesim.metrics.numbers import Numbers
from vinesim.model.errors import InputError
from vinesim.model.plan import FRESH, Limit
from vinesim.model.study import Axis, Study
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate
from vinesim.plans.longer import longer_settings
from vinesim.plans.unfinished import why_broken
from vinesim.plans.verdicts import Judgement, Verdict, judged
from vinesim.studies.sweep import sweep

LONGER = "longer"  # the folder of the longer runs
N_LONGER = 20  # replications of them
COUNTS = ("jobs.", "deadlines.", "applications.", "serving.")  # numbers that say which jobs did not finish


class Outcome(StrEnum):
    """What the further runs of a recommendation say."""

    CONFIRMED = "confirmed"
    UNCHECKED = "not confirmed"  # because no further runs were asked for, or there was no time
    UNDECIDED = "undecided on fresh seeds"
    FAILED = "fails on fresh seeds"
    SHORT = "horizon too short"


@dataclass(frozen=True)
class Longer:
    """The runs of a longer workload: ``times`` as long, by ``settings``; or why there are none."""

    times: float
    settings: dict[str, Any]
    judgements: tuple[Judgement, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Confirmation:
    """A point run again."""

    outcome: Outcome
    fresh: Candidate | None = None
    longer: Longer | None = None


def confirm(board: Board, point: int, attempt: int, out: Path | None, choice: tuple[Any, ...]) -> Confirmation:
    """Run a point again; ``attempt`` counts the points that were, from 1."""
    wanted = board.plan.confirm
    fresh = None
    is_random = bool(board.screened.is_random[point])
    if wanted.replications and is_random:
        replications = range(FRESH, FRESH + wanted.replications)
        board.runs.ask([(point, replications)], counts=False)
        fresh = board.judge(point, replications, 1, 1 / (attempt * (attempt + 1)))
        if fresh.verdict is Verdict.FAILS:
            return Confirmation(Outcome.FAILED, fresh)
        if fresh.verdict is Verdict.UNDECIDED:
            return Confirmation(Outcome.UNDECIDED, fresh)
    longer = _longer(board, point, out, choice) if wanted.horizon > 1 else None
    if longer is not None and any(judgement.verdict is Verdict.FAILS for judgement in longer.judgements):
        return Confirmation(Outcome.SHORT, fresh, longer)
    is_checked = fresh is not None or not is_random  # other seeds would give the same
    return Confirmation(Outcome.CONFIRMED if is_checked else Outcome.UNCHECKED, fresh, longer)


def _longer(board: Board, point: int, out: Path | None, choice: tuple[Any, ...]) -> Longer:
    plan, settings = board.plan, board.space.settings(point)
    times = plan.confirm.horizon
    change = longer_settings(plan, settings)
    limits = [limit for limit in plan.limits if not is_own(limit.number)]
    if not change:
        why_not = "a log has a fixed length. Set confirm.longer to keys that lengthen it"
        return Longer(times, {}, why_not=why_not)
    if not limits:
        return Longer(times, change, why_not="no limit depends on the runs")
    study = replace(
        plan.space,
        axes=(Axis(("longer",), ((f"{times:g} times",),), ({**settings, **change},)),),
        replications=N_LONGER if board.screened.is_random[point] else 1,
        seed=plan.space.seed + FRESH,
    )
    backend, workers, address = choice
    folder = None if out is None else out / LONGER / str(point)
    try:
        done = sweep(study, folder, backend=backend, workers=workers, address=address)
    except InputError as error:
        return Longer(times, change, why_not="; ".join(str(problem) for problem in error.problems))
    if done.failures:
        return Longer(times, change, why_not=done.failures[0].message)
    return Longer(times, change, tuple(judged_in(limit, done.table, study, plan.names) for limit in limits))


def judged_in(limit: Limit, table: Any, study: Study, names: tuple[str, ...]) -> Judgement:
    """Judge a limit by the rows of a sweep of one point."""
    missing = np.full(table.n_rows, math.nan)
    column = np.asarray(table.get(limit.number, missing), np.float64)
    counts = {name: np.asarray(table[name], np.float64) for name in table if name.startswith(COUNTS)}
    rows: Iterator[Numbers] = ({name: float(values[i]) for name, values in counts.items()} for i in range(table.n_rows))
    broken = [bool(why_broken(row, names)) for row in rows]
    return judged(limit, np.where(broken, math.nan, column), 1, is_random=study.replications > 1)
