"""Check that a policy declares what it uses: a query about groups needs the groups that the policy distinguishes."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.core.code import is_own
from vinesim.formats.source.suggestions import RENAMED
from vinesim.model.errors import InputError, Problem
from vinesim.model.scalars import as_found
from vinesim.policies.backfill.base import BY_RANK, Backfill
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy, title_of
from vinesim.policies.scoring.contract import PLAIN, ScorePolicy
from vinesim.policies.scoring.contract import decide as rule_of_scores
from vinesim.state import queries
from vinesim.state.groups import GROUP_KEYS
from vinesim.state.scratch import EVENT_OF_TASK, SIZES, TASK_COUNT, TASK_ID, TASK_ID_PLUS_1, is_size

NEEDS_GROUP = {queries.preferred_type: "preferred_type", queries.application: "application"}


PLACES = ("tasks", "servers")  # what place is given
PREEMPTS = {queries.preempt, queries.move}


NEEDS_PREEMPTS = {
    queries.attained_us,
    queries.fastest_free_without,
    queries.victims_for,
    queries.is_running,
    queries.left,
    queries.next_running,
}


ATTRIBUTES = {*vars(OnlinePolicy), *vars(Policy)}
HOW = (TASK_ID, TASK_ID_PLUS_1, TASK_COUNT, EVENT_OF_TASK)  # how scratch may hold a task's number


OF_NODES = {  # the queries whose answers change only with the node, and are alike for tasks that demand the same
    queries.bounded,
    queries.can_start,
    queries.caps_allow,  # changes with the rack, but with caps nodes are scored again each time
    queries.companion_unit,
    queries.counted_amount,
    queries.demand,
    queries.first_free_at,
    queries.fits,
    queries.fits_itself,
    queries.has_role,  # changes with the task, but where engines have roles no policy may score nodes
    queries.gang_fits,  # of a single task, as score policies take no gangs
    queries.has_room,
    queries.has_room_for,
    queries.is_in_partition,
    queries.reservations_allow,
    queries.is_up,
    queries.node_tasks,
    queries.node_tasks_of,
    queries.quotas_allow,  # changes with more, but with quotas nodes are scored again each time
    queries.rest_fits,
    queries.room,
    queries.task_type,
    queries.tightest_free_at,
    queries.unit_tasks,
}


def check_declarations(policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that does not follow the contract."""
    found = list(_faults(policy)) or list(_undeclared(policy))
    if found:
        where = _where(policy)  # not before: looking a class up in its file takes longer than a small run
        raise InputError([Problem(where, *words) for words in found])


def _undeclared(policy: Policy) -> Iterator[tuple[str, ...]]:
    """Yield (expected, found) and what to do for what an online policy calls and does not declare; only the first of
    those that say what it does."""
    if not isinstance(policy, OnlinePolicy):
        return
    used = functions_of(policy.decide)
    preempts = not PREEMPTS.isdisjoint(used)
    if preempts != policy.preempts:
        does = "calls preempt or move" if preempts else "calls neither preempt nor move"
        yield f"preempts = {not policy.preempts}, as it {does}", f"preempts = {policy.preempts}"
        return
    if not policy.preempts and (found := sorted(query.__name__ for query in NEEDS_PREEMPTS & used)):
        yield f"preempts = True, as it calls {', '.join(found)}", "preempts = False"
        return
    if queries.drop in used and not policy.may_drop and not isinstance(policy, ScorePolicy):  # its option says so
        yield "may_drop = True, as it calls drop", "may_drop = False"
        return
    for query, group in NEEDS_GROUP.items():
        if query in used and group not in policy.groups:
            expected = f'groups = ("{group}",), as it calls {query.__name__}'
            yield expected, f"groups = {policy.groups!r}", "Tasks are distinguished only by what groups names."
    score = getattr(type(policy), "score", None)
    for query in sorted(functions_of(score) - OF_NODES if score is not None else (), key=lambda f: f.__name__):
        if query.__module__ == queries.__name__:
            expected = "a score that depends on the node, the task's type and what it demands: scores are kept"
            yield expected, f"{query.__name__} in score"


def _where(policy: Policy) -> str:
    """Return the place of a policy's class in its file, and its name."""
    name = f"policy {title_of(policy)}"
    try:
        file, line = inspect.getfile(type(policy)), inspect.getsourcelines(type(policy))[1]
    except (OSError, TypeError):
        return name  # typed into a shell
    return f"{short(file)}:{line}: {name}"


def short(file: str) -> str:
    """Write a file as the user would, if it lies below the current folder."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _faults(policy: Policy) -> Iterator[tuple[str, ...]]:
    """Yield (expected, found) for each fault in how the class is written."""
    kind = type(policy)
    known = {item.name for item in fields(policy)}
    for attribute in vars(kind):
        if RENAMED.get(attribute) in ATTRIBUTES:
            yield f"the attribute {RENAMED[attribute]}", attribute
    for attribute, hint in vars(kind).get("__annotations__", {}).items():
        if "ClassVar" not in str(hint) and attribute not in known:
            yield f"@dataclass(frozen=True) above class {kind.__name__}", f"an option {attribute} without it"
    for name, words in kind.choices().items():
        if wrong := [word for word in words if not isinstance(word, int | float) and not is_word(word)]:
            yield f"an option {name} whose words are Python names, such as view.options.{name}.word", repr(wrong[0])
    if "period_us" in known:
        yield "no option period_us: the period belongs to the scenario, use servers.period_us", "one"
    if isinstance(policy, BatchPolicy):
        given = tuple(inspect.signature(policy.place).parameters)
        written: Any = inspect.getattr_static(kind, "place")
        if written is BatchPolicy.place:
            yield "a function place(self, tasks, servers)", "none"
        elif len(given) != 2 or (given != PLACES and set(given) == set(PLACES)):
            yield "place(self, tasks, servers)", f"place({', '.join(('self', *given))})"
    if not isinstance(policy, OnlinePolicy):
        return
    decide = inspect.getattr_static(kind, "decide")
    if decide is inspect.getattr_static(OnlinePolicy, "decide"):
        scores = issubclass(kind, ScorePolicy)
        yield (
            "a function score(model, state, task, node)" if scores else "a function decide(model, state, view)",
            "none",
        )
    elif not isinstance(decide, staticmethod):
        yield "@staticmethod above def decide(model, state, view)", "none"
    elif len(_parameters(decide.__func__)) != 3 or _are_swapped(decide.__func__):
        yield "decide(model, state, view)", f"decide{inspect.signature(decide.__func__)}"
    if not kind.__module__.startswith(("vinesim.", "vinesim_papers.")):
        yield from _faults_of_own(policy)
    groups = policy.groups
    if not isinstance(groups, tuple) or not set(groups) <= set(GROUP_KEYS):
        yield f"groups: a tuple out of {', '.join(GROUP_KEYS)}", repr(groups)
    scratch = policy.scratch if isinstance(policy.scratch, Mapping) else {"scratch": policy.scratch}
    for array, declared in scratch.items():
        try:
            dtype, size = declared
            np.dtype(dtype)
            is_legal = (
                not isinstance(declared, str)
                and is_size(size)
                and array.isidentifier()
                and not array.startswith("_")
                and "__" not in array
            )
        except (AttributeError, TypeError, ValueError):
            is_legal = False
        if not is_legal:
            yield (
                f'scratch: name -> (dtype, size), such as "last": ("i8", "units"); sizes {", ".join(SIZES)}',
                (f"{array!r}: {declared!r}"),
            )
    for array, holds in (policy.task_numbers or {}).items():
        if array not in scratch or np.dtype(policy.scratch[array][0]).kind not in "iu" or holds not in HOW:
            one_of = ", ".join(map(repr, HOW))
            yield f"task_numbers: a scratch array of whole numbers -> one of {one_of}", f"{array!r}: {holds!r}"


def _faults_of_own(policy: OnlinePolicy) -> Iterator[tuple[str, str]]:
    """Yield (expected, found) for what only a policy of a user's own may have wrong."""
    kind: Any = type(policy)
    if issubclass(kind, ScorePolicy) and written_as_score(kind):
        for name in ("score", "choose"):
            signature = inspect.signature(getattr(kind, name))
            required = [one for one in signature.parameters.values() if one.default is one.empty]
            if len(required) not in (PLAIN, PLAIN + 1):
                yield f"{name}(model, state, task, node), and view if need be", f"{name}{signature}"
    if has_own_rank(kind):
        written = inspect.getattr_static(kind, "rank")
        if not isinstance(written, staticmethod):
            yield "@staticmethod above def rank(model, state, view, task)", "none"
        elif len(_parameters(written.__func__)) != 4:
            yield "rank(model, state, view, task)", f"rank{inspect.signature(written.__func__)}"
    for name, value in policy.values_of_options().items():
        if not isinstance(value, int | float | str | dict | np.number):
            yield f"an option {name} that is a number, true or false, or a word of a Literal", as_found(value)


def written_as_score(kind: type[ScorePolicy]) -> bool:
    """Whether a score policy has the rule of all score policies, not a ``decide`` of its own."""
    return kind.decide.__code__ is rule_of_scores.__code__


def has_own_rank(kind: type[OnlinePolicy]) -> bool:
    """Whether a policy is backfilling in an order of its own, without a ``decide`` of its own."""
    return issubclass(kind, Backfill) and kind.reserves == BY_RANK


def rules_of(kind: type[OnlinePolicy]) -> list[Any]:
    """Return the functions that the author of an online policy writes: ``decide``, those of a score policy, or the
    order of backfilling."""
    if issubclass(kind, ScorePolicy) and written_as_score(kind):
        return [kind.score, kind.choose]
    if issubclass(kind, Backfill) and has_own_rank(kind):
        return [kind.rank]
    return [kind.decide]


def _are_swapped(decide: Any) -> bool:
    """Whether arguments have the names of others, as in decide(state, model, view)."""
    names = ("model", "state", "view")
    return any(name in names and name != right for name, right in zip(_parameters(decide), names, strict=True))


@lru_cache(1000)
def _parameters(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def is_word(text: Any) -> bool:
    """Whether a kernel can read it as an attribute."""
    return isinstance(text, str) and text.isidentifier() and not iskeyword(text)


def functions_of(function: Any) -> set[Any] | frozenset[Any]:
    """Return a function and all functions that it refers to, directly, through others, or as attributes of a module.

    What the package's own functions refer to is looked up once.
    """
    return _functions_of_own(function) if is_own(function) else _reached_from(function)


@lru_cache(1000)
def _functions_of_own(function: Any) -> set[Any] | frozenset[Any]:
    return frozenset(_reached_from(function))


def _reached_from(function: Any) -> set[Any]:
    seen: set[Any] = set()
    ahead = [function]
    while ahead:
        value = ahead.pop()
        value = getattr(value, "py_func", value)
        if not inspect.isfunction(value) or value in seen:  # other objects may not be hashable
            continue
        seen.add(value)
        names, around = value.__code__.co_names, value.__globals__
        nonlocals = [cell.cell_contents for cell in value.__closure__ or ()]
        for used in (*(around[name] for name in names if name in around), *nonlocals):
            if inspect.ismodule(used):
                ahead += [vars(used).get(name) for name in names]
            else:
                ahead.append(used)
    return seen
