"""A YAML file as plain data that knows the line and column of each value and can be changed.

Read by the YAML 1.2 core schema, as editors do: ``30e6`` is a number, ``yes`` and ``no`` are words. Tags, merge keys
and anything else that would build objects are errors; no YAML constructor is ever called. The file is parsed once:
``changed`` shares everything that it does not change.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from vinesim.formats.source.files import read_text
from vinesim.formats.source.limits import DOCUMENT_BYTES, FINDINGS, LEVELS, VALUES
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_nodes import by_name, child, compose, is_plain, scalar, too_many_values
from vinesim.model.errors import InputError, Problem, Steps, dotted
from vinesim.model.scalars import as_found

_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")


@dataclass(frozen=True)
class _Change:
    """A value that replaces one of the file."""

    steps: Steps
    name: str  # its name in messages
    data: Any


class YamlSource:
    """A YAML file: its ``data``, and the place of each part.

    Attributes:
        path: The file; for other data, its name in messages.
        data: Dicts, lists, strings, numbers, booleans and None.
        own_data: The data before any change.
        findings: The problems found up to now, each with its place.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        overrides: Iterable[str] = (),
        *,
        what: str = "a scenario",
        merge: Callable[[yaml.Node, str | os.PathLike[str]], yaml.Node] | None = None,
    ):
        root = compose(read_text(path, DOCUMENT_BYTES), str(path))
        if root is None:
            raise InputError([Problem(str(path), what, "an empty file", "Is this the right file?")])
        if merge is not None:  # into the files that it extends
            root = merge(root, path)
        self._start(path, root, (), None)
        self.data = self.own_data = self._plain(root, ())
        for override in overrides:
            self._override(override)

    @classmethod
    def of(cls, data: Any, name: str = "") -> "YamlSource":
        """Make a source of Python data; messages give places by their keys, after ``name``."""
        source = cls.__new__(cls)
        source._start(name, None, (), _copied(data))
        return source

    def at(self, path: Steps) -> "YamlSource":
        """Return a part of this file as its own source, which keeps its places in the file."""
        node, data = self._root, self.data
        for step in path:
            data = data[step]
            node = None if node is None else child(node, step)
        part = type(self).__new__(type(self))
        part._start(self.path, node, (*self._above, *path), data)
        return part

    def changed(self, settings: Mapping[str, Any]) -> "YamlSource":
        """Return a copy with some values replaced, by dotted key; this source is unchanged and shares the rest.

        Raises :class:`InputError` for a key that cannot be set.
        """
        copy = type(self).__new__(type(self))
        copy._start(self.path, self._root, self._above, self.data)
        copy._changes, copy._renamed = list(self._changes), dict(self._renamed)
        copy.own_data = self.own_data
        copy.findings, copy.n_problems = list(self.findings), self.n_problems
        for key, value in settings.items():
            steps = steps_of(key)
            if steps is None:
                raise InputError([Problem(key, "a key like arrivals.iat or datacenter.racks[0].units.GPU", shown(key))])
            copy._put(_Change(steps, key, value))
        return copy

    def overridden(self, overrides: Iterable[str]) -> "YamlSource":
        """Return a copy with ``key=value`` changes, the values in YAML; this source is unchanged."""
        copy = self.changed({})
        for override in overrides:
            copy._override(override)
        return copy

    def layer(self, path: Steps) -> int:
        """Return the number of the change that set the value at ``path``, from 1, increasing; 0 is the file itself."""
        path = tuple(path)
        return max(
            (i for i, change in enumerate(self._changes, 1) if path[: len(change.steps)] == change.steps), default=0
        )

    def without(self, path: Steps) -> "YamlSource":
        """Return a copy without a key; this source is unchanged."""
        copy = self.changed({})
        copy.data = _removed(self.data, tuple(path))
        return copy

    def renamed(self, old: str, new: str) -> "YamlSource":
        """Return a copy with the value of one key under another; messages still give its original place."""
        before, after = steps_of(old) or (), steps_of(new) or ()
        value = self.data
        for step in before:
            value = value[step]
        copy = self.without(before)
        copy.data = _replaced(copy.data, after, _Change(after, new, value))
        copy._renamed[after] = before
        return copy

    def _start(self, path: str | os.PathLike[str], root: yaml.Node | None, above: Steps, data: Any) -> None:
        self.path = path
        self.data = self.own_data = data
        self.findings: list[tuple[tuple[int, int, int], Problem]] = []
        self.n_problems = 0
        self._root = root  # None: the data comes from no file
        self._above = above  # the steps that lead to this part of a file
        self._changes: list[_Change] = []
        self._renamed: dict[Steps, Steps] = {}  # new key -> the key in the file
        self._n_nodes = 0

    def add(self, path: Steps, expected: str, found: str, remedy: str = "", *, at_key: bool = False) -> None:
        """Add a problem with the value (or the key) at ``path``."""
        if self._is_enough():
            return
        place = self._place(path, at_key)
        self._note(place, Problem(self._named(place, path), expected, found, remedy))

    def where(self, path: Steps) -> str:
        """Return the place of a value, as messages name it."""
        return self._named(self._place(path, False), path)

    def _is_enough(self) -> bool:
        """Whether there are enough problems. Further ones are only counted, because locating them takes time."""
        if len(self.findings) < FINDINGS:
            return False
        self.n_problems += 1
        return True

    def add_unknown(self, path: Steps, known: Iterable[str], what: str = "", *, value: str | None = None) -> None:
        """Add a problem: the key at ``path``, or the ``value`` there, is not a known name. Suggests the closest one."""
        if self._is_enough():
            return
        names, name = list(known), str(path[-1]) if value is None else value
        expected = (f"{what}: " if what else "") + "one of " + ", ".join(names)
        self.add(path, expected, shown(name), did_you_mean(name, names), at_key=value is None)

    def adopt(self, error: InputError, path: Steps, file: str | os.PathLike[str] | None = None) -> None:
        """Add the problems that a reader or a model class found in the value at ``path``.

        Problems in another ``file`` keep their place there.
        """
        place = self._place(path, False)
        for problem in error.problems:
            if file is None:
                where, found = ": ".join(w for w in (self._where(place), problem.where) if w), problem.found
            elif problem.where.startswith(f"{file}:"):
                where, found = problem.where, problem.found
            else:
                where, found = self._named(place, path), f"{problem.found}: {file}"
            self._note(place, Problem(where, problem.expected, found, problem.remedy))
        self.n_problems += error.n_problems - len(error.problems)

    def raise_if_any(self) -> None:
        """Raise :class:`InputError` with all problems, in the order of the file, if there are any."""
        if self.findings:
            ordered = [problem for _, problem in sorted(self.findings, key=lambda finding: finding[0])]
            raise InputError(ordered, self.n_problems)

    def _note(self, place: "_Change | yaml.Mark | None", problem: Problem) -> None:
        order = (0, 0, 0)
        if isinstance(place, _Change):
            order = (self._changes.index(place) + 1, 0, 0)
        elif place is not None:
            order = (0, place.line, place.column)
        self.findings.append((order, problem))
        self.n_problems += 1

    def _where(self, place: "_Change | yaml.Mark | None") -> str:
        if isinstance(place, _Change):
            return place.name
        if place is None:
            return str(self.path)
        if place.name.startswith("--set"):  # the text of an override
            return place.name
        return f"{place.name}:{place.line + 1}:{place.column + 1}"

    def _named(self, place: "_Change | yaml.Mark | None", path: Steps) -> str:
        """Return the place and the key; the key alone if the place is a change of something that contains it."""
        key = dotted((*self._above, *path))
        if isinstance(place, _Change) and dotted(path).startswith(place.name):
            return dotted(path)
        return ": ".join(word for word in (self._where(place), key) if word)

    def _place(self, path: Steps, at_key: bool) -> "_Change | yaml.Mark | None":
        """Return the change or the mark of the value (or key) at ``path``, or of the closest thing that contains it."""
        path = tuple(path)
        for new, old in self._renamed.items():
            if path[: len(new)] == new:
                path = (*old, *path[len(new) :])
        for change in reversed(self._changes):
            if path[: len(change.steps)] == change.steps:
                return change
        found = self._root
        for step in path:
            found = None if found is None else child(found, step)
        if found is None:  # a mapping that a change created
            for change in reversed(self._changes):
                if change.steps[: len(path)] == path:
                    return change
        return self._mark(path, at_key)

    def _mark(self, path: Steps, at_key: bool) -> yaml.Mark | None:
        """Return the mark of the value or key at ``path``, or of the closest thing that contains it."""
        if self._root is None:
            return None
        node, mark = self._root, self._root.start_mark
        for step in path:
            found = child(node, step)
            if found is None:
                break
            mark = found.start_mark
            if at_key and isinstance(node, yaml.MappingNode):
                mark = by_name(node)[str(step)][0].start_mark
            node = found
        return mark

    def _plain(self, node: yaml.Node, path: Steps) -> Any:
        self._n_nodes += 1
        if self._n_nodes > VALUES or len(path) > LEVELS:
            raise InputError([too_many_values(self._where(node.start_mark))])
        if not is_plain(node):
            self.add(path, "a value without a tag", shown(node.tag), "Remove the tag.")
            return None
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        return scalar(node)  # type: ignore[arg-type]

    def _mapping(self, node: yaml.MappingNode, path: Steps) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                if not self._is_enough():
                    self._note(key.start_mark, Problem(self._where(key.start_mark), "a name", "a list or mapping"))
            elif key.value in result:
                if self._is_enough():
                    continue
                where = f"{self._where(key.start_mark)}: {dotted((*path, key.value))}"
                self._note(key.start_mark, Problem(where, "each key once", "a second one", "Keep one."))
            else:
                result[key.value] = self._plain(value, (*path, key.value))
        return result

    def _override(self, text: str) -> None:
        """Set the value of ``key=value`` in the data; ``key`` is dotted, with [i] for the items of a list."""
        name = f"--set {text}"
        key, equals, value = text.partition("=")
        steps = steps_of(key.strip())
        if not equals or steps is None:
            remedy = "For example arrivals.iat=5 or datacenter.racks[0].units.GPU=30."
            raise InputError([Problem(name, "key=value", shown(text), remedy)])
        node = compose(value, name)
        change = _Change(steps, name, None)
        self._changes.append(change)
        given = None if node is None else self._plain(node, steps)
        self._changes.pop()
        self._put(_Change(steps, name, given))

    def _put(self, change: _Change) -> None:
        self.data = _replaced(self.data, change.steps, change)
        self._changes.append(change)


def steps_of(key: str) -> Steps | None:
    """Parse ``"racks[0].units"`` to ``("racks", 0, "units")``; None if it is not such a key."""
    steps = tuple(m[1] if m[1] is not None else int(m[2]) for m in _STEP.finditer(key))
    return steps if steps and dotted(steps) == key else None


def shown(value: Any) -> str:
    """Format a value for messages, shortened."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = as_found(value) if isinstance(value, int) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _replaced(data: Any, steps: Steps, change: _Change) -> Any:
    """Return the data with one value replaced. The path to it is copied; everything else is shared."""
    if not steps:
        return change.data
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not isinstance(data, list) or step >= len(data):
            n = len(data) if isinstance(data, list) else 0
            raise InputError([Problem(change.name, f"an item of a list of {n}", f"[{step}]", "Items count from 0.")])
        return [*data[:step], _replaced(data[step], rest, change), *data[step + 1 :]]
    if data is not None and not isinstance(data, dict):
        remedy = "Set the whole value instead."
        raise InputError([Problem(change.name, f"a mapping that can hold {step}", shown(data), remedy)])
    return {**(data or {}), step: _replaced((data or {}).get(step), rest, change)}


def _removed(data: Any, steps: Steps) -> Any:
    """Return the data without one key."""
    step, rest = steps[0], steps[1:]
    return {key: _removed(value, rest) if key == step else value for key, value in data.items() if rest or key != step}


def _copied(data: Any) -> Any:
    """Copy Python data to plain dicts and lists; NumPy numbers become Python's, and other objects stay."""
    if isinstance(data, Mapping):
        return {str(key): _copied(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_copied(item) for item in data]
    if isinstance(data, np.ndarray | np.generic):
        return _copied(data.tolist())
    return os.fspath(data) if isinstance(data, os.PathLike) else data
