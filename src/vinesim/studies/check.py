"""Check that the scenario of every point of a study can run."""

import warnings
from dataclasses import replace

from vinesim.formats.study.file import scenario_source
from vinesim.metrics.by import BY
from vinesim.metrics.warm_up import check_leaves_jobs
from vinesim.model.errors import MAX_PROBLEMS, InputError, InputWarning, Problem
from vinesim.model.study import Study
from vinesim.policies.documents import PolicyCheck, scenario_from
from vinesim.report.breakdown import COLUMNS
from vinesim.studies.expand import expand
from vinesim.studies.labels import axes_of_jobs
from vinesim.studies.own_numbers import check_axes, check_own_numbers, functions
from vinesim.studies.run import named

_ENOUGH = 200  # wrong points, after which the check stops


def check_points(study: Study, *, check_policy: PolicyCheck | None = None) -> int:
    """Build the scenario of each point with the first seed, and return the number of points.

    Functions that the study records are tried on the first point, unless the check may not run code of files. Raises
    :class:`InputError`: problems at all points are reported as they are, others with their first point. The check stops
    after 20 problems or 200 wrong points.
    """
    _check_names(study)
    check = check_policy or PolicyCheck()
    points = expand(replace(study, replications=1, until=None))
    wrong: dict[Problem, list[str]] = {}  # problem -> the points that have it
    texts: dict[str, list[str]] = {}
    known: dict[str, str] = {}  # columns by their lower case
    n_checked, n_wrong = 0, 0
    for run in points:
        n_checked += 1
        source = scenario_source(study).changed({**run.settings, "seed": run.seed})
        try:
            words: list[str] = []
            scenario = scenario_from(source, study.folder, check_policy=check, tell=words.append)
            check_leaves_jobs(study.warm_up, scenario.workload.n_jobs, study.warm_up_at)
            check_axes(study.record, scenario, known)
            for text in words:
                texts.setdefault(text, []).append(named(run.point))
        except InputError as error:
            n_wrong += 1
            for problem in error.problems:
                wrong.setdefault(problem, []).append(named(run.point))
        if n_wrong == _ENOUGH or len(wrong) > MAX_PROBLEMS:
            break
    if wrong:
        raise InputError(
            [replace(problem, at=_at(at, len(at) == n_checked) + problem.where) for problem, at in wrong.items()]
        )
    if check.allows(functions(study.record), "function"):
        check_own_numbers(study)
    for text, at in texts.items():
        warnings.warn(_at(at, len(at) == n_checked) + text, InputWarning, stacklevel=2)
    return len(points)


def _check_names(study: Study) -> None:
    """Raise :class:`InputError` for axes that have the names of what ``show --by`` puts next to them."""
    recorded = axes_of_jobs(study.record)
    taken = {*recorded, *COLUMNS} if recorded else set()
    if wrong := [name for name in study.columns if name in taken]:
        expected = f"names other than those of {', '.join(BY + axis for axis in recorded)} and of its numbers"
        remedy = "Give the axis another name, with cases:."
        raise InputError([Problem(("axes",), expected, name, remedy) for name in wrong])


def _at(points: list[str], is_everywhere: bool) -> str:
    """Name the first point that has a problem and count the others; empty if all checked points have it."""
    if is_everywhere:
        return ""
    others = f" and {len(points) - 1} other points" if len(points) > 2 else f" and {points[1]}" if points[1:] else ""
    return f"{points[0]}{others}: "
