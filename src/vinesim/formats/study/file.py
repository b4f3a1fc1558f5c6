"""Convert a study file (YAML), or the same mapping in Python, to a :class:`~vinesim.model.study.Study` and back.

Its keys are declared in ``document``, which ``study_schema`` gives as JSON Schema for editors.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from vinesim.formats.results.checksums import check_text
from vinesim.formats.scenario.document import schema_around_scenario
from vinesim.formats.scenario.extends import extended, with_extended_scenario
from vinesim.formats.scenario.keys import moved_code
from vinesim.formats.source.document import checked, checked_part, refuse_another
from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.formats.study.axes import AxesReader
from vinesim.formats.study.document import REQUIRED, StudyDocument, WarmUpPart
from vinesim.model.errors import InputError
from vinesim.model.study import Study, Until

__all__ = ["is_study", "read_study", "scenario_source", "study", "study_schema"]


Check = Callable[[YamlSource, Path], object]  # builds a scenario; raises InputError


def read_study(path: str | os.PathLike[str], check: Check | None = None) -> Study:
    """Read the study of a YAML file; file names in it are relative to its folder.

    Raises :class:`InputError` with file, line and column of every problem. The scenario's own values are checked at
    each point by :func:`vinesim.studies.check.check_points`; with a ``check``, their problems join those of the study.
    """
    source = YamlSource(path, what="a study", merge=with_extended_scenario)
    check_text(path, "a study")
    refuse_another(path, source.data, "a study")
    return _study(source, Path(os.path.abspath(path)).parent, check)


def is_study(path: str | os.PathLike[str]) -> bool:
    """Whether a YAML file is a study rather than a scenario, judging by its keys. Raises :class:`InputError`."""
    data = YamlSource(path, what="a scenario, a study or a plan").data
    return isinstance(data, dict) and not {"scenario", "axes"}.isdisjoint(data)


def study(mapping: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Study:
    """Build a study from a mapping with a study file's keys; file names in it are relative to ``folder``.

    Values of an axis ``policy`` can be policy classes or objects. Raises :class:`InputError` with every problem.
    """
    return _study(YamlSource.of(mapping), Path(os.path.abspath(folder)))


def _study(source: YamlSource, folder: Path, check: Check | None = None) -> Study:
    document, bad = checked(source, StudyDocument, REQUIRED)
    folder = Path(os.path.abspath(folder / document.folder))
    scenario = None if "scenario" in bad else given_scenario(source, document.scenario, folder)
    scenario_folder = folder
    if isinstance(document.scenario, str):
        scenario_folder = Path(os.path.abspath(folder / document.scenario)).parent
    axes = AxesReader(source, scenario, folder, scenario_folder).axes(document.axes)
    warm_up, until = given_warm_up(source, document.warm_up), document.until
    raise_with_scenario(source, scenario, scenario_folder, [axis.settings[0] for axis in axes], document.axes, check)
    assert scenario is not None
    is_file = isinstance(document.scenario, str)
    try:
        return Study(
            scenario=folder / document.scenario if is_file else scenario.data,
            axes=axes,
            replications=document.replications,
            seed=given_seed(scenario, document.seed),
            until=None if until is None else Until(until.ci_width, until.of, until.confidence, until.at_most),
            warm_up=warm_up,
            record=tuple(moved_code(name, folder, scenario_folder) for name in document.record),
            description=document.description or "",
            folder=folder,
            origin=None if is_file else scenario,
            warm_up_at=source.where(("warm_up", "jobs")),
        )
    except InputError as error:
        for problem in error.problems:
            source.adopt(InputError([problem]), problem.path[:1])
        source.raise_if_any()
        raise


def given_warm_up(source: YamlSource, value: Any) -> Any:
    """Return the warm-up under the key ``warm_up``; problems are added to the source."""
    if not isinstance(value, dict):
        return value
    part = checked_part(source, ("warm_up",), WarmUpPart, value)
    return None if part is None else part.model_dump(exclude_none=True)


def given_seed(scenario: YamlSource, seed: int | None) -> int:
    """Return the seed, by default the scenario's, whose problems are reported with the scenario's other ones."""
    own = scenario.data.get("seed", 0)
    if seed is not None:
        return seed
    return own if isinstance(own, int) and 0 <= own < 2**63 else 0


def given_scenario(source: YamlSource, given: Any, folder: Path) -> YamlSource | None:
    """Return the scenario under the key ``scenario``: its file, or its mapping; None, with a problem, if invalid."""
    if isinstance(given, dict):
        return source.at(("scenario",))
    if not isinstance(given, str):
        source.add(("scenario",), "a scenario file, or a scenario's mapping", shown(given))
        return None
    path = folder / given
    try:
        found = _parsed(path)
    except InputError as error:
        source.adopt(error, ("scenario",), path)
        return None
    if not isinstance(found.data, dict):
        source.add(("scenario",), "a scenario file", f"{shown(found.data)} in {given}")
        return None
    return found


def raise_with_scenario(
    source: YamlSource,
    scenario: YamlSource | None,
    folder: Path,
    settings: Iterable[Mapping[str, Any]],
    varied: Iterable[str],
    check: Check | None,
) -> None:
    """Raise :class:`InputError` if the source has problems, together with those of its scenario under ``settings``.

    Sections of keys that are ``varied`` without a setting are not reported: the source already has a problem there.
    """
    if not source.findings:
        return
    try:
        source.raise_if_any()
    except InputError as own:
        problems = list(own.problems)
        if scenario is not None and check is not None:
            values = {key: value for each in settings for key, value in each.items()}
            sections = tuple(re.split(r"[.\[]", key)[0] for key in varied if key not in values)
            try:
                check(scenario.changed(values), folder)
            except InputError as error:
                problems += [one for one in error.problems if not one.where.rpartition(": ")[2].startswith(sections)]
        raise InputError(list(dict.fromkeys(problems)), own.n_problems + len(problems) - len(own.problems)) from None


def scenario_source(study: Study) -> YamlSource:
    """Return the study's scenario as a source, parsed once per process and again if its file has changed."""
    if not isinstance(study.scenario, Mapping):
        return _parsed(study.scenario)
    if study not in _sources:
        _sources[study] = study.origin or YamlSource.of(study.scenario, "scenario")
    return _sources[study]


_sources: WeakKeyDictionary[Study, YamlSource] = WeakKeyDictionary()


def _parsed(path: Path) -> YamlSource:
    try:
        status = os.stat(path)
        return _parsed_at(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except (OSError, ValueError):
        return YamlSource(path, merge=extended)  # reports the error


@lru_cache(maxsize=64)
def _parsed_at(path: Path, *_state: int) -> YamlSource:
    near = os.path.relpath(path)
    source = YamlSource(path if near.startswith("..") else near, merge=extended)
    check_text(path, "a scenario")
    return source


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files, for editors and for the reference page."""
    return schema_around_scenario(StudyDocument)
