"""What decides the outcome of a run. The ids of scenarios and of a sweep's runs are computed from this.

A policy counts with its class, the code in its file and in the modules next to it, comments included (see
``policies.code``), and the options whose values differ from their defaults; writing a default out changes nothing.
VineSim's own code counts with its version.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from vinesim.formats.source.quantities import time_us
from vinesim.model.digest import counted, feed
from vinesim.model.errors import InputError
from vinesim.model.python_file import split_file
from vinesim.model.scenario import Scenario
from vinesim.model.version import code_version
from vinesim.policies.code import code_of_class, code_of_file, defaults_in_file
from vinesim.policies.contract import YES_NO, Policy
from vinesim.policies.registry import find

_WORDS = {word: value for word, value in YES_NO.items() if word.isalpha()}  # digits keep the ids that they had


def content_id(scenario: Scenario, policy: list[Any] | None = None) -> str:
    """Return a hash of everything that decides the outcome of a scenario: 16 hex digits.

    ``policy`` is an earlier result of :func:`policy_content`; by default it is computed now.
    """
    digest = hashlib.sha256()
    feed(digest, ["vinesim scenario", code_version()])
    feed(digest, policy_content(scenario.policy, scenario.options) if policy is None else policy)
    for name in counted(scenario):
        if name not in ("policy", "options"):
            feed(digest, name)
            feed(digest, getattr(scenario, name))
    return digest.hexdigest()[:16]


def policy_content(
    policy: Any,
    options: Any,
    folder: Path = Path(),
    code_of: Callable[[Path], Any] = code_of_file,
) -> list[Any]:
    """Return what identifies a policy and its options: class, code, options. No code of a file is run.

    The name of a policy's file is relative to ``folder``. A name that is not a policy's stands for itself.
    """
    if isinstance(policy, str):
        file, rest = split_file(policy)
        if file and (path := folder / file).is_file():
            name = rest.removeprefix(":")
            return [name, code_of(path), _not_default(options, defaults_in_file(path, name))]
    if isinstance(policy, Policy):
        given = {item.name: getattr(policy, item.name) for item in fields(policy)}
        return [*_class_content(type(policy)), _not_default(given, _defaults(type(policy)))]
    try:
        kind = find(policy) if not (isinstance(policy, str) and split_file(policy)[0]) else None
    except InputError:
        kind = None
    if kind is None:
        return [policy if isinstance(policy, str | int | float | list | dict | None) else repr(policy), None, options]
    return [*_class_content(kind), _not_default(options, _defaults(kind))]


def _class_content(kind: type) -> list[Any]:
    is_own = kind.__module__.startswith("vinesim.")
    return [f"vinesim {kind.__qualname__}" if is_own else kind.__qualname__, code_of_class(kind)]


def _defaults(kind: type[Policy]) -> dict[str, Any]:
    return {item.name: item.default for item in fields(kind) if item.default is not MISSING}


def _not_default(options: Any, defaults: Mapping[str, Any]) -> Any:
    """Return the options whose values differ from their defaults."""
    if not isinstance(options, Mapping):
        return options or {}
    plain = {name: _plain(name, value, defaults.get(name)) for name, value in options.items()}
    return {name: value for name, value in plain.items() if not (name in defaults and _same(value, defaults[name]))}


def _plain(name: str, value: Any, default: Any) -> Any:
    """Convert an option's value to the type of its default: a quantity or digits to a number, yes and no to true and
    false; unchanged if the type is unknown."""
    if isinstance(value, bool) and default in ("yes", "no"):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return value
    if isinstance(default, bool):
        return _WORDS.get(value.lower(), value)
    try:
        if isinstance(default, int | float):
            return time_us(value, name) if name.endswith("_us") else float(value)
    except (InputError, ValueError):
        pass
    return value


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
    except Exception:  # an object that cannot be compared
        return False
