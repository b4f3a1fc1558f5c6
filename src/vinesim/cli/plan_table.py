"""The answer of a plan as text that fits a terminal of 80 columns."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.cli.shown import short_names, shown_label
from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.plans.screen import OVERLOADED

if TYPE_CHECKING:
    from vinesim.cli.console import Console
    from vinesim.model.plan import Plan
    from vinesim.plans.answer import Answer, Row
    from vinesim.plans.verdicts import Judgement
    from vinesim.studies.statistics import Interval

WIDTH = 80
MAX_FRONT = 20
MAX_REASONS = 5


def print_answer(found: "Answer", out: Path | None) -> None:
    """Print the recommendation, what comes next and why, what binds, what relaxing would save, and the neighbours; and
    where the answer is, if it was written."""
    from vinesim.cli.console import Console

    console = Console(width=min(WIDTH, Console().width))
    console.print(found.why_none or f"{found.status[0].upper()}{found.status[1:]}")
    if found.recommended is not None:
        _print_recommended(console, found, found.recommended)
    for note in found.notes:
        console.print(note)
    _print_rows(console, found, "Pareto front", found.front[:MAX_FRONT])
    _print_rows(console, found, "Next", found.runners)
    if found.recommended is None:
        _print_rows(console, found, "Nearest to the limits", found.nearest)
    _print_rows(console, found, "Undecided", found.undecided if found.recommended is None else ())
    _print_rows(console, found, "Cheapest within 5 % of the best", () if found.nearly is None else (found.nearly,))
    _print_rows(console, found, "Knee of the front", () if found.knee is None else (found.knee,))
    _print_relaxed(console, found)
    _print_neighbors(console, found)
    _print_prices(console, found)
    _print_loads(console, found)
    for row, outcome in found.not_confirmed:
        console.print(f"Not recommended: {named(found.plan, row)} {outcome}.")
    _print_counts(console, found)
    if out is None:
        return
    console.print(f"The answer as a page: {out / 'plan.html'}; for programs: plan.json next to it.")
    if found.recommended is not None:
        console.print(f"Run the recommendation:  vinesim run {out / 'recommendation.yaml'}")


def named(plan: "Plan", row: "Row") -> str:
    """Write what a point chooses."""
    return _chosen(plan, row.choice)


def _chosen(plan: "Plan", choice: dict[str, Any]) -> str:
    names = names_of(plan)
    return ", ".join(f"{names[name]} {shown_label(name, label)}" for name, label in choice.items())


def names_of(plan: "Plan") -> dict[str, str]:
    """Return what each choice is called: its label, or the end of its key."""
    short = short_names([choice.name for choice in plan.choices])
    return {choice.name: choice.title or short[choice.name] for choice in plan.choices}


def interval(number: str, found: "Interval") -> str:
    """Write an estimate with its interval, if it has a width."""
    text = shown_number(number, found.estimate)
    if math.isnan(found.low) or found.low == found.high:
        return text
    return f"{text} [{shown_number(number, found.low)}, {shown_number(number, found.high)}]"


def _print_recommended(console: "Console", found: "Answer", row: "Row") -> None:
    console.print(f"  {named(found.plan, row)}")
    for goal, value in zip(found.plan.objectives, row.objectives, strict=True):
        word = "most" if goal.is_maximized else "least"
        console.print(f"  {goal} ({word}): {interval(goal.number, value)}")
    fresh = found.confirmation.fresh if found.confirmation is not None else None
    longer = found.confirmation.longer if found.confirmation is not None else None
    for i, judgement in enumerate(row.judgements):
        limit = judgement.limit
        console.print(f"  {shown_limit(limit.number, limit.side, limit.value)}: {_judgement(judgement)}")
        if fresh is not None and judgement.is_random:
            console.print(f"    on fresh seeds: {_judgement(fresh.judgements[i])}")
        if longer is not None:
            for other in longer.judgements:
                if other.limit == judgement.limit:
                    console.print(f"    {longer.times:g} times as long: {_judgement(other)}")
    if longer is not None and longer.why_not:
        console.print(f"  Not tested on a longer workload: {longer.why_not}")
    console.print(f"  Binding: {found.binding}")


def _judgement(found: "Judgement") -> str:
    percent = f"{100 * found.limit.confidence:g} %"
    name = found.limit.number
    if found.limit.share is not None:
        text = f"{found.estimate:.1%} of runs"
        text += f" [{found.low:.1%}, {found.high:.1%}]" if found.is_random else ""
    else:
        text = f"mean {shown_number(name, found.estimate)}" if found.is_random else shown_number(name, found.estimate)
        if not math.isnan(found.low) and found.low != found.high:
            text += f" [{shown_number(name, found.low)}, {shown_number(name, found.high)}]"
    return f"{found.verdict}, {text}" + (f", {found.n} runs, {percent}" if found.is_random else "")


def _print_rows(console: "Console", found: "Answer", title: str, rows: "Sequence[Row]") -> None:
    if not rows:
        return
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    table.add_column("choice", overflow="fold", ratio=2)
    for goal in found.plan.objectives:
        table.add_column(str(goal), justify="right", overflow="fold", ratio=1)
    if any(row.why for row in rows):
        table.add_column("why", overflow="fold", ratio=2)
    for row in rows:
        goals: list[Any] = [
            shown_number(goal.number, value.estimate)
            for goal, value in zip(found.plan.objectives, row.objectives, strict=False)
        ]
        goals += ["-"] * (len(found.plan.objectives) - len(goals))
        table.add_row(named(found.plan, row), *goals, *([row.why] if any(each.why for each in rows) else []))
    console.print(table)


def _print_relaxed(console: "Console", found: "Answer") -> None:
    if not found.relaxed:
        return
    console.print("Relaxing a limit by 10 %, by the runs that were done:")
    for relaxed in found.relaxed:
        limit = shown_limit(relaxed.limit.number, relaxed.limit.side, relaxed.value)
        console.print(f"  {limit}: {relaxed.text}")


def _print_neighbors(console: "Console", found: "Answer") -> None:
    if not found.neighbors:
        return
    console.print("One step more or less of each choice, simulated with the same seeds:")
    goal = found.plan.objectives[0]
    names = names_of(found.plan)
    for each in found.neighbors:
        change = "-" if math.isnan(each.change.estimate) else _signed(goal.number, each.change.estimate)
        why = f"; {each.row.why}" if each.row.why else "; holds"
        console.print(f"  {names[each.choice]} {shown_label(each.choice, each.label)}: {goal} {change}{why}")


def _print_loads(console: "Console", found: "Answer") -> None:
    if not found.at_loads:
        return
    console.print("Under other loads, by new runs:")
    for each in found.at_loads:
        console.print(f"  {each.load:g} times the load: {load_words(each.holds, each.why_not, each.n_tried)}")
        for judgement in each.judgements:
            limit = judgement.limit
            console.print(f"    {shown_limit(limit.number, limit.side, limit.value)}: {_judgement(judgement)}")
        if each.instead is not None:
            goal = found.plan.objectives[0]
            value = interval(goal.number, each.instead.objectives[0])
            console.print(f"    instead: {named(found.plan, each.instead)}, {goal} {value}")


def load_words(holds: bool, why_not: str, n_tried: int) -> str:
    """Say whether a recommendation keeps its limits under a load."""
    if why_not:
        return f"not known: {why_not}"
    return "all limits hold" if holds else f"a limit is missed ({n_tried} points were run)"


def _print_prices(console: "Console", found: "Answer") -> None:
    if not found.price_ranges:
        return
    console.print("Prices at which this stays the best, one at a time, by the runs that were done:")
    for each in found.price_ranges:
        console.print(f"  {each.kind}, now {each.price:,.6g}: {price_range(each.low, each.high)}")
        for side, rival in (("below", each.below), ("above", each.above)):
            if rival is not None:
                known = f" ({rival.known})" if rival.known else ""
                console.print(f"    {side}: {_chosen(found.plan, rival.choice)}{known}")


def price_range(low: float, high: float | None) -> str:
    """Write a range of prices."""
    if high is None or math.isinf(high):
        return f"{low:,.6g} or more" if low else "any"
    return f"{low:,.6g} to {high:,.6g}" if low else f"up to {high:,.6g}"


def _signed(name: str, value: float) -> str:
    return ("+" if value > 0 else "") + shown_number(name, value)


def _print_counts(console: "Console", found: "Answer") -> None:
    console.print(found.accounted)
    whys = list(found.screened_why.items())
    for why, count in whys[:MAX_REASONS]:
        console.print(f"  {count:,} without a run: {why}")
    if rest := whys[MAX_REASONS:]:
        console.print(f"  {sum(n for _, n in rest):,} without a run: {len(rest)} other reasons, in plan.json")
    if found.recommended is None and OVERLOADED in found.screened_why:
        console.print("  To simulate overloaded candidates too, for a workload that is meant to end: screen: false.")
    if found.closed:
        console.print(found.closed)
