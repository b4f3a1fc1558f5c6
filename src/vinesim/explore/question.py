"""What a page asks for: the fields of its JSON, and of which type each must be."""

import json
import math
from collections.abc import Callable
from typing import Any

from vinesim.model.errors import InputError, Problem


def _is_changes(value: Any) -> bool:
    return isinstance(value, dict)  # its keys are texts, as JSON has no others


def _is_list_of(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_one, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number_or_none(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and math.isfinite(value))


def _number(digits: str) -> int | float:
    """Read a whole number; one that no integer of 64 bits holds as a float, infinite if it is too large for that."""
    return int(digits) if len(digits) < MOST_DIGITS else float(digits)


MOST_DIGITS = 19
KINDS = ("scenario", "command", "plan")
FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # what is expected; other fields are not looked at
    "changes": ("a mapping of controls to values", _is_changes),
    "variants": ("a list of mappings", _is_list_of(_is_changes)),
    "pinned": ("a list of mappings", _is_list_of(_is_changes)),
    "vary": ("a list of texts", _is_list_of(_is_text)),
    "key": ("a text", _is_text),
    "values": ("a list", lambda value: isinstance(value, list)),
    "p99_us": ("a number, or null", _is_number_or_none),
    "kind": ("one of " + ", ".join(KINDS), lambda value: value in KINDS),
}


def read_question(body: bytes, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the JSON of a request; without changes it asks for the scenario as it is. Raises :class:`InputError`."""
    try:
        found = json.loads(body or b"{}", parse_int=_number)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError([Problem("the request", "a mapping in JSON", "something else")])
    question = {"changes": {}, **found}
    problems = [
        Problem(name, expected, json.dumps(question.get(name))[:60])
        for name, (expected, is_right) in FIELDS.items()
        if (name in question or name in needed) and not is_right(question.get(name))
    ]
    if problems:
        raise InputError(problems)
    return question
