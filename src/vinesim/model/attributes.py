"""How an attribute of a model class is declared: once, at its field.

The check of what comes from Python, the key of the scenario file with its type, default, JSON Schema and row of the
reference page, and the step from the file to the model all follow.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from vinesim.model.errors import Problem, Steps
from vinesim.model.scalars import as_found, is_0_or_more, is_above_0, is_whole

_UNITS = ("_w", "_j", "_us")  # at the end of a field's name; its key in a file has none


@dataclass(frozen=True)
class Rule:
    """The values that an attribute may have."""

    expected: str
    is_right: Callable[[Any], bool]


@dataclass(frozen=True)
class Whole(Rule):
    """Whole numbers, both ends included."""

    least: int
    most: int


NUMBER = Rule("a finite number, 0 or more", is_0_or_more)
ABOVE_0 = Rule("a finite number above 0", is_above_0)
TIME = Rule("a time, us", is_0_or_more)


def whole(least: int, most: int, expected: str = "") -> Whole:
    """Return the rule of whole numbers between two, both included."""
    words = expected or f"a whole number, {least} to {most}"
    return Whole(words, lambda value: is_whole(value) and least <= value <= most, least, most)


INDEX = whole(0, 2**31 - 2)


@dataclass(frozen=True)
class Attribute:
    """What a field says about itself."""

    meaning: str  # with its unit
    rule: Rule | None = None  # None: the annotation says it, such as Literal and bool, or the class checks it


@dataclass(frozen=True)
class Declared:
    """An attribute with what its field and annotation say."""

    name: str
    key: str  # in a file
    about: Attribute
    annotation: Any
    default: Any  # dataclasses.MISSING if it has none
    default_factory: Any
    words: tuple[str, ...]  # the words that it may be; empty if it is not a word


def attribute(meaning: str, rule: Rule | None = None) -> dict[str, Any]:
    """Return the metadata of a field that is an attribute."""
    return {"attribute": Attribute(meaning, rule)}


@cache
def attributes_of(model: Any) -> tuple[Declared, ...]:
    """Return the attributes that a dataclass declares, in order."""
    annotations, found = get_type_hints(model), []
    for item in fields(model):
        if (about := item.metadata.get("attribute")) is not None:
            key = next((item.name.removesuffix(unit) for unit in _UNITS if item.name.endswith(unit)), item.name)
            annotation = annotations[item.name]
            words = get_args(annotation) if get_origin(annotation) is Literal else ()
            found.append(Declared(item.name, key, about, annotation, item.default, item.default_factory, words))
    return tuple(found)


def wrong_attributes(where: Steps, value: Any) -> list[Problem]:
    """Return the problems of a value's attributes, each by its own rule; None is right where it is the default."""
    problems = []
    for one in attributes_of(value.__class__):
        found = getattr(value, one.name)
        if found is None and one.default is None:
            continue
        if one.words and found not in one.words:
            problems.append(Problem((*where, one.name), "one of " + ", ".join(one.words), repr(found)))
        elif one.about.rule is not None and not one.about.rule.is_right(found):
            problems.append(Problem((*where, one.name), one.about.rule.expected, as_found(found)))
    return problems
