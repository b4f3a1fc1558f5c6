"""Expand a study into its runs: every combination of the axes, repeated with the same seeds."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import Study
from vinesim.studies.blocks import Block, blocks
from vinesim.studies.identity import PointIds, of_sections, surroundings
from vinesim.studies.run import Run, at_point, named
from vinesim.studies.scenarios import scenario_of

__all__ = ["Block", "Points", "Run", "blocks", "expand", "scenario_of"]


class Points:
    """The points of a study by number, the first axis outermost. The run ids of a point are computed on demand."""

    def __init__(self, study: Study):
        self.study = study
        self._ids = PointIds(scenario_source(study), study.folder, [axis.settings for axis in study.axes])
        self._around = surroundings(study.warm_up, self._ids.own_numbers(study.record))

    @property
    def files(self) -> Mapping[Path, str]:
        """The hashes, by path, of the files that all runs expanded up to now depend on."""
        return self._ids.files

    def positions(self, number: int) -> tuple[int, ...]:
        """Return the position of a point on each axis."""
        found = []
        for axis in reversed(self.study.axes):
            number, position = divmod(number, len(axis))
            found.append(position)
        return tuple(reversed(found))

    def labels(self, number: int) -> dict[str, Any]:
        """Return the labels of a point by column."""
        point: dict[str, Any] = {}
        for axis, position in zip(self.study.axes, self.positions(number), strict=True):
            point.update(zip(axis.columns, axis.labels[position], strict=True))
        return point

    def settings(self, number: int) -> dict[str, Any]:
        """Return the keys of the scenario that a point sets, with their values."""
        settings: dict[str, Any] = {}
        for axis, position in zip(self.study.axes, self.positions(number), strict=True):
            settings.update(axis.settings[position])
        return settings

    def runs(self, number: int, replications: Iterable[int], first_index: int = 0) -> list[Run]:
        """Return these replications of a point; the first has ``first_index`` as its index.

        Raises :class:`InputError` if a file that the scenario names cannot be read.
        """
        point, settings = self.labels(number), self.settings(number)
        try:
            digests = self._ids.digests(self.positions(number))
        except InputError as error:
            raise at_point(error, point) from None
        runs = []
        for index, replication in enumerate(replications, first_index):
            seed = self.study.seed + replication
            run_id = of_sections(digests, seed, self._around)
            runs.append(Run(index, point, settings, replication, seed, run_id, number))
        return runs

    def all_runs(self, replications: int) -> list[Run]:
        """Return this number of replications of every point; see :func:`expand`."""
        runs: list[Run] = []
        seen: dict[str, Mapping[str, Any]] = {}
        problems: list[Problem] = []
        for number in range(self.study.n_points):
            found = self.runs(number, range(replications), len(runs))
            point = found[0].point
            if seen.setdefault(found[0].run_id, point) is not point:
                expected, remedy = (
                    f"a scenario other than at {named(seen[found[0].run_id])}",
                    "Remove one of the two points.",
                )
                problems.append(Problem(f"at {named(point)}", expected, "the same one", remedy))
            runs += found
        if problems:
            raise InputError(problems)
        return runs


def expand(study: Study) -> list[Run]:
    """Return all runs of a study: points in order, the first axis outermost, the replications of each point together.

    No workload is generated. A run's id does not depend on the number of replications, so with more of them
    (``dataclasses.replace(study, replications=...)``) each point begins with the same runs. Raises
    :class:`InputError` if a file that the scenario names cannot be read, or if two points are the same run.
    """
    return Points(study).all_runs(study.replications)
