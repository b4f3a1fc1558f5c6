"""Bind the names of kernels, and compile them: features to their values, queries to their compiled bodies, ``decide``
to a policy.

A kernel is a plain function in a plain module. Here each function that a loop reaches is copied with its global names
bound. So a kernel is written once and read from top to bottom, and a branch on a feature that a run does not need costs
neither time nor compilation. A copy is kept under the function and the values of the features that it reaches: loops
that differ in other features share it.

Compiled queries trust their arguments: for a task or unit that does not exist they would read other memory. Tests
show that the policies of the package never ask so. Any other policy calls a query through a guard, which raises
IndexError as a NumPy array does. Numbers below 0 count from the end, as there. Any other policy also divides as Python
does: by zero it raises ZeroDivisionError, while the package divides as NumPy does.
"""

import dis
import inspect
import types
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from vinesim.core import actions, changes, laws, ledger, nodes, pools, rooms, segments, tasks, trial
from vinesim.core import features as of_runs
from vinesim.core.checked_math import BUILTINS, CHECKED, PLAIN_ONLY
from vinesim.core.code import fingerprint
from vinesim.core.features import Features
from vinesim.core.laws import batching
from vinesim.jit.kernels import bound_copy, part
from vinesim.jit.parts import Part
from vinesim.state import places, queries

# the parameters that index arrays of the model
PLACES = {
    "task": "task_operations",
    "unit": "unit_type",
    "node": "node_rack",
    "position": "task_operations",
    "group": "group_task_type",
    "processor_type": "affinity",
}
NOT_FROM_THE_END = {  # query -> {parameter: (lowest, how far beyond the last)}, where a number below 0 is no index
    queries.first_free: {"processor_type": (-1, 0)},
    queries.is_available: {"processor_type": (0, 0)},
    queries.least_busy: {"processor_type": (0, 0)},
    queries.next_with_room: {"processor_type": (0, 0), "unit": (0, 1)},
}


@lru_cache(maxsize=256)
def guarded(query: Callable[..., Any]) -> Any:
    """Return the query with checks of its arguments, or the query itself if it has none to check."""
    parameters = inspect.signature(query).parameters
    indices = [name for name in parameters if name in PLACES and "model" in parameters]
    if not indices:
        return query
    bare = [p.replace(annotation=p.empty) for p in parameters.values()]
    lines = [f"def guard{inspect.Signature(bare)}:"]
    for name in indices:
        length = f"len(model.{PLACES[name]})"
        low, beyond = NOT_FROM_THE_END.get(query, {}).get(name, (f"-{length}", 0))
        lines += [f"    if not {low} <= {name} < {length} + {beyond}:", f"        raise IndexError('no such {name}')"]
    lines.append(f"    return query({', '.join(parameters)})")
    made: dict[str, Any] = {"query": query, "__name__": query.__module__}
    exec("\n".join(lines), made)  # noqa: S102 - the text above, with the query's own parameters
    return made["guard"]


LONG_CODE = 300  # bytes of bytecode; longer helpers of a policy stay calls: inlined, the longest took 3 times as long
OWN = ("vinesim.core.", "vinesim.state.", "vinesim.model.step_times")  # modules whose kernels do not check bounds
STATE = "vinesim.state."  # the modules of the queries
LOOPS = ("vinesim.core.loop", "vinesim.core.loops", "vinesim.core.turn")  # their names are bound to other things

ROOMS = (actions, tasks, ledger, pools, rooms, nodes, segments, laws, batching, changes, trial)


def _bodies() -> dict[Any, Any]:
    """The compiled bodies of what policies may ask: of the queries of the public contract and of ``state/places.py``.

    A query that is not there has the body that says what it means, in ``state/queries.py``; those that it calls are
    answered by the bodies here.
    """
    asked = {f.__name__: f for f in (*vars(queries).values(), *vars(places).values()) if inspect.isfunction(f)}
    own = {name: f for name, f in asked.items() if f.__module__ in (queries.__name__, places.__name__)}
    found: dict[Any, Any] = {}
    for room in ROOMS:
        for name, body in vars(room).items():
            if name in own and inspect.isfunction(body) and body.__module__ == room.__name__:
                found.setdefault(own[name], body)
    return found


BODIES = _bodies()  # of each query that has one


class Name(NamedTuple):
    """A global name that a function uses, or an attribute of it if it is a module."""

    name: str
    attribute: str = ""


@cache
def names_used(code: types.CodeType, features: Features) -> tuple[frozenset[Name], frozenset[str]]:
    """The global names that code uses where these features hold, and the attributes that it reads of anything."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
    at = {step.offset: i for i, step in enumerate(steps)}
    names, fields, seen, ahead = set[Name](), set[str](), set[int](), [0]
    while ahead:
        i = ahead.pop()
        if i in seen or i >= len(steps):
            continue
        seen.add(i)
        step, following = steps[i], i + 1
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            after = steps[i + 1]
            is_attribute = after.opname in ("LOAD_ATTR", "LOAD_METHOD")
            names.add(Name(step.argval, after.argval if is_attribute else ""))
            if step.argval in of_runs.ALL and (way := _way_on(steps, at, i + 1, step.argval in features)) is not None:
                ahead.append(way)
                continue
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
            fields.add(step.argval)
        if step.opname in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"):
            continue
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            ahead.append(_target(at, step.argval))
            if step.opname in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"):
                continue
        ahead.append(following)
    return frozenset(names), frozenset(fields)


def _way_on(steps: list[Any], at: dict[int, int], i: int, holds: bool) -> int | None:
    """Where the code goes on after a constant is put on the stack, if it branches on that."""
    while steps[i].opname in ("COPY", "TO_BOOL", "UNARY_NOT", "NOT_TAKEN"):
        holds = holds != (steps[i].opname == "UNARY_NOT")
        i += 1
    for word, jumps in (("IF_FALSE", not holds), ("IF_TRUE", holds)):
        if word in steps[i].opname:
            return _target(at, steps[i].argval) if jumps else i + 1
    return None


def _target(at: dict[int, int], offset: int) -> int:
    while offset not in at:  # of what was left out above
        offset += 2
    return at[offset]


class Reach(NamedTuple):
    """What a function reaches, itself and through what it calls."""

    functions: frozenset[Any]
    features: frozenset[str]  # that it tests
    fields: frozenset[str]  # that are read of anything
    is_of_loop: bool = False  # it uses names that are bound to other things for each loop


class Special:
    """The kernels of one loop: for one set of features, and with other things in the place of names of its module."""

    def __init__(self, features: Features, names: dict[str, Any]):
        """``names`` are bound in the modules of loops: a policy's function, or what kernels take as it is."""
        self.features, self._names = features, names
        self._reach: dict[Any, Reach] = {}
        self._made: dict[Any, Any] = {}

    def reach(self, function: Any) -> Reach:
        """What a function reaches; a function that calls itself is looked at once."""
        if function not in self._reach:
            self._reach[function] = Reach(frozenset((function,)), frozenset(), frozenset())
            names, fields = self._names_used(function)
            below = [self.reach(used) for used in self._functions(function, names, fields)]
            is_of_loop = function.__module__ in LOOPS and any(one.name in self._names for one in names)
            self._reach[function] = Reach(
                frozenset((function,)).union(*(one.functions for one in below)),
                frozenset(one.name for one in names if one.name in of_runs.ALL).union(*(one.features for one in below)),
                fields.union(*(one.fields for one in below)),
                is_of_loop or any(one.is_of_loop for one in below),
            )
        return self._reach[function]

    def bound_names(self, function: Any) -> dict[str, Any]:
        """What the global names of a function are bound to."""
        names, fields = self._names_used(function)
        found: dict[str, Any] = {}
        for name in sorted({one.name for one in names}):
            value = self._value(function, name)
            if value is int and Name("isinstance") in names:
                continue  # there it is a type
            if name in of_runs.ALL and function.__module__.startswith("vinesim.core"):
                found[name] = name in self.features
            elif isinstance(value, types.ModuleType):
                attributes = [one.attribute for one in names if one.name == name and one.attribute]
                found[name] = self._module(value, attributes, fields, function)
            elif value is not None:
                found[name] = self._bound_value(value, function)
        return found

    def _names_used(self, function: Any) -> tuple[frozenset[Name], frozenset[str]]:
        code = function.__code__
        return names_used(code, self.features.intersection(code.co_names))  # loops that differ in others ask the same

    def part(self, function: Any) -> Part:
        """The kernel of a plain function, for other kernels."""
        if function not in self._made:
            self._made[function] = None  # a recursive function keeps its plain name
            key = self._key(function)
            if key not in _parts:
                made = self._new_part(function)
                if key is None:
                    self._made[function] = made
                    return made
                _parts[key] = made
            self._made[function] = _parts[key]
        return self._made[function]

    def _new_part(self, function: Any) -> Part:
        is_own, is_decide = function.__module__.startswith(OWN), function in self._names.values()
        is_long = not is_own and not is_decide and len(function.__code__.co_code) > LONG_CODE
        is_called = getattr(function, "is_called", False) or is_long
        cells = [self._bound_value(cell.cell_contents, function) for cell in function.__closure__ or ()]
        copy = bound_copy(function, self.bound_names(function), cells=cells)
        error_model = "numpy" if function.__module__.startswith("vinesim.") else "python"
        return part(copy, not is_called, not is_own, error_model)

    def _key(self, function: Any) -> Any:
        """What the part of a function depends on; None: it is of this loop only."""
        reach = self.reach(function)
        if reach.is_of_loop or any(
            value in reach.functions for value in self._names.values() if inspect.isfunction(value)
        ):
            return None
        made_from = None if function.__module__.startswith(OWN) else fingerprint(function)
        return function, made_from, reach.features & self.features

    def _functions(self, function: Any, names: frozenset[Name], fields: frozenset[str]) -> Iterator[Any]:
        """The plain functions that a function calls, as far as they are compiled with it."""
        values = [cell.cell_contents for cell in function.__closure__ or ()]
        for one in names:
            value = self._value(function, one.name)
            values.append(getattr(value, one.attribute, None) if isinstance(value, types.ModuleType) else value)
        for value in values:
            inner = [getattr(value, name, None) for name in fields] if isinstance(value, types.ModuleType) else [value]
            for found in inner:
                kernel = self._function_for(found, function)
                if kernel is not None:
                    yield kernel

    def _value(self, function: Any, name: str) -> Any:
        if name in self._names and function.__module__ in LOOPS:
            return self._names[name]
        is_own = function.__module__.startswith("vinesim.")
        return function.__globals__.get(name, None if is_own else BUILTINS.get(name))

    def _function_for(self, value: Any, user: Any) -> Any:
        """The plain function that is compiled in the place of a value; None for what Numba takes as it is."""
        if isinstance(value, Part):
            return None
        if isinstance(value, types.BuiltinFunctionType | type) and not user.__module__.startswith("vinesim."):
            return CHECKED.get(value)
        if not inspect.isfunction(value):
            value = getattr(value, "py_func", None)  # of what a user has compiled
            called = set() if value is None else _called_by(value)
            if not any(one.__module__.startswith(STATE) for one in called) and not _is_plain_only(called):
                return None
        if value.__module__.startswith(STATE):
            is_own = user.__module__.startswith("vinesim.")
            checked = value if is_own else guarded(value)
            return BODIES.get(value, value) if checked is value else checked
        return value

    def _bound_value(self, value: Any, user: Any) -> Any:
        function = self._function_for(value, user)
        if function is None:
            return PLAIN_ONLY.get(value, value) if isinstance(value, types.BuiltinFunctionType) else value
        return self.part(function) or value

    def _module(
        self, module: types.ModuleType, attributes: list[str], fields: frozenset[str], user: Any
    ) -> types.ModuleType:
        """A module with kernels in place of the functions that are used of it; the module itself if there are none."""
        changed: dict[str, Any] = {}
        for name in attributes:
            value = getattr(module, name, None)
            if isinstance(value, types.ModuleType):
                bound: Any = self._module(value, [field for field in fields if field in vars(value)], frozenset(), user)
            else:
                bound = self._bound_value(value, user)
            if bound is not value:
                changed[name] = bound
        if not changed:
            return module
        made = types.ModuleType(module.__name__)
        vars(made).update(vars(module) | changed)
        return made


def _called_by(function: Any) -> set[Any]:
    """The plain functions that a function refers to, itself or through others."""
    found, ahead = set[Any](), [function]
    while ahead:
        value = ahead.pop()
        value = getattr(value, "py_func", value)
        if inspect.isfunction(value) and value not in found:
            found.add(value)
            ahead += [value.__globals__.get(name) for name in value.__code__.co_names]
    return found


def _is_plain_only(functions: set[Any]) -> bool:
    """Whether one of the functions calls what compiled code must not call."""
    names = [(one, name) for one in functions for name in BUILTINS.keys() & set(one.__code__.co_names)]
    return any(one.__globals__.get(name, BUILTINS[name]) in PLAIN_ONLY for one, name in names)


_parts: dict[Any, Part] = {}
