"""A scenario file that extends another one: its keys are merged into the other file, as in a merge patch (RFC 7396)."""

import os
from dataclasses import replace
from pathlib import Path

import yaml

from vinesim.formats.scenario.keys import Steps, moved
from vinesim.formats.source.files import read_text
from vinesim.formats.source.limits import DOCUMENT_BYTES
from vinesim.formats.source.yaml_nodes import by_name, compose, scalar
from vinesim.model.errors import InputError, Problem

SUFFIXES = (".yaml", ".yml")
KEY = "extends"


def extended(root: yaml.Node, path: str | os.PathLike[str], above: tuple[Path, ...] = ()) -> yaml.Node:
    """Return the nodes of a scenario file, merged into the file that it extends, if any.

    Mappings are merged key by key; other values replace those of the other file, and ``null`` removes them. File names
    of the other file start from its own folder. Raises :class:`InputError`.
    """
    name = by_name(root).get(KEY) if isinstance(root, yaml.MappingNode) else None
    if name is None or not isinstance(name[1], yaml.ScalarNode) or not name[1].value.endswith(SUFFIXES):
        return root
    own, file = Path(path), Path(name[1].value)
    mark, other = name[1].start_mark, own.parent / file
    where = f"{path}:{mark.line + 1}:{mark.column + 1}: {KEY}"
    known = (*above, own.resolve())
    if other.resolve() in known:
        raise InputError([Problem(where, "a file that does not extend this one", str(file), "Break the cycle.")])
    try:
        found = compose(read_text(other, DOCUMENT_BYTES), str(other))
    except InputError as error:
        at_file = [replace(p, at=where) if p.where == str(other) else p for p in error.problems]
        raise InputError(at_file) from None
    if not isinstance(found, yaml.MappingNode):
        raise InputError([Problem(where, "a scenario file", f"something else in {file}")])
    base = extended(found, other, known)
    _move(base, (), other.parent, own.parent, set())
    return _merged(base, _without(root))


def with_extended_scenario(root: yaml.Node, path: str | os.PathLike[str]) -> yaml.Node:
    """Merge as :func:`extended` does the scenario inside a study or a plan. Raises :class:`InputError`."""
    if isinstance(root, yaml.MappingNode):
        root.value = [(key, extended(value, path) if key.value == "scenario" else value) for key, value in root.value]
    return root


def _without(root: yaml.Node) -> yaml.MappingNode:
    """Return the mapping without its own key ``extends``, so that the other file's applies."""
    return yaml.MappingNode(
        root.tag, [(key, value) for key, value in root.value if key.value != KEY], root.start_mark, root.end_mark
    )


def _merged(base: yaml.Node, own: yaml.Node) -> yaml.Node:
    if not (isinstance(base, yaml.MappingNode) and isinstance(own, yaml.MappingNode)):
        return own
    before, mine = by_name(base), by_name(own)
    kept = [(key, value) for key, value in base.value if key.value not in mine]
    for key, value in own.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name not in before:
            kept.append((key, value))
        elif not (isinstance(value, yaml.ScalarNode) and scalar(value) is None):
            kept.append((key, _merged(before[name][1], value)))
    return yaml.MappingNode(own.tag, kept, own.start_mark, own.end_mark)


def _move(node: yaml.Node, steps: Steps, old: Path, new: Path, seen: set[int]) -> None:
    """Make the file names in the nodes relative to another folder. Nodes of aliases are visited several times."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        node.value = moved(node.value, steps, old, new)
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            _move(item, (*steps, i), old, new, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _move(value, (*steps, str(key.value)), old, new, seen)
