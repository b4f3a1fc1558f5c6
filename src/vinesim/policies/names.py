"""Find wrong names in a policy's functions from their byte code, before anything runs or compiles.

Names of the module and of what is in its modules are checked, and what a decision reads from ``model``, ``view``,
``view.options`` and ``view.scratch``. Attributes of anything else are left to the run. A name is wrong if it is not
defined, or if it differs from run to run, such as a clock. Forbidden writes are found as well.
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
from vinesim.policies.declarations import functions_of, rules_of, short
from vinesim.policies.repeatable import NO_ARGUMENT, imported, not_repeatable
from vinesim.policies.writes import wrong_writes
from vinesim.state.layout import View
from vinesim.state.model import ROWS

_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_BEFORE_CALL = ("PRECALL", "PUSH_NULL")
OWN = "vinesim"
READABLE = (
    "task_unit",
    "task_init_us",
    "task_start_us",
    "task_finish_us",
    "unit_load",
)  # of the state, in both engines
Parts = Mapping[tuple[str, ...], Collection[Any]]  # what can be read of view, view.options, view.options.mode ...


def wrong_names(policy: Policy) -> list[Problem]:
    """Return a problem for each wrong name in ``decide`` or ``place``, and in what they call in the files of their
    folder. VineSim's own policies have none."""
    rules: list[Any] = []
    parts: dict[tuple[str, ...], Collection[Any]] = {}
    if isinstance(policy, OnlinePolicy):
        rules = rules_of(type(policy))
        parts[("options",)] = [item.name for item in fields(policy)]
        parts[("scratch",)] = list(policy.scratch)
        parts |= {("options", name): words for name, words in policy.choices().items()}
    elif isinstance(policy, BatchPolicy):
        rules = [type(policy).place]
    rules = [rule for rule in rules if rule.__module__.split(".")[0] != OWN]
    keeps = isinstance(policy, BatchPolicy) or not getattr(policy, "compiled", True)
    found: dict[Problem, None] = {}
    for rule in rules:
        own = Path(rule.__code__.co_filename).parent
        for function in _functions(type(policy), rule):
            file = Path(function.__code__.co_filename)
            if file.parent == own:
                known_of = _of_arguments(function.__code__, parts, not keeps) if parts and function in rules else {}
                found |= dict.fromkeys(_problems(function, function.__code__, known_of))
                found |= dict.fromkeys(wrong_writes(function, short(str(file)), keeps))
    return list(found)


def _functions(kind: type, rule: Any) -> set[Any]:
    """Return the rule and all functions that it refers to, including those of its class."""
    found: set[Any] = set()
    ahead = functions_of(rule)
    while ahead:
        found |= ahead
        of_class = [getattr(kind, name, None) for function in ahead for name in function.__code__.co_names]
        ahead = set().union(*map(functions_of, of_class)) - found
    return found


def _of_arguments(code: CodeType, parts: Parts, is_compiled: bool) -> Parts:
    """What can be read of the arguments of ``decide``, whatever they are called there. The state differs between the
    engines: plain Python, which has one of them, may read all of it."""
    given = code.co_varnames[: code.co_argcount]
    model, view = given[0], given[2] if code.co_name == "decide" else "view"
    found: dict[tuple[str, ...], Collection[Any]] = {(model,): list(ROWS)}
    if is_compiled:
        found[(given[1],)] = READABLE
    if view in given:
        found |= {(view,): View._fields, **{(view, *path): known for path, known in parts.items()}}
    changed = {step.argval for step in dis.get_instructions(code) if step.opname.startswith("STORE_FAST")}
    return {path: known for path, known in found.items() if path[0] not in changed}


def _problems(function: FunctionType, code: CodeType, known_of: Parts) -> Iterator[Problem]:
    """Yield the problem of each wrong name in a code object and those nested in it."""
    names = ChainMap(function.__globals__, vars(builtins))
    for line, (kind, *path) in _paths(code, code.co_linetable):
        where = f"{short(code.co_filename)}:{line}"
        if kind == "import":
            problem = imported(where, path[0])
        elif kind == "local":
            problem = _unknown_of_argument(where, tuple(path), known_of)
        else:
            problem = _unknown(where, tuple(path), names) or not_repeatable(where, names, tuple(path))
        if problem:
            yield problem
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from _problems(function, inner, {})


def _unknown_of_argument(where: str, path: tuple[str, ...], known_of: Parts) -> Problem | None:
    first, *rest = path
    for i in range(len(rest)):
        known = known_of.get((first, *rest[:i]))
        if known is not None and rest[i] not in (*known, NO_ARGUMENT):
            return _not_defined(where, ".".join((first, *rest[: i + 1])), known)
    return None


def _unknown(where: str, path: tuple[str, ...], names: Mapping[str, Any]) -> Problem | None:
    first, *rest = path
    if first not in names:
        return _not_defined(where, first, names)
    value = names[first]
    for i, attribute in enumerate(rest):
        if not isinstance(value, ModuleType) or attribute == NO_ARGUMENT:
            return None
        if not hasattr(value, attribute):
            return _not_defined(where, ".".join((first, *rest[: i + 1])), dir(value))
        value = getattr(value, attribute)
    return None


def _not_defined(where: str, name: str, known: Collection[str]) -> Problem:
    """Say what was expected in place of a name, and what to do."""
    owner, _, last = name.rpartition(".")
    remedy = did_you_mean(last, known)
    expected = f"one of {', '.join(known)}" if 0 < len(known) < 20 else "a name that is defined"
    if owner.endswith(".options"):
        expected = f"an option of the policy{f': {expected}' if known else ', which has none'}"
        remedy = remedy or f"Declare it as a field of the class: {last}: float = 1.0."
    elif owner.endswith(".scratch"):
        remedy = remedy or f'Declare it in scratch: "{last}": ("f8", "one").'
    return Problem(where, expected, name, remedy)


@lru_cache(1000)
def _paths(code: CodeType, lines: bytes) -> list[tuple[int, tuple[str, ...]]]:
    """Return (line, "global" or "local", name, attribute, attribute ...) of each name that a code object reads, and
    (line, "import", module); a path ends with ``NO_ARGUMENT`` if it is called with none."""
    return list(_read(code))


def _read(code: CodeType) -> Iterator[tuple[int, tuple[str, ...]]]:
    path: tuple[str, ...] = ()
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        if path and step.opname in _ATTRIBUTE:
            path = (*path, step.argval)
            continue
        if path and step.opname in _BEFORE_CALL:
            continue
        if path:
            yield line, (*path, NO_ARGUMENT) if step.opname == "CALL" and step.arg == 0 else path
        path = ()
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname == "LOAD_GLOBAL":
            path = ("global", step.argval)
        elif step.opname == "IMPORT_NAME":
            path = ("import", step.argval)
        elif step.opname.startswith("LOAD_FAST"):
            path = ("local", step.argval[-1] if isinstance(step.argval, tuple) else step.argval)
    if path:
        yield line, path
