"""The question on the page of a plan: the workload, the prices, the choices, the objective, and the limits."""

from collections.abc import Mapping
from typing import Any

from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.report.markup import facts, table

LONGEST = 300  # at most this many characters of a scenario's value are shown
Row = Mapping[str, Any]


def question(answer: Row) -> str:
    """Return the section as HTML."""
    plan = answer["plan"]
    limits = [_limit(limit) for limit in plan["limits"]]
    chosen = {choice["name"].split(".")[0] for choice in plan["choices"]}
    scenario = [(name, _written(value)) for name, value in plan["scenario"].items() if name not in chosen]
    prices = [f"{name} {shown_number('cost.purchase', price)}" for name, price in answer["prices"].items()]
    lines = [
        ("Minimised", ", ".join(goal["of"] for goal in plan["objectives"] if not goal["is_maximized"])),
        ("Maximised", ", ".join(goal["of"] for goal in plan["objectives"] if goal["is_maximized"])),
        ("Limits", "; ".join(limits) or "none"),
        *((name.capitalize(), text) for name, text in scenario),
        ("Jobs in a run", "" if answer["n_jobs"] is None else f"{answer['n_jobs']:,}"),
        ("Prices", ", ".join(prices)),
        ("Costs", _given(plan["costs"] or {})),
        ("Budget", _given(plan["budget"])),
        ("Seed", str(plan["seed"])),
    ]
    rows = [[choice["title"], _values(choice), choice["name"]] for choice in plan["choices"]]
    return facts((name, text) for name, text in lines if text) + table(
        "What may be chosen", ["choice", "values", "key of the scenario"], rows, has_texts=True
    )


def _limit(limit: Row) -> str:
    words = shown_limit(limit["number"], limit["side"], limit["value"])
    if limit["share"] is None:
        return words
    return f"{words} in {100 * limit['share']:g} % of runs"


def _values(choice: Row) -> str:
    when = [f"{name} is {' or '.join(map(str, labels))}" for name, labels in choice["when"].items()]
    return choice["values"] + (f" (only if {' and '.join(when)})" if when else "")


def _given(numbers: Row) -> str:
    """Format the numbers that are neither zero nor empty; shares as percent."""
    shown = {name: f"{100 * value:g} %" if name == "gap" else value for name, value in numbers.items() if value}
    return _written({name: f"{value:g}" if isinstance(value, float) else value for name, value in shown.items()})


def _written(value: Any) -> str:
    """Format a value of a scenario on one line."""
    text = _flow(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_inner(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_inner, value))
    return str(value)


def _inner(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{_flow(value)}}}"
    return f"[{_flow(value)}]" if isinstance(value, list) else str(value)
