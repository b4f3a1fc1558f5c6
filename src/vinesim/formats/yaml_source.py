"""A YAML file as plain data that still knows the line and column of each value, and takes changes.

Read as YAML 1.2 by its core rules, as editors do: ``30e6`` is a number, ``yes`` and ``no`` are words. Tags, merge keys
and anything else that would build objects are refused; there is no call of a YAML constructor.
"""

import difflib
import math
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from vinesim.formats.files import read_text
from vinesim.model.errors import InputError, Problem

MAX_NODES = 1_000_000  # aliases count as often as they are used
MAX_DEPTH = 60
_WHOLE = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS |= {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan, ".NaN": math.nan}
_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")
Path = Sequence[str | int]


class _Loader(yaml.SafeLoader):
    """Composes nodes only; scalars stay text, so that ``_scalar`` alone decides what they mean."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


class YamlSource:
    """A YAML file: its ``data``, and where each part of it stands.

    Attributes:
        path: the file.
        data: dicts, lists, texts, numbers, booleans and None.
        findings: problems so far, each added with its place.
    """

    def __init__(self, path: str | os.PathLike[str], overrides: Iterable[str] = ()):
        self.path = path
        self.findings: list[tuple[tuple[int, int, int], Problem]] = []
        self.n_problems = 0
        root = _compose(read_text(path), str(path))
        if root is None:
            raise InputError([Problem(str(path), "a scenario", "an empty file", "Is this the right file?")])
        self._root = root
        self._overrides: list[str] = []
        for override in overrides:
            self._override(override)
        self._n_nodes = 0
        self.data = self._plain(self._root, ())

    def add(self, path: Path, expected: str, found: str, remedy: str = "", *, at_key: bool = False) -> None:
        """Note a problem with the value (or the key) at ``path``."""
        mark = self._mark(path, at_key)
        where = f"{self._where(mark)}: {dotted(path)}" if path else self._where(mark)
        self._note(mark, Problem(where, expected, found, remedy))

    def add_unknown(self, path: Path, known: Iterable[str], what: str = "", *, value: str | None = None) -> None:
        """Note that the key at ``path``, or the ``value`` there, is no known name; with the closest one."""
        names, name = list(known), str(path[-1]) if value is None else value
        expected = (f"{what}: " if what else "") + "one of " + ", ".join(names)
        self.add(path, expected, shown(name), did_you_mean(name, names), at_key=value is None)

    def adopt(self, error: InputError, path: Path, file: str | os.PathLike[str] | None = None) -> None:
        """Note the problems that a reader or a model class has with what is at ``path``.

        Those of another ``file`` keep their own place in it.
        """
        mark = self._mark(path, False)
        here = self._where(mark)
        for problem in error.problems:
            if file is None:
                where, found = f"{here}: {problem.where}", problem.found
            elif problem.where.startswith(f"{file}:"):
                where, found = problem.where, problem.found
            else:
                where, found = f"{here}: {dotted(path)}", f"{problem.found}: {file}"
            self._note(mark, Problem(where, problem.expected, found, problem.remedy))
        self.n_problems += error.n_problems - len(error.problems)

    def raise_if_any(self) -> None:
        """Raise :class:`InputError` with all problems noted, in the order of the file."""
        if self.findings:
            ordered = [problem for _, problem in sorted(self.findings, key=lambda finding: finding[0])]
            raise InputError(ordered, self.n_problems)

    def _note(self, mark: yaml.Mark, problem: Problem) -> None:
        source = self._overrides.index(mark.name) + 1 if mark.name in self._overrides else 0
        self.findings.append(((source, mark.line, mark.column), problem))
        self.n_problems += 1

    def _where(self, mark: yaml.Mark) -> str:
        return mark.name if mark.name in self._overrides else f"{self.path}:{mark.line + 1}:{mark.column + 1}"

    def _mark(self, path: Path, at_key: bool) -> yaml.Mark:
        """The mark of the value or key at ``path``, or of the nearest thing around it."""
        node, mark = self._root, self._root.start_mark
        for step in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next((pair for pair in node.value if _is_named(pair[0], step)), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                found = (node.value[step], node.value[step])
            if found is None:
                break
            key, node = found
            mark = key.start_mark if at_key else node.start_mark
        return mark

    def _plain(self, node: yaml.Node, path: tuple[str | int, ...]) -> Any:
        self._n_nodes += 1
        if self._n_nodes > MAX_NODES or len(path) > MAX_DEPTH:
            what = f"at most {MAX_NODES:,} values in {MAX_DEPTH} levels"
            raise InputError([Problem(self._where(node.start_mark), what, "more", "Are there aliases in circles?")])
        if not _is_plain(node):
            self.add(path, "a value without a tag", shown(node.tag), "Remove the tag.")
            return None
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        return _scalar(node)  # type: ignore[arg-type]

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._note(key.start_mark, Problem(self._where(key.start_mark), "a name", "a list or mapping"))
            elif key.value in result:
                where = f"{self._where(key.start_mark)}: {dotted((*path, key.value))}"
                self._note(key.start_mark, Problem(where, "each key once", "it a second time", "Keep one."))
            else:
                result[key.value] = self._plain(value, (*path, key.value))
        return result

    def _override(self, text: str) -> None:
        """Put the value of ``key=value`` into the tree; ``key`` is dotted, with [i] for the items of a list."""
        name = f"--set {text}"
        key, equals, value = text.partition("=")
        steps = [m[1] if m[1] is not None else int(m[2]) for m in _STEP.finditer(key.strip())]
        if not equals or dotted(steps) != key.strip() or not steps:
            remedy = "For example arrivals.iat=5 or datacenter.racks[0].units.GPU=30."
            raise InputError([Problem(name, "key=value", shown(text), remedy)])
        node = _compose(value, name) or yaml.ScalarNode(_STR, "", yaml.Mark(name, 0, 0, 0, None, 0))
        self._overrides.append(name)
        self._root = _replaced(self._root, steps, node, name)


_STR = "tag:yaml.org,2002:str"
_TAGS = {yaml.ScalarNode: _STR, yaml.SequenceNode: "tag:yaml.org,2002:seq", yaml.MappingNode: "tag:yaml.org,2002:map"}


def dotted(path: Path) -> str:
    """``("racks", 0, "units")`` as ``racks[0].units``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remedy that names the closest of the known names, or nothing."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower()[:100], by_lower, 1, 0.6)
    return f"Did you mean {by_lower[close[0]]}?" if close else ""


def shown(value: Any) -> str:
    """A value as messages show it: short."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**60 else "a number of over 60 digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _is_named(key: yaml.Node, name: str | int) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == name


def _is_plain(node: yaml.Node) -> bool:
    if isinstance(node, yaml.ScalarNode) and node.tag == "!" and node.style is not None:
        return True
    return node.tag == _TAGS[type(node)]


def _scalar(node: yaml.ScalarNode) -> Any:
    text = node.value
    if node.style is not None:  # in quotes
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _replaced(node: yaml.Node, steps: list[str | int], value: yaml.Node, name: str) -> yaml.Node:
    """The tree with another value in one place; the nodes on the way are copies, as aliases may share them."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not isinstance(node, yaml.SequenceNode) or step >= len(node.value):
            n = len(node.value) if isinstance(node, yaml.SequenceNode) else 0
            raise InputError([Problem(name, f"an item of a list of {n}", f"[{step}]", "Items count from 0.")])
        items = list(node.value)
        items[step] = _replaced(items[step], rest, value, name)
        return yaml.SequenceNode(node.tag, items, node.start_mark, node.end_mark)
    is_empty = isinstance(node, yaml.ScalarNode) and node.style is None and node.value in ("", "~", "null")
    if not isinstance(node, yaml.MappingNode) and not is_empty:
        what = "a list" if isinstance(node, yaml.SequenceNode) else shown(getattr(node, "value", None))
        raise InputError([Problem(name, f"a mapping that can hold {step}", what, "Set the whole of it instead.")])
    pairs = list(node.value) if not is_empty else []
    for i, (key, old) in enumerate(pairs):
        if _is_named(key, step):
            pairs[i] = (key, _replaced(old, rest, value, name))
            break
    else:
        key = yaml.ScalarNode(_STR, step, value.start_mark, value.end_mark)
        empty = yaml.ScalarNode(_STR, "", value.start_mark, value.end_mark)
        pairs.append((key, _replaced(empty, rest, value, name)))
    return yaml.MappingNode(_TAGS[yaml.MappingNode], pairs, node.start_mark, node.end_mark)


def _compose(text: str, name: str) -> yaml.Node | None:
    """The nodes of a YAML text; what is no YAML raises :class:`InputError`."""
    try:
        loader = _Loader(text)
        loader.name = name
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark and not name.startswith("--set") else name
        words = ", ".join(w for w in (error.problem, error.context) if w)
        raise InputError([Problem(where, "YAML", words or "something else")]) from None
    except yaml.reader.ReaderError as error:
        line, column = text.count("\n", 0, error.position) + 1, error.position - text.rfind("\n", 0, error.position)
        where = name if name.startswith("--set") else f"{name}:{line}:{column}"
        raise InputError([Problem(where, "text", f"the character U+{ord(text[error.position]):04X}")]) from None
    except (yaml.YAMLError, ValueError, IndexError) as error:
        raise InputError([Problem(name, "YAML", str(error).replace("\n", " "))]) from None
    except RecursionError:
        raise InputError([Problem(name, "YAML", "too many levels")]) from None
