"""Find undefined names in a policy's functions from their byte code, before anything runs or compiles.

Checked are names of the module and of its modules' contents, and what a decision reads of ``model``, ``view``,
``view.options`` and ``view.scratch``. Attributes of anything else are left to the run.
"""

import builtins
import dis
import inspect
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import Problem
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.declarations import functions_of
from vinesim.state.layout import Model, View

_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
Parts = Mapping[tuple[str, ...], Collection[Any]]  # what can be read of view, view.options, view.options.mode ...


def unknown_names(policy: Policy) -> list[Problem]:
    """Return a problem for each undefined name in ``decide`` or ``place``, and in what they call in the files of their
    folder. VineSim's own policies have none."""
    rule: Any = None
    parts: dict[tuple[str, ...], Collection[Any]] = {}
    if isinstance(policy, OnlinePolicy):
        rule = policy.decide
        parts[("options",)] = [item.name for item in fields(policy)]
        parts[("scratch",)] = list(policy.scratch)
        parts |= {("options", name): words for name, words in policy.choices().items()}
    elif isinstance(policy, BatchPolicy):
        rule = type(policy).place
    if rule is None or rule.__module__.split(".")[0] == "vinesim":
        return []
    own = Path(rule.__code__.co_filename).parent
    found: dict[Problem, None] = {}
    for function in functions_of(rule):
        if Path(function.__code__.co_filename).parent != own:
            continue
        known_of = _of_arguments(function.__code__, parts) if parts and function is rule else {}
        for line, name, known in _faults(function, function.__code__, known_of):
            where = f"{_short(function.__code__.co_filename)}:{line}"
            expected = f"one of {', '.join(known)}" if 0 < len(known) < 20 else "a name that is defined"
            found[Problem(where, expected, name, did_you_mean(name.rpartition(".")[2], known))] = None
    return list(found)


def _of_arguments(code: CodeType, parts: Parts) -> Parts:
    """What can be read of the arguments of ``decide``, whatever they are called there; the state differs between the
    engines."""
    model, _, view = code.co_varnames[:3]
    found = {(model,): dir(Model), (view,): View._fields, **{(view, *path): known for path, known in parts.items()}}
    changed = {step.argval for step in dis.get_instructions(code) if step.opname.startswith("STORE_FAST")}
    return {path: known for path, known in found.items() if path[0] not in changed}


def _short(file: str) -> str:
    """Write a file as the user would, if it lies below the current folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _faults(function: FunctionType, code: CodeType, known_of: Parts) -> Iterator[tuple[int, str, Collection[str]]]:
    """Yield (line, name, known names) of each undefined name in a code object and those nested in it."""
    names = ChainMap(function.__globals__, vars(builtins))
    for line, path in _paths(code, code.co_linetable):
        yield from _fault(line, path, known_of, names)
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from _faults(function, inner, {})


def _fault(
    line: int, path: tuple[str, ...], known_of: Parts, names: Mapping[str, Any]
) -> Iterator[tuple[int, str, Collection[str]]]:
    kind, first, *rest = path
    if kind == "local":
        for i in range(len(rest)):
            known = known_of.get((first, *rest[:i]))
            if known is not None and rest[i] not in known:
                yield line, ".".join((first, *rest[: i + 1])), known
                break
        return
    if first not in names:
        yield line, first, names
        return
    value = names[first]
    for i, attribute in enumerate(rest):
        if not isinstance(value, ModuleType):
            return
        if not hasattr(value, attribute):
            yield line, ".".join((first, *rest[: i + 1])), dir(value)
            return
        value = getattr(value, attribute)


@lru_cache(1000)
def _paths(code: CodeType, lines: bytes) -> list[tuple[int, tuple[str, ...]]]:
    """Return (line, "global" or "local", name, attribute, attribute ...) of each name that a code object reads."""
    return list(_read(code))


def _read(code: CodeType) -> Iterator[tuple[int, tuple[str, ...]]]:
    path: tuple[str, ...] = ()
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        if path and step.opname in _ATTRIBUTE:
            path = (*path, step.argval)
            continue
        if path:
            yield line, path
        path = ()
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname == "LOAD_GLOBAL":
            path = ("global", step.argval)
        elif step.opname.startswith("LOAD_FAST"):
            path = ("local", step.argval[-1] if isinstance(step.argval, tuple) else step.argval)
    if path:
        yield line, path
