"""The question of a plan in words and values, as the answer repeats it: objectives, choices, limits and scenario."""

from functools import partial
from itertools import pairwise
from typing import Any

from vinesim.formats.source.units import axis_label
from vinesim.formats.study.file import scenario_source
from vinesim.model.plan import Choice, Plan
from vinesim.model.titles import axis_titles

FEW, MOST = 3, 20  # values that are listed, at least and at most
SECTIONS = ("workload", "arrivals", "policy", "options", "period", "applications", "horizon", "power", "energy")


def question(plan: Plan) -> dict[str, Any]:
    """Return the question; what the scenario says, without what is chosen, is under ``scenario``."""
    data = scenario_source(plan.space).data
    titles = titles_of(plan)
    return {
        "description": plan.description,
        "objectives": [
            {"of": str(goal), "number": goal.number, "is_maximized": goal.is_maximized} for goal in plan.objectives
        ],
        "limits": list(plan.limits),
        "choices": [_choice(choice, titles[choice.name]) for choice in plan.choices],
        "scenario": {name: data[name] for name in SECTIONS if name in data},
        "costs": plan.costs,
        "looks": list(plan.looks),
        "budget": plan.budget,
        "confirm": plan.confirm,
        "screen": plan.screen,
        "seed": plan.space.seed,
    }


def titles_of(plan: Plan) -> dict[str, str]:
    """Return what each choice is called: its label, or words for its key."""
    titles = axis_titles([choice.name for choice in plan.choices])
    return {choice.name: choice.title or titles[choice.name].words for choice in plan.choices}


def _choice(choice: Choice, title: str) -> dict[str, Any]:
    when = {name: list(labels) for name, labels in choice.when.items()}
    return {"name": choice.name, "title": title, "values": _values(choice), "n": len(choice), "when": when}


def _values(choice: Choice) -> str:
    """Say what may be chosen, with units: evenly spaced numbers by their ends."""
    labels, shown = choice.labels, partial(axis_label, choice.name)
    steps = {round(float(b) - float(a), 9) for a, b in pairwise(labels)} if choice.is_ordered else set()
    if len(steps) == 1 and len(labels) > FEW:
        step = shown(steps.pop())
        return f"{shown(labels[0])} to {shown(labels[-1])}" + ("" if step == "1" else f" in steps of {step}")
    words = ", ".join(map(shown, labels[:MOST]))
    return words if len(labels) <= MOST else f"{words} and {len(labels) - MOST:,} more, the last {shown(labels[-1])}"
