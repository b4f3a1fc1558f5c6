"""Damage to the structure of a YAML or JSON file."""

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import yaml

from verification.fuzz.values import DEPTHS, larger, misspelt, value, with_unit

PLAIN = re.compile(r"[\w.+-](?:[\w .%/+-]*[\w.%/+-])?")
MOST_COPIES = 20_000


class Raw(str):
    """Text that is written as it is, whether or not it is YAML or JSON there."""


class Pairs(list):
    """A mapping, whose keys may occur twice."""


def damaged_yaml(text: str, random: Random) -> tuple[str, str]:
    """Return the text of a YAML file with changes of its structure, and what they are."""
    return _damaged(_tree(yaml.load(text, yaml.BaseLoader)), random, _plain)


def damaged_json(text: str, random: Random) -> tuple[str, str]:
    """Return the text of a JSON file with changes of its structure, and what they are."""
    return _damaged(_tree(json.loads(text)), random, json.dumps)


def _damaged(tree: Any, random: Random, scalar: Any) -> tuple[str, str]:
    root = [tree]
    words = [_damage(root, random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    return _flow(root[0], scalar), "; ".join(words)


def _tree(found: Any) -> Any:
    if isinstance(found, dict):
        return Pairs([key, _tree(part)] for key, part in found.items())
    return [_tree(part) for part in found] if isinstance(found, list) else found


def _places(inside: list, path: str = "") -> Iterator[tuple[list, int, str]]:
    """Yield each value as (what holds it, its index there, where that is)."""
    for i, part in enumerate(inside):
        is_pair = isinstance(inside, Pairs)
        holder, at = (part, 1) if is_pair else (inside, i)
        here = f"{path}.{part[0]}" if is_pair else f"{path}[{i}]"
        yield holder, at, here
        if isinstance(holder[at], list):
            yield from _places(holder[at], here)


def _damage(root: list, random: Random) -> str:
    """Change one value; return what was done."""
    holder, at, where = random.choice(list(_places(root)))
    found = holder[at]
    name = random.choice(list(OF_PARTS if isinstance(found, list) and found else OF_SCALARS))
    holder[at] = {**OF_PARTS, **OF_SCALARS}[name](found, random)
    return f"{where[3:] or 'all'}: {name}"


def _text(found: Any) -> str:
    return found if isinstance(found, str) else json.dumps(found) if not isinstance(found, list) else ""


def _without_one(found: list, random: Random) -> list:
    at = random.randrange(len(found))
    return type(found)(part for i, part in enumerate(found) if i != at)


def _with_one_twice(found: list, random: Random) -> list:
    return type(found)([*found, random.choice(found)])


def _with_copies(found: list, random: Random) -> Any:
    one = random.choice(found)
    if isinstance(found, Pairs):
        return Pairs([[f"{one[0]}{i}", one[1]] for i in range(MOST_COPIES // 10)])
    return [one] * min(MOST_COPIES, 1 + 500_000 // (1 + len(_flow(one, _plain))))


def _with_key(found: Any, random: Random) -> Any:
    if not isinstance(found, Pairs):
        return [*found, Raw(value(random))]
    at = random.randrange(len(found))
    changed = misspelt(str(found[at][0]), random)
    return Pairs([[changed if i == at else key, part] for i, (key, part) in enumerate(found)])


def _other_type(found: Any, random: Random) -> Any:
    text = Raw(_text(found)[:50] or "a")
    return random.choice(
        ([], Pairs(), [text, text], Pairs([["a", text]]), Raw("true"), Raw("null"), [[text]], Raw("5"), Raw("x"))
    )


def _nested(found: Any, random: Random) -> Any:
    depth = random.choice(DEPTHS)
    opened, closed = random.choice((("[", "]"), ("{a: ", "}")))
    return Raw(opened * depth + "1" + closed * depth)


OF_PARTS = {
    "a part is missing": _without_one,
    "a part is there twice": _with_one_twice,
    "a part is there very often": _with_copies,
    "a wrong key": _with_key,
    "another type": _other_type,
    "nested": _nested,
}
OF_SCALARS = {
    "another value": lambda found, random: Raw(value(random)),
    "another text": lambda found, random: value(random),
    "another unit": lambda found, random: Raw(with_unit(_text(found), random)),
    "much larger": lambda found, random: Raw(larger(_text(found), random)),
    "misspelt": lambda found, random: misspelt(_text(found), random),
    "another type": _other_type,
    "nested": _nested,
}


def _plain(text: Any) -> str:
    return str(text) if PLAIN.fullmatch(str(text)) else json.dumps(text)


def _flow(tree: Any, scalar: Any) -> str:
    if isinstance(tree, Raw):
        return str(tree)
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{_flow(key, scalar)}: {_flow(part, scalar)}" for key, part in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_flow(part, scalar) for part in tree) + "]"
    return scalar(tree)
