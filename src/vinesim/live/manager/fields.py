"""What a field of a call may hold, and how each is read: once, before the call is carried out."""

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

MISSING = object()
OF_ALL = frozenset(("op", "n"))  # what every call has: which it is, and its number
MOST_WHOLE = 2**53
MOST = 1e15  # of sizes and times in us: 30 years
SHORT, LONG = 1_000, 1_000_000  # characters of a name, and of other text


@dataclass(frozen=True)
class Field:
    """What a value must be. ``read`` returns it, or raises :class:`ValueError` or :class:`TypeError`."""

    expected: str
    read: Callable[[Any], Any]
    default: Any = MISSING  # if the field is left out, or None

    def or_else(self, default: Any) -> "Field":
        """Return the field that may be left out."""
        return replace(self, default=default)


def read(fields: Mapping[str, Field], values: Mapping[Any, Any], where: str = "") -> dict[str, Any]:
    """Return the values of the fields. Raises :class:`ValueError` with all that is wrong."""
    found: dict[str, Any] = {}
    wrong: list[str] = []
    unknown = [name for name in values if name not in fields and name not in OF_ALL]
    if unknown:
        words = f"{where}expected one of {', '.join(fields)}, found "
        wrong = [words + name for name in sorted(map(reprlib.repr, unknown))]
    for name, field in fields.items():
        value = values.get(name)
        if value is None and field.default is not MISSING:
            found[name] = field.default
            continue
        try:
            found[name] = field.read(value)
        except (ValueError, TypeError) as inner:
            nested = str(inner) if isinstance(inner, _Nested) else ""
            found_it = f", found {reprlib.repr(value)}" if name in values else ", found nothing"
            wrong.append(nested or f"{where}{name}: expected {field.expected}{found_it}")
    if wrong:
        raise _Nested("; ".join(wrong))
    return found


class _Nested(ValueError):
    """Its text says already where the wrong values are."""


def _ensure(is_right: bool) -> None:
    if not is_right:
        raise ValueError


def _text(most: int) -> Callable[[Any], str]:
    def read_text(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or "\0" in value:
            raise ValueError
        if not value.isascii():
            value.encode()  # not all text of Python is Unicode
        return value

    return read_text


def _number(is_right: Callable[[float], bool]) -> Callable[[Any], float]:
    def read_number(value: Any) -> float:
        # a tuple of types: a union would be made for each value
        if not isinstance(value, (int, float)) or value is True or value is False or not is_right(value):
            raise ValueError
        return float(value)

    return read_number


def _whole(value: Any) -> int:
    if not isinstance(value, int) or value is True or value is False or not 0 <= value <= MOST_WHOLE:
        raise ValueError
    return value


def _code(value: Any) -> int:
    _ensure(isinstance(value, int) and abs(value) <= MOST_WHOLE)
    return int(value)


def _of(kind: type) -> Callable[[Any], Any]:
    def read_kind(value: Any) -> Any:
        _ensure(isinstance(value, kind))
        return value

    return read_kind


def _payload(value: Any) -> bytes | list[int]:
    if isinstance(value, bytes):
        return value
    _ensure(isinstance(value, list) and len(value) == 2)
    return [_whole(one) for one in value]


def one_of(*words: str) -> Field:
    """Return the field of one of these words."""
    return Field(f"one of {', '.join(words)}", lambda value: words[words.index(value)])


def each(field: Field) -> Field:
    """Return the field of a list."""

    def read_list(values: Any) -> list[Any]:
        _ensure(isinstance(values, list | tuple))
        return [field.read(value) for value in values]

    return Field(f"a list, each of it {field.expected}", read_list)


def table(field: Field) -> Field:
    """Return the field of a dict with names as its keys."""

    def read_dict(values: Any) -> dict[str, Any]:
        _ensure(isinstance(values, dict))
        return {NAME.read(name): field.read(value) for name, value in values.items()}

    return Field(f"a dict, for each name {field.expected}", read_dict)


def record(where: str, fields: Mapping[str, Field]) -> Field:
    """Return the field of a dict with these fields."""

    def read_record(values: Any) -> dict[str, Any]:
        _ensure(isinstance(values, dict))
        return read(fields, values, f"{where}, ")

    return Field("a dict", read_record)


NAME = Field(f"text of at most {SHORT:,} characters", _text(SHORT))
TEXT = Field(f"text of at most {LONG:,} characters", _text(LONG))
WHOLE = Field("a whole number, 0 or more", _whole)
NUMBER = Field(f"a number from 0 to {MOST:g}", _number(lambda value: 0 <= value <= MOST))
POSITIVE = Field(f"a number above 0, at most {MOST:g}", _number(lambda value: 0 < value <= MOST))
DEMAND = Field(  # not a number: one slot; infinite: the whole unit
    "a number, 0 or more", _number(lambda value: math.isnan(value) or value >= 0)
)
CODE = Field("an exit code", _code)
FLAG = Field("true or false", _of(bool))
CONTENT = Field("bytes", _of(bytes))
PAYLOAD = Field("bytes, or their place in the client's memory", _payload)
ANYTHING = Field("anything", lambda value: value, None)
DICT = Field("a dict", _of(dict))
