"""Write a study as a study file that contains its scenario; it still needs the files that the scenario names."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.formats.study.axes import case_labels, labels_of
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError, Problem
from vinesim.model.study import Axis, Study


def inlined(study: Study) -> Study:
    """Return the study with its scenario's contents in it, so that later changes of the scenario file do not matter."""
    return replace(study, scenario=scenario_source(study).data, origin=None)


def to_yaml(study: Study, folder: str | os.PathLike[str] = ".") -> str:
    """Return the text of a study file with the scenario in it, to be kept in ``folder``; file names are unchanged.

    Read from there, it has the same runs with the same ids. Raises :class:`InputError` for what a file cannot hold: a
    policy that is a Python object, or an axis whose labels do not follow from its values.
    """
    document: dict[str, Any] = {"description": study.description} if study.description else {}
    document["folder"] = _way(os.path.abspath(folder), study.folder)
    document["scenario"] = scenario_source(study).data
    if study.axes:
        document["axes"] = dict(map(_axis, study.axes))
    document |= {"replications": study.replications, "seed": study.seed}
    if study.until is not None:
        document["until"] = dict(vars(study.until))
    if study.warm_up is not None:
        document["warm_up"] = study.warm_up if isinstance(study.warm_up, str) else dict(study.warm_up)
    if study.record:
        document["record"] = list(study.record)
    return as_yaml(document)


def _way(start: str, end: Path) -> str:
    try:
        return Path(os.path.relpath(end, start)).as_posix()
    except ValueError:  # another drive
        return str(end)


def _axis(axis: Axis) -> tuple[str, Any]:
    """Return the axis's name, and its contents in the file."""
    name = ", ".join(axis.columns)
    labels = [label for label, *_ in axis.labels]
    words = [label if isinstance(label, str) else repr(label) for label in labels]
    if all(tuple(setting) == axis.columns for setting in axis.settings):
        lists = {column: [setting[column] for setting in axis.settings] for column in axis.columns}
        if list(zip(*map(labels_of, lists.values()), strict=True)) == list(axis.labels):
            return (name, lists[name]) if len(lists) == 1 else (name, {"zip": lists})
        if len(set(axis.labels)) == len(axis):
            columns = zip(*axis.labels, strict=True)
            return name, {"zip": lists, "labels": dict(zip(axis.columns, map(list, columns), strict=True))}
    if len(axis.columns) > 1 or len(set(words)) < len(words) or case_labels(words) != labels:
        expected = "labels that follow from the values, or one text or number per case"
        found = f"the labels {', '.join(words)[:60]}"
        raise InputError([Problem(f"axis {name}", expected, found, "Build the axis from a study's mapping.")])
    return name, {"cases": dict(zip(words, map(dict, axis.settings), strict=True))}
