"""Whether the scenario of every point of a study can be run."""

from collections.abc import Callable
from dataclasses import replace

from vinesim.formats.scenario_file import scenario_from
from vinesim.formats.study_file import scenario_source
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.study import Study
from vinesim.policies.registry import resolve
from vinesim.studies.expand import expand
from vinesim.studies.run import named

_ENOUGH = 200  # wrong points


def check_points(study: Study, watch: Callable[[int, int], None] | None = None) -> int:
    """Build the scenario of each point, with the first seed; the number of points.

    ``watch(done, of)`` is called after each. Raises :class:`InputError`: what is wrong at all points is told as it is,
    the rest with the first point that has it; beyond 20 problems or 200 wrong points it looks no further.
    """
    points = expand(replace(study, replications=1, until=None))
    wrong: dict[Problem, list[str]] = {}  # with the points that have it
    n_wrong = 0
    for number, run in enumerate(points, 1):
        source = scenario_source(study).changed({**run.settings, "seed": run.seed})
        try:
            scenario_from(source, study.folder, check_policy=resolve)
        except InputError as error:
            n_wrong += 1
            for problem in error.problems:
                wrong.setdefault(problem, []).append(named(run.point))
        if watch is not None:
            watch(number, len(points))
        if n_wrong == _ENOUGH or len(wrong) > MAX_PROBLEMS:
            break
    if wrong:
        raise InputError([_told(problem, at, len(at) == number) for problem, at in wrong.items()])
    return len(points)


def _told(problem: Problem, points: list[str], is_everywhere: bool) -> Problem:
    """The problem with the first point that has it, unless all that were looked at have it."""
    if is_everywhere:
        return problem
    others = f" and {len(points) - 1} other points" if len(points) > 2 else f" and {points[1]}" if points[1:] else ""
    return replace(problem, where=f"{points[0]}{others}: {problem.where}")
