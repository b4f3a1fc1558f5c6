"""The objectives and limits of a plan file."""

from collections.abc import Collection
from typing import Any

from vinesim.formats.plan.document import LimitPart, PlanDocument, UtilityPart
from vinesim.formats.plan.numbers import wrong_number
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.quantities import time_us
from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.model.errors import InputError, Steps
from vinesim.model.expression import Expression, parsed
from vinesim.model.plan import Limit, Objective
from vinesim.model.python_file import split_file
from vinesim.model.titles import number_title

DEFAULT_CONFIDENCE = 0.95
LARGEST_SHARE = 10.0  # largest share in a limit: over-committed units exceed 1, but 90 is meant as percent


def objectives(source: YamlSource, document: PlanDocument) -> tuple[Objective, ...]:
    """Return the objectives: first those to minimise, then those to maximise. Problems are added to the source."""
    found: list[Objective] = []
    for key, is_maximized in (("minimize", False), ("maximize", True)):
        given = getattr(document, key)
        if given is None:
            continue
        for path, text in _texts(source, key, given):
            expression = _expression(source, path, text, functions_of(document))
            if expression is None:
                continue
            if any(str(other) == expression.text for other in found):
                source.add(path, "each objective once", f"{text} again", "Keep one.")
            found.append(Objective(expression, is_maximized))
    if document.minimize is None and document.maximize is None:
        source.add(("minimize",), "what shall be best, such as minimize: cost.total", "nothing", "Add minimize:.")
    return tuple(found)


def functions_of(document: PlanDocument) -> list[str]:
    """Return the names of the functions that a plan records."""
    return [split_file(name)[1].removeprefix(":") for name in document.record]


def _texts(source: YamlSource, key: str, given: Any) -> list[tuple[Steps, str]]:
    """Return the expressions under a key, with their places."""
    if isinstance(given, dict):
        part = checked_part(source, (key,), UtilityPart, given)
        return [] if part is None else [((key, "utility"), part.utility)]
    items = list(enumerate(given)) if isinstance(given, list) else [(None, given)]
    texts: list[tuple[Steps, str]] = []
    for i, item in items:
        path: Steps = (key,) if i is None else (key, i)
        if isinstance(item, str) and item:
            texts.append((path, item))
        else:
            source.add(path, "the name of a number, a list of names, or {utility: expression}", shown(item))
    if not items:
        source.add((key,), "at least one number", "an empty list")
    return texts


def _expression(source: YamlSource, path: Steps, text: str, functions: Collection[str]) -> Expression | None:
    try:
        found = parsed(text)
    except InputError as error:
        first = error.problems[0]
        source.add(path, first.expected, first.found, first.remedy)
        return None
    if not found.names:
        source.add(path, "an expression with at least one number of a run", repr(text)[:60])
    for name in found.names:
        if problem := wrong_number(name, functions):
            source.add(path, problem.expected, problem.found, problem.remedy)
    return found


def limits(source: YamlSource, document: PlanDocument) -> tuple[Limit, ...]:
    """Return the limits; problems are added to the source."""
    found, functions = [], functions_of(document)
    for number, given in document.limits.items():
        path = ("limits", number)
        if problem := wrong_number(number, functions):
            source.add(path, problem.expected, problem.found, problem.remedy, at_key=True)
            continue
        part = checked_part(source, path, LimitPart, given)
        if part is None:
            continue
        sides = {side: _value(source, (*path, side), number, getattr(part, side)) for side in ("below", "above")}
        low, high = sides["above"], sides["below"]
        if low is not None and high is not None and low > high:
            source.add(path, "limits that do not contradict one another", f"above {low:g} and below {high:g}")
        found += [_limit(number, side, value, part) for side, value in sides.items() if value is not None]
    return tuple(found)


def _limit(number: str, side: Any, value: float, part: LimitPart) -> Limit:
    confidence = part.confidence if part.share_of_runs is not None else part.mean_with_confidence
    return Limit(number, side, value, confidence or DEFAULT_CONFIDENCE, part.share_of_runs)


def _value(source: YamlSource, path: Steps, number: str, given: Any) -> float | None:
    """Return the value of a limit in the number's unit."""
    if given is None:
        return None
    is_time, is_percent, is_share = "_us" in number, "_pct" in number, number_title(number).unit == "share"
    largest = LARGEST_SHARE if is_share else 1e300
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < largest:
        return float(given)
    try:
        if is_time and isinstance(given, str):
            return time_us(given)
        if (is_percent or is_share) and isinstance(given, str) and given.strip().endswith("%"):
            return float(given.strip()[:-1]) / (100.0 if is_share else 1.0)
    except (InputError, ValueError):
        pass
    kind = "a time, such as 1300 us" if is_time else "a number of percent" if is_percent else "a number"
    if is_share:
        kind = 'a share, such as 0.9 or "90 %"'
    source.add(path, kind, shown(given))
    return None
