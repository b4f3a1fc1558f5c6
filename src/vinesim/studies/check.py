"""Check that the scenario of every point of a study can run."""

import warnings
from collections.abc import Callable
from dataclasses import replace

from vinesim.formats.study.file import scenario_source
from vinesim.metrics.warm_up import check_leaves_jobs
from vinesim.model.errors import MAX_PROBLEMS, InputError, InputWarning, Problem
from vinesim.model.study import Study
from vinesim.policies.documents import PolicyCheck, scenario_from
from vinesim.studies.expand import expand
from vinesim.studies.own_numbers import check_axes, check_own_numbers, functions
from vinesim.studies.run import named

_ENOUGH = 200  # wrong points, after which the check stops


def check_points(
    study: Study,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    check_policy: PolicyCheck | None = None,
) -> int:
    """Build the scenario of each point, with the first seed, and try the functions that the study records on the first
    point, unless the check runs no code of files; return the number of points.

    ``on_progress(done, of)`` is called after each. Raises :class:`InputError`: problems at all points are reported as
    they are, others with their first point; after 20 problems or 200 wrong points the check stops.
    """
    check = check_policy or PolicyCheck()
    points = expand(replace(study, replications=1, until=None))
    wrong: dict[Problem, list[str]] = {}  # problem -> the points that have it
    texts: dict[str, list[str]] = {}
    n_wrong = 0
    for number, run in enumerate(points, 1):
        source = scenario_source(study).changed({**run.settings, "seed": run.seed})
        try:
            words: list[str] = []
            scenario = scenario_from(source, study.folder, check_policy=check, tell=words.append)
            check_leaves_jobs(study.warm_up, scenario.workload.n_jobs, study.warm_up_at)
            check_axes(study.record, scenario)
            for text in words:
                texts.setdefault(text, []).append(named(run.point))
        except InputError as error:
            n_wrong += 1
            for problem in error.problems:
                wrong.setdefault(problem, []).append(named(run.point))
        if on_progress is not None:
            on_progress(number, len(points))
        if n_wrong == _ENOUGH or len(wrong) > MAX_PROBLEMS:
            break
    if wrong:
        raise InputError(
            [replace(problem, at=_at(at, len(at) == number) + problem.where) for problem, at in wrong.items()]
        )
    if check.allows(functions(study.record), "function"):
        check_own_numbers(study)
    for text, at in texts.items():
        warnings.warn(_at(at, len(at) == number) + text, InputWarning, stacklevel=2)
    return len(points)


def _at(points: list[str], is_everywhere: bool) -> str:
    """Name the first point that has a problem, and how many more; empty if all checked points have it."""
    if is_everywhere:
        return ""
    others = f" and {len(points) - 1} other points" if len(points) > 2 else f" and {points[1]}" if points[1:] else ""
    return f"{points[0]}{others}: "
