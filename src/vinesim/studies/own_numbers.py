"""The user's own numbers: functions of a result, which a study's ``record`` names as ``file.py:function``.

A function returns a number, a mapping of numbers (which may hold further mappings), or a table whose first column holds
labels. Its numbers become columns of the sweep, named after the function, followed by the keys, or by label and column.

``record`` may also name axes of the jobs, such as ``by.user``; the numbers are then ``by.user.ann.wait_us`` and so on.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.formats.results.table import Table
from vinesim.metrics.by import BY, wrong_axis
from vinesim.metrics.labels import labels_of
from vinesim.metrics.numbers import Numbers, flat
from vinesim.model.errors import InputError, PolicyError, Problem
from vinesim.model.python_file import line_in, load_file, same_folder, split_file
from vinesim.model.run_numbers import is_number_or_part
from vinesim.model.scenario import Scenario
from vinesim.model.study import OWN_COLUMNS, Study
from vinesim.result import Result
from vinesim.studies.expand import Points
from vinesim.studies.labels import axes_of_jobs
from vinesim.studies.rows import check_columns
from vinesim.studies.scenarios import scenario_of
from vinesim.workloads.select_jobs import select_jobs

N_JOBS = 100  # jobs of the first run on which the functions are tried before a sweep begins
_EXPECTED = "a number, a mapping of numbers, or a table whose first column has labels"


class OwnNumbers:
    """The functions that a ``record`` names, loaded once."""

    def __init__(self, record: Iterable[str], folder: Path, taken: Iterable[str] = ()):
        """Run the code of the files, whose names are relative to ``folder``. Names in ``taken`` are not available.

        Raises :class:`InputError` for what is not a function in a file.
        """
        self._functions: dict[str, tuple[Path, Callable[[Result], Any]]] = {}
        record = tuple(record)
        self._axes = axes_of_jobs(record)
        for own in record:
            file, rest = split_file(own)
            if not file:
                continue
            path, name = Path(os.path.normpath(folder / file)), rest.removeprefix(":")
            function = getattr(load_file(path, "record"), name, None)
            if not callable(function):
                found = f"{name or 'no name'} in {file}"
                raise InputError([Problem(("record",), "file.py:function", found, "Check the name.")])
            if name in self._functions or name in {*OWN_COLUMNS, *taken} or is_number_or_part(name):
                remedy = "Rename the function."
                raise InputError([Problem(("record",), "a name that no other number or axis has", name, remedy)])
            self._functions[name] = path, function

    @classmethod
    def of_study(cls, study: Study) -> Self:
        """Return the functions of a study."""
        return cls(study.record, study.folder, study.columns)

    def __bool__(self) -> bool:
        return bool(self._functions or self._axes)

    def tried(self, scenario: Scenario) -> Numbers:
        """Return the numbers of a run of the scenario's first jobs, to know their names. Raises as :meth:`of` does."""
        return self.of(simulate(_few_jobs(scenario))) if self else {}

    def of(self, result: Result) -> Numbers:
        """Return the numbers of a result by name. Raises :class:`InputError`, with the line of the function's file."""
        found: Numbers = {}
        _check_labelled(self._axes, result.labels)
        for axis in self._axes:
            found |= dict(_numbers(BY + axis, result.by(axis)))
        for name, (path, function) in self._functions.items():
            try:
                with same_folder():
                    value = function(result)
            except Exception as wrong:
                words = f"{type(wrong).__name__}: {wrong}"
                where = f"{path}:{line_in(wrong, path)}"
                raise InputError([Problem(where, f"{name}(result) to return a value", words)]) from wrong
            found |= dict(_numbers(name, value))
        return found


def selection(record: Iterable[str]) -> tuple[str, ...]:
    """Return the names in a ``record`` that are VineSim's own; if there are none, all numbers are recorded."""
    return tuple(name for name in record if not split_file(name)[0] and not name.startswith(BY))


def functions(record: Iterable[str]) -> list[str]:
    """Return the entries ``file.py:function`` of a ``record``."""
    return [name for name in record if split_file(name)[0]]


def check_axes(record: Iterable[str], scenario: Scenario, known: dict[str, str]) -> None:
    """Raise :class:`InputError` that lists every axis in a ``record`` that the jobs of a scenario lack, or else every
    label that differs from another only in case, also from those ``known`` of other points, to which it adds."""
    if not (axes := axes_of_jobs(record)):
        return
    labels = labels_of(scenario.workload)
    _check_labelled(axes, labels)
    of = {axis: {*labels[axis].tolist()} - {None, ""} for axis in axes if labels and axis in labels}
    check_columns(sorted(f"{BY}{axis}.{label}" for axis in of for label in of[axis]), known=known)


def _check_labelled(axes: Iterable[str], labels: Table | None) -> None:
    """Raise :class:`InputError` that lists every axis that the jobs lack."""
    if problems := [found for axis in axes if (found := wrong_axis({"labels": labels}, axis, BY))]:
        raise InputError([replace(problem, at=("record",)) for problem in problems])


def check_own_numbers(study: Study) -> None:
    """Try the functions on the first jobs of the first run, before anything else runs, unless its policy fails: then
    that run fails, and no other. Raises :class:`InputError`."""
    if functions(study.record):
        own = OwnNumbers.of_study(study)
        (first,) = Points(study).runs(0, [0])
        with suppress(PolicyError):
            check_columns(own.tried(scenario_of(study, first)), study.columns)


def _few_jobs(scenario: Scenario) -> Scenario:
    """Return the scenario with its first jobs only."""
    jobs = np.arange(min(N_JOBS, scenario.workload.n_jobs))
    few = select_jobs(scenario.workload, jobs, scenario.workload.arrival_us[jobs])
    return replace(scenario, workload=few)


def _numbers(name: str, value: Any) -> Iterable[tuple[str, float]]:
    for key, number in flat({name: _plain(name, value)}):
        if isinstance(number, str | bytes) or not isinstance(number, int | float | np.number | np.bool_ | None):
            raise InputError([Problem(f"record: {name}", _EXPECTED, f"{key}: {type(number).__name__}")])
        yield key, math.nan if number is None else float(number)


def _plain(name: str, value: Any) -> Any:
    """Return a table as a mapping from its labels to its numbers; return anything else unchanged."""
    columns = value.to_dict("list") if hasattr(value, "to_dict") and not isinstance(value, Mapping) else value
    if not isinstance(columns, Mapping) or not all(isinstance(c, np.ndarray | list | tuple) for c in columns.values()):
        return {str(key): item for key, item in columns.items()} if isinstance(columns, Mapping) else columns
    labels, *rest = columns.values()
    names = list(columns)[1:]
    if len(set(map(str, labels))) < len(labels):
        raise InputError([Problem(f"record: {name}", "a table with each label once", "a label twice")])
    rows = zip(labels, *rest, strict=True)
    return {str(label): dict(zip(names, numbers, strict=True)) for label, *numbers in rows}
