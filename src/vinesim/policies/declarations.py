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
    used = functions_of(policy.decide)
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


def functions_of(function: Any) -> set[Any]:
    """A function and all that it refers to, directly, through others, or as attributes of a module."""
    seen: set[Any] = set()
    ahead = [function]
    while ahead:
        value = ahead.pop()
        value = getattr(value, "py_func", value)
        if not inspect.isfunction(value) or value in seen:  # what is no function may have no hash
            continue
        seen.add(value)
        closure = inspect.getclosurevars(value)
        for used in (*closure.globals.values(), *closure.nonlocals.values()):
            if inspect.ismodule(used):
                ahead += [getattr(used, name, None) for name in value.__code__.co_names]
            else:
                ahead.append(used)
    return seen
