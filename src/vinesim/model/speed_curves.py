"""Speed curves: how fast each of 1, 2, 3 ... tasks runs that share a unit, for all task types or by task type."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.scalars import as_found, is_number

ANY_TASK = "*"  # as a task type: every type without its own entry

Curve = Sequence[float]  # the speed of each of 1, 2 ... tasks, relative to that of one alone
Rates = Curve | Mapping[str, Curve]  # of all tasks, or by task type


def plain_rates(name: str, rates: Any) -> Rates:
    """Return the rates of a processor type as numbers: one curve if it applies to all task types, even if given by task
    type. Raises :class:`InputError` for what is no number."""
    where = ("processor_types", name, "rates")
    if not isinstance(rates, Mapping):
        return _numbers(where, rates)
    curves = {task_type: _numbers((*where, task_type), curve) for task_type, curve in rates.items()}
    return curves[ANY_TASK] if list(curves) == [ANY_TASK] else curves


def _numbers(where: Steps, curve: Any) -> Curve:
    rates = list(curve) if isinstance(curve, Iterable) and not isinstance(curve, str) else [curve]
    wrong = [Problem((*where, i), "a number", as_found(rate)) for i, rate in enumerate(rates) if not is_number(rate)]
    if wrong or not isinstance(curve, Iterable):
        raise InputError(wrong or [Problem(where, "a list of numbers", as_found(curve))])
    return tuple(map(float, rates))


def curves_of(rates: Rates | None) -> Mapping[str, Curve]:
    """Return the curves by task type, ``ANY_TASK`` for those without one of their own; empty without rates."""
    if rates is None:
        return {}
    return rates if isinstance(rates, Mapping) else {ANY_TASK: rates}


def full_speed(curve: Curve) -> float:
    """Return how many tasks run at full speed."""
    return float(next((n for n, rate in enumerate(curve) if rate < 1.0), len(curve)))


def throughput(curve: Curve) -> tuple[float, ...]:
    """Return what 1, 2 ... tasks get done together, relative to one."""
    return tuple((n + 1) * rate for n, rate in enumerate(curve))


def wrong_rates(name: str, rates: Rates, capacity: float) -> list[Problem]:
    """Find what is wrong with the rates of a processor type."""
    where, curves = ("processor_types", name, "rates"), curves_of(rates)
    if not curves:
        return [Problem(where, "a list of rates, or one for each of some task types", "none")]
    problems = []
    for task_type, curve in curves.items():
        of = (*where, task_type) if isinstance(rates, Mapping) else where
        if not curve or curve[0] != 1.0 or not all(0 < rate <= 1 for rate in curve):
            problems.append(Problem(of, "numbers above 0 and at most 1, the first 1", f"{list(curve)}"))
        if len(curve) > math.ceil(capacity):
            expected = f"at most {math.ceil(capacity)} numbers, as its capacity is {capacity:g}"
            problems.append(Problem(of, expected, f"{len(curve)}", "Give it more capacity."))
    return problems


def unknown_task_types(name: str, rates: Rates | None, known: Iterable[str]) -> list[Problem]:
    """Find task types of the rates of a processor type that do not exist."""
    known = list(known)
    expected = "a task type, one of " + ", ".join(known)
    return [
        Problem(("processor_types", name, "rates"), expected, repr(task_type))
        for task_type in curves_of(rates)
        if task_type != ANY_TASK and task_type not in known
    ]
