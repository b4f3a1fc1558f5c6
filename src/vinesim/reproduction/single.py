"""A single run of a study's scenario, for claims that need a table or a time series."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vinesim.engine.simulate import simulate
from vinesim.formats.study.file import read_study
from vinesim.model.scenario import Scenario
from vinesim.model.study import Axis, Study
from vinesim.result import Result
from vinesim.studies.expand import expand, scenario_of


def run(study_file: Path, *settings: Mapping[str, Any]) -> Result:
    """Simulate the scenario of a study, without its axes, after ``settings`` (as with `--set`); later ones override."""
    return simulate(scenario(study_file, *settings))


def scenario(study_file: Path, *settings: Mapping[str, Any]) -> Scenario:
    """Return the scenario that :func:`run` simulates."""
    study = replace(read_study(study_file), axes=(), replications=1, until=None)
    study = changed(study, {key: value for setting in settings for key, value in setting.items()})
    return scenario_of(study, expand(study)[0])


def changed(study: Study, changes: Mapping[str, Any]) -> Study:
    """Return the study with changes to its scenario, except for what its axes set."""
    if not changes:
        return study
    words = ", ".join(f"{key}={value}" for key, value in changes.items())
    return replace(study, axes=(Axis(("changes",), ((words,),), (dict(changes),)), *study.axes))
