"""Make a policy's function a kernel, with the plain functions that it calls."""

import inspect
import types
from typing import Any

from vinesim.engine.fingerprint import fingerprint
from vinesim.engine.guards import QUERIES, guarded, guarded_module
from vinesim.state.kernel import policy_call, policy_kernel

LONG_CODE = 300  # bytes of bytecode; longer helpers of a policy stay calls: inlined, the longest took 3 times as long


def kernel_of(function: Any, made: dict[Any, Any], is_helper: bool = False) -> Any:
    """Make a policy's function a kernel; the plain functions that it calls become kernels too, long ones as calls.

    Kernels of a policy check array bounds, and the queries that a user's policy calls check the numbers that they are
    given: a wrong index is an error, not a wrong answer.
    """
    if function not in made:
        made[function] = None  # a recursive function keeps its plain name
        used: dict[str, Any] = {}
        is_own = function.__module__.startswith("vinesim.")
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if not is_own and inspect.ismodule(value):
                used[name] = guarded_module(value)
            elif not is_own and inspect.isfunction(value) and value in QUERIES:
                used[name] = guarded(value)
            elif inspect.isfunction(value) and not value.__module__.startswith("vinesim.state"):
                used[name] = kernel_of(value, made, True) or value
            elif name in function.__globals__:
                used[name] = value
        made[function] = _shared(function, used) if is_helper else policy_kernel(_copied(function, used))
    return made[function]


def _shared(function: Any, used: dict[str, Any]) -> Any:
    """The kernel of a helper: the same for all policies that call it, while all that it is made from is the same."""
    options = (function.__kwdefaults__ or {}).values()
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    made_from = (function.__code__, function.__defaults__, *options, *cells, *used.values())
    try:
        hash(made_from)
    except TypeError:  # it uses something that can change, such as an array
        return _helper(function, used)
    name = (fingerprint(function), *used, *map(id, made_from))
    if name not in _helpers:
        _helpers[name] = made_from, _helper(function, used)  # what is kept keeps its number
    return _helpers[name][1]


_helpers: dict[Any, Any] = {}


def _helper(function: Any, used: dict[str, Any]) -> Any:
    is_long = len(function.__code__.co_code) > LONG_CODE
    return (policy_call if is_long else policy_kernel)(_copied(function, used))


def _copied(function: Any, used: dict[str, Any]) -> Any:
    """A function with other values of the names that it uses."""
    copy = types.FunctionType(
        function.__code__,
        {**function.__globals__, **used},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy
