"""The answer of a plan as text that fits a terminal of 80 columns."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.cli.shown import short_names, shown_label
from vinesim.metrics.numbers import shown_limit, shown_number
from vinesim.plans.screen import OVERLOADED

if TYPE_CHECKING:
    from rich.console import Console

    from vinesim.plans.answer import Answer, Row
    from vinesim.plans.verdicts import Judgement
    from vinesim.studies.statistics import Interval

WIDTH = 80
MAX_FRONT = 20


def print_answer(found: "Answer", out: Path) -> None:
    """Print the recommendation, what comes next and why, what binds, what relaxing would save, and the neighbours."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, width=min(WIDTH, Console().width))
    console.print(f"{found.status[0].upper()}{found.status[1:]}")
    if found.recommended is not None:
        _print_recommended(console, found, found.recommended)
    _print_rows(console, found, "Pareto front", found.front[:MAX_FRONT])
    _print_rows(console, found, "Next", found.runners)
    if found.recommended is None:
        _print_rows(console, found, "Nearest to the limits", found.nearest)
    _print_rows(console, found, "Undecided", found.undecided if found.recommended is None else ())
    _print_relaxed(console, found)
    _print_beside(console, found)
    for row, outcome in found.not_confirmed:
        console.print(f"Not recommended: {named(row)} {outcome}.")
    _print_counts(console, found)
    console.print(f"The answer as a page: {out / 'plan.html'}. Runs and plan.json are beside it.")
    if found.recommended is not None:
        console.print(f"Run the recommendation:  vinesim run {out / 'recommendation.yaml'}")


def named(row: "Row") -> str:
    """Write what a point chooses, with names as short as they can be."""
    short = short_names(list(row.choice))
    return ", ".join(f"{short[name]} {shown_label(label)}" for name, label in row.choice.items())


def interval(number: str, found: "Interval") -> str:
    """Write an estimate with its interval, if it has a width."""
    text = shown_number(number, found.estimate)
    if math.isnan(found.low) or found.low == found.high:
        return text
    return f"{text} [{shown_number(number, found.low)}, {shown_number(number, found.high)}]"


def _print_recommended(console: "Console", found: "Answer", row: "Row") -> None:
    console.print(f"  {named(row)}")
    for goal, value in zip(found.plan.objectives, row.objectives, strict=True):
        word = "most" if goal.is_maximized else "least"
        console.print(f"  {goal} ({word}): {interval(goal.number, value)}")
    fresh = found.confirmation.fresh if found.confirmation is not None else None
    longer = found.confirmation.longer if found.confirmation is not None else None
    for i, judgement in enumerate(row.judgements):
        limit = judgement.limit
        console.print(f"  {shown_limit(limit.number, limit.side, limit.value)}: {_judgement(judgement)}")
        if fresh is not None:
            console.print(f"    on fresh seeds: {_judgement(fresh.judgements[i])}")
        if longer is not None:
            for other in longer.judgements:
                if other.limit == judgement.limit:
                    console.print(f"    {longer.times:g} times as long: {_judgement(other)}")
    if longer is not None and longer.why_not:
        console.print(f"  Not run longer: {longer.why_not}")
    console.print(f"  Binding: {found.binding}")


def _judgement(found: "Judgement") -> str:
    percent = f"{100 * found.limit.confidence:g} %"
    if found.limit.share is not None:
        bounds = f"{found.estimate:.1%} of runs [{found.low:.1%}, {found.high:.1%}]"
        return f"{found.verdict}, {bounds}, {found.n} runs, {percent}"
    name = found.limit.number
    text = shown_number(name, found.estimate)
    if not math.isnan(found.low) and found.low != found.high:
        text += f" [{shown_number(name, found.low)}, {shown_number(name, found.high)}]"
    return f"{found.verdict}, mean {text}, {found.n} runs, {percent}"


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
        table.add_row(named(row), *goals, *([row.why] if any(each.why for each in rows) else []))
    console.print(table)


def _print_relaxed(console: "Console", found: "Answer") -> None:
    if not found.relaxed:
        return
    console.print("Relaxing a limit by 10 %, by the runs that were done:")
    goal = found.plan.objectives[0].number
    for relaxed in found.relaxed:
        sure = "" if relaxed.is_certain else ", if the mean of few runs is right"
        saves = "saves nothing" if relaxed.point is None else f"saves {shown_number(goal, relaxed.saving)}{sure}"
        limit = shown_limit(relaxed.limit.number, relaxed.limit.side, relaxed.value)
        console.print(f"  {limit}: {saves}")


def _print_beside(console: "Console", found: "Answer") -> None:
    if not found.beside:
        return
    console.print("One step more or less of each choice, simulated with the same seeds:")
    goal = found.plan.objectives[0]
    short = short_names([each.choice for each in found.beside])
    for each in found.beside:
        change = "-" if math.isnan(each.change.estimate) else _signed(goal.number, each.change.estimate)
        why = f"; {each.row.why}" if each.row.why else "; holds"
        console.print(f"  {short[each.choice]} {shown_label(each.label)}: {goal} {change}{why}")


def _signed(name: str, value: float) -> str:
    return ("+" if value > 0 else "") + shown_number(name, value)


def _print_counts(console: "Console", found: "Answer") -> None:
    n = found.counts
    verdicts = ", ".join(f"{n[verdict]:,} {verdict}" for verdict in ("holds", "fails", "undecided"))
    console.print(
        f"{n['points']:,} points: {n['screened']:,} left out before any run, {n['run']:,} run ({verdicts}) "
        f"in {n['runs']:,} runs; {found.ended}."
    )
    for why, count in list(found.screened_why.items())[:3]:
        console.print(f"  {count:,} left out: {why}")
    if found.recommended is None and OVERLOADED in found.screened_why:
        console.print(
            "Overloaded: more work arrives than is done, while jobs arrive. A short workload may still "
            "keep the limits: screen: false runs such points too."
        )
    if found.closed:
        console.print(f"Proof: {found.closed}.")
