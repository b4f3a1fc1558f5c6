"""Derive parts of the scenario file from classes of the model, whose attributes are the keys, and build them back."""

from dataclasses import MISSING
from typing import Annotated, Any, get_args

from pydantic import Field, create_model

from vinesim.formats.scenario.values import Number, Positive, Time
from vinesim.formats.source.parts import Part
from vinesim.model.attributes import ABOVE_0, NUMBER, TIME, Declared, Whole, attributes_of

_TYPES = {NUMBER: Number, ABOVE_0: Positive, TIME: Time}


def part_of(model: type, base: type[Part] = Part, **types: Any) -> Any:
    """Return a class of parts with the keys of ``base`` and one for each attribute that a class of the model declares.

    ``types`` holds the types of keys for which a file has more than a number or a word: a quantity with a unit, a
    table, another part. A key whose type includes None may be absent; the attribute then has the model's default.
    """
    keys: dict[str, Any] = {}
    for one in attributes_of(model):
        annotation = types.get(one.key) or _type_of(one)
        about: dict[str, Any] = {"description": one.about.meaning}
        if type(None) in get_args(annotation):
            about["default"] = None
        elif one.default is not MISSING:
            about["default"] = one.default
        elif one.default_factory is not MISSING:
            about["default_factory"] = one.default_factory
        keys[one.key] = (annotation, Field(**about))
    return create_model(f"Declared{model.__name__}", __base__=base, **keys)


def _type_of(one: Declared) -> Any:
    rule = one.about.rule
    if rule is None:
        return one.annotation
    found = Annotated[int, Field(ge=rule.least, le=rule.most)] if isinstance(rule, Whole) else _TYPES[rule]
    return found | None if one.default is None else found


def declared_by(part: Any, model: type, **models: type) -> dict[str, Any]:
    """Return the attributes that a part gives, by their names in the model. Attributes that it leaves out are missing.

    ``models`` are the classes of those attributes, by name, that are parts themselves.
    """
    values = {one.name: getattr(part, one.key) for one in attributes_of(model)}
    for name, inner in models.items():
        values[name] = inner(**declared_by(values[name], inner))
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if value is not None
    }
