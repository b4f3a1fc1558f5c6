"""A policy must declare what it uses: a query about groups of tasks needs the groups that it tells apart."""

import inspect
from typing import Any

from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import OnlinePolicy, Policy
from vinesim.state import queries

NEEDS_GROUP = {queries.preferred_type: "preferred_type"}


def check_declarations(policy: Policy) -> None:
    """Raise :class:`InputError` if ``decide``, or a function that it calls, asks for an undeclared group."""
    if not isinstance(policy, OnlinePolicy):
        return
    used = _functions_of(policy.decide, set())
    problems = [
        Problem(
            f"policy {policy.name or type(policy).__name__}",
            f'groups = ("{group}",), as it calls {query.__name__}',
            f"groups = {policy.groups!r}",
            "Tasks are told apart only by what groups names.",
        )
        for query, group in NEEDS_GROUP.items()
        if query in used and group not in policy.groups
    ]
    if problems:
        raise InputError(problems)


def _functions_of(function: Any, seen: set[Any]) -> set[Any]:
    """A function and all that it refers to, directly or through others."""
    function = getattr(function, "py_func", function)
    if function in seen or not inspect.isfunction(function):
        return seen
    seen.add(function)
    closure = inspect.getclosurevars(function)
    for value in (*closure.globals.values(), *closure.nonlocals.values()):
        if inspect.isfunction(getattr(value, "py_func", value)):
            _functions_of(value, seen)
    return seen
