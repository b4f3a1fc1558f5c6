"""Expand a study into its runs: every combination of the axes, repeated with the same seeds."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import Study
from vinesim.studies.blocks import Block, blocks
from vinesim.studies.identity import PointIds, of_sections, surroundings
from vinesim.studies.run import Run, at_point, named
from vinesim.studies.scenarios import scenario_of

__all__ = ["Block", "Run", "blocks", "expand", "scenario_of"]


def expand(study: Study) -> list[Run]:
    """Return all runs of a study: points in order, the first axis outermost, the replications of each point together.

    No workload is generated. A run's id does not depend on the number of replications, so with more of them
    (``dataclasses.replace(study, replications=...)``) each point begins with the same runs. Raises
    :class:`InputError` if a file that the scenario names cannot be read, or if two points are the same run.
    """
    ids = PointIds(scenario_source(study), study.folder, [axis.settings for axis in study.axes])
    around = surroundings(study.warm_up)
    runs: list[Run] = []
    points: dict[str, Mapping[str, Any]] = {}
    problems: list[Problem] = []
    for number, positions in enumerate(product(*(range(len(axis)) for axis in study.axes))):
        point: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        for axis, position in zip(study.axes, positions, strict=True):
            point.update(zip(axis.columns, axis.labels[position], strict=True))
            settings.update(axis.settings[position])
        try:
            digests = ids.digests(positions)
        except InputError as error:
            raise at_point(error, point) from None
        for replication in range(study.replications):
            seed = study.seed + replication
            run_id = of_sections(digests, seed, around)
            if replication == 0 and points.setdefault(run_id, point) is not point:
                expected = f"a scenario other than at {named(points[run_id])}"
                problems.append(
                    Problem(f"at {named(point)}", expected, "the same one", "Remove one of the two points.")
                )
            runs.append(Run(len(runs), point, settings, replication, seed, run_id, number))
    if problems:
        raise InputError(problems)
    return runs
