"""Convert the axes of a study file (lists, logarithmic and even spacing, zipped keys, cases) to positions."""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.scenario.keys import key_of, moved, unknown_key
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.quantities import bandwidth, power_w, size_bytes, time_us
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_nodes import plain_value
from vinesim.formats.source.yaml_source import YamlSource, shown, steps_of
from vinesim.formats.study.document import FORMS, CasesPart, LinearPart, LogPart, ZipPart
from vinesim.model.errors import InputError, Steps, dotted
from vinesim.model.study import OWN_COLUMNS, Axis

_NOT_AXES = {"seed": "Use replications: and seed:.", "description": "It has no effect."}
_SPACED_DIGITS = 12  # spaced values are rounded to this number of digits, so that they are equal on every machine


class AxesReader:
    """Builds the axes one by one; problems are added to the study's source.

    ``scenario`` is the scenario's source (None if it is invalid). File names are relative to ``folder``, and are
    rewritten relative to ``scenario_folder``. ``section`` is the key of the file that contains the axes.
    """

    def __init__(
        self,
        source: YamlSource,
        scenario: YamlSource | None,
        folder: Path,
        scenario_folder: Path,
        section: str = "axes",
    ):
        self.source, self.scenario, self.folder, self.scenario_folder = source, scenario, folder, scenario_folder
        self.section = section
        self._used: dict[Steps, str] = {}  # key -> the axis that sets it
        self._columns: dict[str, str] = dict.fromkeys(OWN_COLUMNS, "")  # column in lower case -> its axis

    def axes(self, given: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the valid axes."""
        return tuple(axis for name, value in given.items() if (axis := self._axis(name, value)) is not None)

    def _axis(self, name: str, value: Any) -> Axis | None:
        path = (self.section, name)
        n_before = self.source.n_problems
        if isinstance(value, list):
            axis = self._listed(path, name, value)
        elif isinstance(value, dict) and len(forms := [form for form in FORMS if form in value]) == 1:
            part = checked_part(self.source, path, FORMS[forms[0]], value)
            axis = None if part is None else self._of_part(path, name, part)
        else:
            expected = "a list of values, or one of {log: ...}, {linear: ...}, {zip: ...}, {cases: ...}"
            remedy = did_you_mean(str(next(iter(value))), FORMS) if isinstance(value, dict) and value else ""
            self.source.add(path, expected, shown(value), remedy)
            return None
        if axis is None or self.source.n_problems > n_before:
            return None
        self._check_columns(path, name, axis)
        self._check_overlaps(path, name, axis)
        return axis

    def _of_part(self, path: Steps, name: str, part: Any) -> Axis | None:
        if isinstance(part, LogPart):
            return self._spaced(path, name, "log", part.log, part.n)
        if isinstance(part, LinearPart):
            return self._spaced(path, name, "linear", part.linear, part.n)
        if isinstance(part, ZipPart):
            return self._zipped(path, part.zip, part.labels)
        assert isinstance(part, CasesPart)
        return self._cases(path, name, part.cases)

    def _listed(self, path: Steps, name: str, values: list[Any]) -> Axis | None:
        if not values:
            self.source.add(path, "at least one value", "an empty list", "Remove the axis or give it values.")
            return None
        if not self._check_key(path, name):
            return None
        places = [(*path, i) for i in range(len(values))]
        self._check_values(places, name, values)
        settings = tuple(self._setting({name: value}) for value in values)
        column = labels_of([_by_name(value) for value in values])  # files by the study's names
        self._check_once(places, column)
        return Axis((name,), tuple((label,) for label in column), settings)

    def _spaced(self, path: Steps, name: str, form: str, ends: Sequence[Any], n: int) -> Axis | None:
        if not self._check_key(path, name):
            return None
        found = quantities(ends)
        if found is None:
            self.source.add((*path, form), "two numbers or two quantities of one kind", shown_list(ends))
            return None
        first, last = found
        if form == "log" and not (first > 0 and last > 0):
            self.source.add((*path, form), "two values above 0", shown_list(ends), "Use linear for an axis with 0.")
            return None
        if first == last:
            self.source.add((*path, form), "two different values", shown_list(ends))
            return None
        between = np.geomspace if form == "log" else np.linspace
        spaced = between(float(first), float(last), n)  # NumPy cannot space integers beyond 64 bits
        values: list[Any] = [float(f"{value:.{_SPACED_DIGITS}g}") for value in spaced.tolist()]
        values[0], values[-1] = first, last
        if all(isinstance(end, int) for end in ends) and all(value == math.floor(value) for value in values):
            values = [int(value) for value in values]  # counts of units or jobs must be whole numbers
        self._check_values([(*path, form)] * n, name, values)
        return Axis((name,), tuple((value,) for value in values), tuple({name: value} for value in values))

    def _zipped(self, axis: Steps, lists: Mapping[str, Any], named: Mapping[str, list[Any]]) -> Axis | None:
        path = (*axis, "zip")
        n_before = self.source.n_problems
        for key, values in lists.items():
            if not isinstance(values, list) or not values:
                self.source.add((*path, key), "a list of at least one value", shown(values))
            self._check_key((*path, key), key)
        if self.source.n_problems > n_before:
            return None
        lengths = {key: len(values) for key, values in lists.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{key}: {n}" for key, n in lengths.items())
            self.source.add(path, "lists of equal length", found, "Each position takes one value from every list.")
            return None
        for key, values in lists.items():
            self._check_values([(*path, key, i) for i in range(len(values))], key, values)
        rows = zip(*lists.values(), strict=True)
        settings = tuple(self._setting(dict(zip(lists, row, strict=True))) for row in rows)
        if not self._check_labels((*axis, "labels"), named, lengths):
            return None
        columns = [named.get(key) or labels_of([_by_name(value) for value in values]) for key, values in lists.items()]
        labels = list(zip(*columns, strict=True))
        self._check_once([path] * len(labels), labels)
        self._check_within(path, settings[0])
        return Axis(tuple(lists), tuple(labels), settings)

    def _check_labels(self, path: Steps, named: Mapping[str, list[Any]], lengths: Mapping[str, int]) -> bool:
        """Whether labels are given for keys that are zipped, one for each value, and are numbers or texts."""
        n_before = self.source.n_problems
        for key, labels in named.items():
            if key not in lengths:
                expected = "a key of zip: " + ", ".join(lengths)
                self.source.add((*path, key), expected, shown(key), did_you_mean(key, lengths), at_key=True)
            elif len(labels) != lengths[key]:
                self.source.add((*path, key), f"a label for each of {lengths[key]} values", f"{len(labels)}")
            elif wrong := [i for i, label in enumerate(labels) if isinstance(label, list | dict)]:
                self.source.add((*path, key, wrong[0]), "a number or a text", shown(labels[wrong[0]]))
        return self.source.n_problems == n_before

    def _cases(self, path: Steps, name: str, cases: Mapping[str, Mapping[str, Any]]) -> Axis | None:
        path = (*path, "cases")
        n_before = self.source.n_problems
        for label, keys in cases.items():
            for key, value in keys.items():
                if self._check_key((*path, label, key), key):
                    self._check_values([(*path, label, key)], key, [value])
            if self.source.n_problems == n_before:
                self._check_within((*path, label), keys)
        labels = case_labels(list(cases))
        self._check_once([(*path, label) for label in cases], labels)
        if self.source.n_problems > n_before:
            return None
        settings = tuple(self._setting(keys) for keys in cases.values())
        return Axis((name,), tuple((label,) for label in labels), settings)

    def _setting(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: moved(_by_name(value), steps_of(key) or (), self.folder, self.scenario_folder)
            for key, value in keys.items()
        }

    def _check_key(self, path: Steps, key: str) -> bool:
        """Return whether the scenario has this key; if not, add a problem at the key."""
        steps = steps_of(key)
        if steps is None:
            expected = "a key of the scenario, such as arrivals.iat or datacenter.racks[0].units.GPU"
            self.source.add(path, expected, shown(key), at_key=True)
            return False
        if key in _NOT_AXES:
            self.source.add(path, "a key that can be an axis", shown(key), _NOT_AXES[key], at_key=True)
            return False
        unknown = unknown_key(steps)
        if unknown is None:
            return True
        at, names = unknown
        step = steps[at]
        parent = dotted(steps[:at]) or "the scenario"
        expected = f"a key of {parent}: one of " + ", ".join(names) if names else f"nothing below {parent}"
        closest = did_you_mean(str(step), names).removeprefix("Did you mean ").removesuffix("?")
        remedy = f"Did you mean {dotted((*steps[:at], closest, *steps[at + 1 :]))}?" if closest else ""
        self.source.add(path, expected, shown(key), remedy, at_key=True)
        return False

    def _check_values(self, paths: Sequence[Steps], key: str, values: Sequence[Any]) -> None:
        """Check that the values can be set in the scenario at this key."""
        if self.scenario is None:
            return
        for path, value in zip(paths, values, strict=True):
            try:
                self.scenario.changed({key: value})
            except InputError as error:
                problem = error.problems[0]
                self.source.add(path, problem.expected, problem.found, problem.remedy)
                return

    def _check_once(self, paths: Sequence[Steps], labels: Sequence[Any]) -> None:
        seen: set[Any] = set()
        for path, label in zip(paths, labels, strict=True):
            if label in seen:
                words = ", ".join(map(str, label)) if isinstance(label, tuple) else label
                self.source.add(path, "each position once", f"{words} again", "Keep one.")
            seen.add(label)

    def _check_within(self, path: Steps, keys: Mapping[str, Any]) -> None:
        """Check that the keys of one position do not overlap."""
        all_steps = [key_of(steps_of(key) or ()) for key in keys]
        for i, one in enumerate(all_steps):
            for two in all_steps[:i]:
                if _overlap(one, two):
                    found = f"{dotted(two)} and {dotted(one)}"
                    self.source.add((*path, dotted(one)), "each key once", found, "Keep one of them.", at_key=True)

    def _check_columns(self, path: Steps, name: str, axis: Axis) -> None:
        for column in axis.columns:
            other = self._columns.get(column.lower())
            if other is not None:
                owner = f"the axis {other}" if other else "every sweep"
                expected = "columns with different names, ignoring case"
                self.source.add(path, expected, f"{column}, which {owner} has", "Rename the axis.", at_key=True)
            self._columns[column.lower()] = name

    def _check_overlaps(self, path: Steps, name: str, axis: Axis) -> None:
        """Check that no other axis sets the same key, a key that contains it, or a key within it."""
        own = {key_of(steps_of(key) or ()): key for setting in axis.settings for key in setting}
        for steps, key in own.items():
            for other, owner in self._used.items():
                if owner != name and _overlap(steps, other):
                    found = f"{key}, where the axis {owner} sets {dotted(other)}"
                    self.source.add(path, "keys that no other axis sets", found, "Use zip or cases.", at_key=True)
        self._used |= dict.fromkeys(own, name)


def _by_name(value: Any) -> Any:
    """Replace one of VineSim's policy classes by its name; return anything else unchanged."""
    is_own = isinstance(value, type) and value.__module__.startswith("vinesim.policies.")
    return getattr(value, "name", value) if is_own else value


def _overlap(one: Steps, two: Steps) -> bool:
    n = min(len(one), len(two))
    return one[:n] == two[:n]


def quantities(values: Sequence[Any]) -> list[float] | None:
    """Convert the values to us, bytes per us, bytes or W; None unless all are numbers or quantities of one kind."""
    for convert in (time_us, size_bytes, bandwidth, power_w):
        try:
            found = [_number(value, convert) for value in values]
        except InputError:
            continue
        return found
    return None


def _number(value: Any, convert: Any) -> float:
    return value if _is_number(value) else convert(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def labels_of(values: Sequence[Any]) -> list[Any]:
    """Return the labels of a key's values: numbers, or texts if any value is neither a number nor a quantity."""
    given = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in given):
        return list(values)
    is_number = not any(isinstance(value, bool | list | dict) for value in given)
    numbers = quantities(given) if is_number and all(isinstance(v, str | int | float) for v in given) else None
    if numbers is not None:
        if not all(isinstance(number, int) for number in numbers):
            numbers = [float(number) for number in numbers]
        taken = iter(numbers)
        return [None if value is None else next(taken) for value in values]
    return [None if value is None else label_of(value) for value in values]


def label_of(value: Any) -> str:
    """Return the label of a value: short YAML on one line; a policy's name and options."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {label_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(label_of(item) for item in value) + "]"
    if value is None or isinstance(value, int | float):
        return "null" if value is None else str(value)
    kind = value if isinstance(value, type) else type(value)
    name = getattr(value, "name", "") or kind.__name__
    fields = getattr(value, "__dataclass_fields__", {}) if not isinstance(value, type) else {}
    options = [(key, getattr(value, key)) for key, item in fields.items() if getattr(value, key) != item.default]
    return name + (" " + ", ".join(f"{key}={option}" for key, option in options) if options else "")


def case_labels(labels: list[str]) -> list[Any]:
    """Return the labels of cases, as numbers if all of them are."""
    values = [plain_value(label) for label in labels]
    if not all(map(_is_number, values)):
        return list(labels)
    return values if all(isinstance(value, int) for value in values) else [float(value) for value in values]


def shown_list(values: Sequence[Any]) -> str:
    """Format a list for messages, shortened."""
    return "[" + ", ".join(shown(value) for value in values) + "]"
