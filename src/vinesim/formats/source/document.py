"""Check a YAML file against the declaration of its keys, and report pydantic's errors in terms of the file."""

import os
from collections.abc import Iterable
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.speed_curves import ANY_TASK

_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
    "too_short": "at least one",
}
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
Document = TypeVar("Document", bound=BaseModel)


_KINDS = {  # of files: a key that shows it, and the command that takes one
    "a plan": ("choose", "plan"),
    "a study": ("axes", "sweep"),
    "a scenario": ("datacenter", "run"),
    "a cluster": ("nodes", "live start"),
}


def refuse_another(path: str | os.PathLike[str], data: Any, wanted: str) -> None:
    """Raise :class:`InputError` if a file is of another kind than ``wanted``, such as a study, judging by its keys."""
    if not isinstance(data, dict) or _KINDS[wanted][0] in data:
        return
    for kind, (key, command) in _KINDS.items():
        if key in data:
            raise InputError([Problem(str(path), wanted, kind, f"Run it with `vinesim {command}`.")])


def checked(
    source: YamlSource, kind: type[Document], required: Iterable[str] = (), leave_out: Iterable[str] = ()
) -> tuple[Document, set[str]]:
    """Return the document without its invalid sections, and their names; the problems are added to ``source``."""
    if not isinstance(source.data, dict):
        source.add((), "a mapping of " + ", ".join(required) + " and more", shown(source.data))
        source.raise_if_any()
    data, bad = {key: value for key, value in source.data.items() if key not in leave_out}, set()
    for name in required:
        if data.get(name) is None:
            source.add((name,), _meaning(kind, name), "nothing", f"Add {name}:.")
            bad.add(name)
            data.pop(name, None)
    try:
        return kind.model_validate(data), bad
    except ValidationError as errors:
        for error in errors.errors(include_url=False):
            _explain(source, kind, (), error)
            bad.add(str(error["loc"][0]))
    return kind.model_validate({k: v for k, v in data.items() if k not in bad}), bad


def checked_part(source: YamlSource, path: Steps, kind: type[Document], data: Any) -> Document | None:
    """Return the part of a document at ``path``; None if it is invalid, with its problems added to ``source``."""
    try:
        return kind.model_validate(data)
    except ValidationError as errors:
        for error in errors.errors(include_url=False):
            _explain(source, kind, path, error)
    return None


def _explain(source: YamlSource, kind: type[BaseModel], above: Steps, error: Any) -> None:
    """Add an error of pydantic as a problem, in terms of the document."""
    problem, context = error["type"], error.get("ctx", {})
    path = _existing(source.data, (*above, *error["loc"]))
    if problem == "extra_forbidden":
        part = _part_at(kind, error["loc"][:-1])
        source.add_unknown(path, part.model_fields if part else (), "a key")
    elif problem == "missing":
        part = _part_at(kind, error["loc"][:-1])
        name = str(error["loc"][-1])
        source.add((*path, name), _meaning(part, name) if part else "a value", "nothing", f"Add {name}:.")
    elif problem == "problem":
        source.add(path, context["expected"], context["found"], context["remedy"])
    elif problem == "literal_error":
        names = [name.strip("'") for name in context["expected"].replace(" or ", ", ").split(", ")]
        source.add(path, "one of " + ", ".join(names), shown(error["input"]))
    else:
        limits = [f"{words} {context[key]:g}" for key, words in _LIMITS.items() if key in context]
        expected = _EXPECTED.get(problem) or " ".join(limits) or error["msg"]
        part = _part_at(kind, error["loc"]) if problem in ("list_type", "model_type") else None
        source.add(path, f"{expected}{_keys_of(part, problem)}" if part else expected, shown(error["input"]))


def _keys_of(part: type[BaseModel], problem: str) -> str:
    """Describe the keys that a mapping, or the mappings of a list, must have; otherwise some that they can have."""
    must = [name for name, item in part.model_fields.items() if item.is_required()]
    keys = _listed(must) if must else f"keys such as {_listed([*part.model_fields][:3])}"
    return f"{' of mappings' if problem == 'list_type' else ''} with {keys}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _meaning(part: type[BaseModel], name: str) -> str:
    text = str(part.model_fields[name].description).rstrip(".")
    return text[:1].lower() + text[1:]


def _existing(data: Any, location: Steps) -> Steps:
    """Return the steps of pydantic's location that exist in the data.

    Pydantic appends its own names, and a value for all task types has no task type in the data.
    """
    path: list[str | int] = []
    for step in location:
        if step == ANY_TASK and isinstance(data, dict) and step not in data:
            continue
        is_item = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if not (is_item or (isinstance(data, dict) and step in data)):
            break
        data = data[step]
        path.append(step)
    return tuple(path)


def _part_at(kind: type[BaseModel], location: Steps) -> type[BaseModel] | None:
    """Return the class of the mapping at a location of the document."""
    part: Any = kind
    is_in_names = False  # the next step is a name in a mapping of parts
    for step in location:
        if isinstance(step, int):
            continue
        if is_in_names:
            is_in_names = False
            continue
        if not (isinstance(part, type) and issubclass(part, BaseModel) and step in part.model_fields):
            return None
        annotation = part.model_fields[step].annotation
        is_in_names = _holds_names(annotation)
        part = next(iter(_parts_in(annotation)), None)
    return part


def _holds_names(annotation: Any) -> bool:
    """Whether a value of this type can be a mapping from names."""
    return get_origin(annotation) is dict or any(map(_holds_names, get_args(annotation)))


def _parts_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [part for argument in get_args(annotation) for part in _parts_in(argument)]
