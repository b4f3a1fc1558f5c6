"""The keys of a scenario file in the notation of overrides: which keys exist, and which hold file names."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.model.errors import Steps
from vinesim.model.python_file import split_file

PERIOD_AMONG_OPTIONS: Steps = ("options", "period_us")  # the place of the key `period` in older files


def key_of(steps: Steps) -> Steps:
    """Return the steps to the value that a key sets; keys of older files have moved."""
    return ("period",) if steps == PERIOD_AMONG_OPTIONS else steps


def unknown_key(steps: Steps) -> tuple[int, list[str]] | None:
    """Return the index of the first step that is not in the document, and the names known there; None if all are."""
    kinds: list[Any] = [ScenarioDocument]
    for i, step in enumerate(steps):
        below = [inner for kind in kinds for inner in _below(kind, step)]
        if not below:
            names = [name for kind in kinds if _is_part(kind) for name in kind.model_fields]
            return i, names
        kinds = [kind for annotation in below for kind in _members(annotation)]
    return None


def _below(kind: Any, step: str | int) -> Iterator[Any]:
    """Yield the types to which a step into a value of this type leads."""
    origin = get_origin(kind)
    if kind is Any:
        yield Any
    elif _is_part(kind) and isinstance(step, str):
        if step in kind.model_fields:
            yield kind.model_fields[step].annotation
        elif kind.model_config.get("extra") == "allow":
            yield get_args(kind.__annotations__["__pydantic_extra__"])[1]
    elif (origin is dict and isinstance(step, str)) or (origin is list and isinstance(step, int)):
        yield get_args(kind)[-1]
        for member in _members(get_args(kind)[-1]):  # values by task type may also be given once for all
            if origin is dict and _is_part(member) and step in member.model_fields:
                yield member.model_fields[step].annotation


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, without their annotations."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def names_file(key: str | int) -> bool:
    """Whether the value of this key, in one of FILE_SECTIONS, is the name of a file."""
    return isinstance(key, str) and (key == "file" or key.endswith("_file"))


def _may_name_files(annotation: Any) -> bool:
    """Whether a value of that type has a place for the name of a file, at any depth."""
    if _is_part(annotation):
        fields = annotation.model_fields
        return any(map(names_file, fields)) or any(_may_name_files(field.annotation) for field in fields.values())
    return any(map(_may_name_files, get_args(annotation)))


FILE_SECTIONS = tuple(  # sections that can name files, under `file`, `price_file` and the like
    name for name, field in ScenarioDocument.model_fields.items() if _may_name_files(field.annotation)
)


_SERIES = ("workload", "options", "series")  # options of the generator `requests`: a file for each application
_CODE = (("policy",), ("workload", "generator"))  # keys whose value may be file.py:Name


def moved(value: Any, steps: Steps, old: Path, new: Path) -> Any:
    """Return the value at ``steps`` of a scenario with its file names relative to ``new`` instead of ``old``."""
    return value if old == new else renamed(value, steps, lambda file: _from(file, old, new))


def renamed(value: Any, steps: Steps, name_of: Callable[[str], str]) -> Any:
    """Return the value at ``steps`` of a scenario with ``name_of(name)`` in place of each file name in it."""
    if not steps and isinstance(value, Mapping):
        return {key: renamed(item, (str(key),), name_of) for key, item in value.items()}
    if steps and steps[0] in FILE_SECTIONS and isinstance(value, Mapping | list):
        if isinstance(value, list):
            return [renamed(item, (*steps, i), name_of) for i, item in enumerate(value)]
        return {key: renamed(item, (*steps, str(key)), name_of) for key, item in value.items()}
    if steps in _CODE and isinstance(value, str):
        file, rest = split_file(value)
        return name_of(file) + rest if file else value
    is_file = len(steps) > 1 and steps[0] in FILE_SECTIONS and (names_file(steps[-1]) or steps[:-1] == _SERIES)
    return name_of(value) if is_file and isinstance(value, str) else value


def moved_code(name: str, old: Path, new: Path) -> str:
    """Return ``file.py:Name`` with its file relative to ``new`` instead of ``old``; other names are unchanged."""
    return moved(name, _CODE[0], old, new)


def _from(file: str, old: Path, new: Path) -> str:
    if os.path.isabs(file):
        return file
    try:
        return Path(os.path.relpath(old / file, new)).as_posix()
    except ValueError:  # another drive
        return str(old / file)
