"""``vinesim compare``: which of two policies, sizes or loads is better, and by how much."""

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.completion import axes_of, numbers_of
from vinesim.cli.shown import axis_columns, short_labels, shown_label
from vinesim.cli.terminal import output, say
from vinesim.metrics.numbers import shown_number

if TYPE_CHECKING:
    from rich.table import Table

    from vinesim.studies.compare import Comparison, Pair

MAX_SHOWN = 5
WIDEST = 1000  # columns; wider than any table
NAME = 24  # letters of a name that is not wrapped on 80 columns


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    ctx: typer.Context,
    folder: Path = typer.Argument(..., metavar="DIR", help="The folder of a sweep, or of a run with OTHER."),
    other: Path = typer.Argument(None, metavar="[OTHER]", help="Another sweep or run, to be compared with the first."),
    by: str = typer.Option(
        None,
        help="Axis whose labels to compare, such as policy; default with OTHER: all jobs together.",
        autocompletion=axes_of,
    ),
    of: str = typer.Option(
        None,
        metavar="NUMBER",
        help="Number to compare, such as jobs.latency_us.mean; default with OTHER: a selection.",
        autocompletion=numbers_of,
    ),
    baseline: str = typer.Option(None, metavar="LABEL", help="Compare each other label with this one only."),
    better: str = typer.Option(None, help="lower or higher, to override the number's own direction."),
    confidence: float = typer.Option(0.95, help="Confidence of the intervals; 1 minus it is the significance level."),
    correction: str = typer.Option(
        "bonferroni", help="How intervals and p values are corrected for the number of pairs: bonferroni, or none."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the comparison as JSON and nothing else."),
) -> None:
    """Compare the labels on an axis of a sweep in one number, pairing replications that share random numbers.

    With OTHER, two sweeps are compared at each point that both have; or two runs, and with --by at each label of their
    jobs, such as each user.
    """
    from vinesim.formats.results.folder import to_json
    from vinesim.model.errors import InputError, Problem
    from vinesim.studies.backtest_record import record_of
    from vinesim.studies.compare import compare as compared
    from vinesim.studies.same_workload import same_workload
    from vinesim.studies.sweep import read_sweep
    from vinesim.studies.sweep_notes import equal_note, missing_note, notes_of, overload_note, stalled_points

    given: dict[str, Any] = {"confidence": confidence, "better": better, "correction": correction}
    if other is not None:
        from vinesim.cli.compare_two import compare_two

        compare_two(ctx, (folder, other), by, of, given, as_json)
        return
    wanted = {"--by": (by, "an axis of the sweep, such as policy")}
    wanted["--of"] = (of, "the number to compare, such as jobs.latency_us.mean")
    if missing := [Problem(name, expected, "none") for name, (value, expected) in wanted.items() if value is None]:
        raise InputError(missing)
    swept = read_sweep(folder)
    found = compared(swept, by, of, baseline=baseline, **given)
    if as_json:
        notes: dict[str, object] = {
            "missing": missing_note(swept),
            "stalled": [one._asdict() for one in stalled_points(swept)],
            "overloaded": overload_note(swept),
            "equal_replications": equal_note(swept),
            "same_workload": same_workload(swept.study),
        }
        output().write(to_json({**document(found), **notes, "backtest": record_of(swept.study)}))
    else:
        print_comparison(found)
        for note in notes_of(swept):
            say(note)


def document(found: "Comparison") -> dict[str, Any]:
    """Return a comparison as JSON has it."""
    names = ("by", "of", "direction", "confidence", "correction", "n_comparisons")
    return {**{name: getattr(found, name) for name in names}, "pairs": found.rows()}


def print_comparison(found: "Comparison") -> None:
    """Print a comparison for people: one row per pair, then what was left out."""
    from vinesim.cli.console import Console

    console = Console()
    unbound = console.options.update(width=WIDEST)
    tables = {"": _wide(found)}
    if console.measure(tables[""], options=unbound).maximum > console.width:
        tables = _narrow(found)
    console.print(_title(found), style="italic")
    for point, table in tables.items():
        if point:
            console.print()
            console.print(f"At {point}:", soft_wrap=True)
        console.print(table, width=max(console.width, console.measure(table, options=unbound).minimum), crop=False)
    for line in _notes(found):
        console.print(line)


def _title(found: "Comparison") -> str:
    direction = f", {found.direction} is better" if found.direction else ""
    return f"{found.of} by {found.by}{direction}"


def _wide(found: "Comparison") -> "Table":
    """Build a table with a line for each pair."""
    table, difference = _empty(), f"second - first, {_percent(found)}"
    points = axis_columns(
        {name: [pair.point[name] for pair in found.pairs] for name in found.pairs[0].point}, is_short=False
    )
    for name in (*points, "first", "second"):
        table.add_column(name)
    for name in ("n", difference, "ratio", "p"):
        table.add_column(name, justify="right")
    table.add_column("better" if found.direction else "differ")
    shown = partial(shown_number, found.of)
    for i, pair in enumerate(found.pairs):
        table.add_row(
            *(labels[i] for labels in points.values()),
            f"{shown_label(found.by, pair.first)} {shown(pair.first_mean)}",
            f"{shown_label(found.by, pair.second)} {shown(pair.second_mean)}",
            str(pair.difference.n),
            " ".join(_difference(found, pair)),
            _number(pair.ratio),
            _p(pair),
            _verdict(found, pair, shown_label(found.by, pair.better)),
        )
    return table


def _narrow(found: "Comparison") -> "dict[str, Table]":
    """Build a table for each point of the other axes, with two lines for each pair, and the classes of policies in
    files. Only names wrap, where even these are too long."""
    from vinesim.cli.console import lines

    label = partial(shown_label, found.by)
    names = short_labels({label(one) for pair in found.pairs for one in (pair.first, pair.second)})
    width = min(NAME, max(map(len, names.values())))
    shown = partial(shown_number, found.of)
    tables: dict[str, Table] = {}
    for pair in found.pairs:
        table = tables.setdefault(_point(pair), _empty())
        if not table.columns:
            table.add_column(lines("first", "second"), overflow="fold", min_width=width)
            table.add_column("mean", justify="right", no_wrap=True)
            table.add_column("n", justify="right", no_wrap=True)
            table.add_column(lines("second - first,", _percent(found)), justify="right", no_wrap=True)
            table.add_column("p", justify="right", no_wrap=True)
            table.add_column("better" if found.direction else "differ", no_wrap=True)
        table.add_row(
            lines(names[label(pair.first)], names[label(pair.second)]),
            lines(shown(pair.first_mean), shown(pair.second_mean)),
            str(pair.difference.n),
            lines(*_difference(found, pair)),
            _p(pair),
            _verdict(found, pair, "first" if pair.better == pair.first else "second"),
        )
    return tables


def _point(pair: "Pair") -> str:
    """Name the point of the other axes: keys, and labels with their units."""
    return ", ".join(f"{name} = {shown_label(name, label)}" for name, label in pair.point.items())


def _empty() -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))


def _percent(found: "Comparison") -> str:
    return f"{100 * found.confidence:g} %"


def _difference(found: "Comparison", pair: "Pair") -> list[str]:
    """Return the mean difference and its interval, if there is one."""
    low, mean, high = (
        shown_number(found.of, value) for value in (pair.difference.low, pair.difference.estimate, pair.difference.high)
    )
    return [mean] if math.isnan(pair.difference.low) else [mean, f"[{low}, {high}]"]


def _p(pair: "Pair") -> str:
    if math.isnan(pair.difference.low):
        return "-"
    return "<0.0001" if pair.p_corrected < 0.0001 else f"{pair.p_corrected:.4f}"


def _verdict(found: "Comparison", pair: "Pair", better: str) -> str:
    if math.isnan(pair.difference.low):
        return "-"
    if pair.stalled:
        return "stalled"
    if pair.is_equal:
        return "equal"
    return "unclear" if not pair.significant else better if found.direction else "yes"


def _notes(found: "Comparison") -> list[str]:
    """Return the lines below the table."""
    n, percent = found.n_comparisons, _percent(found)
    if n < 2:
        rule = "no correction is needed"
    elif found.correction == "none":
        rule = "intervals and p are not corrected for the number of comparisons: each holds on its own"
    else:
        rule = f"intervals and p are corrected for {n} comparisons (Bonferroni): all hold together at {percent}"
    lines = [f"Pairs share their seeds; {rule}."]
    ratios = sorted(pair.variance_ratio for pair in found.pairs if math.isfinite(pair.variance_ratio))
    if ratios:
        span = _number(ratios[0]) if len(ratios) == 1 else f"{_number(ratios[0])} to {_number(ratios[-1])}"
        lines.append(f"Variance of a difference without common random numbers: {span} times as much.")
    if any(pair.difference.n == 1 for pair in found.pairs):
        lines.append("A single replication has no interval: set `replications` higher in the study.")
    missing: dict[str, list[str]] = {}
    for pair in found.pairs:
        for text in pair.unmatched:
            at = _point(pair)
            if text not in missing.setdefault(at, []):
                missing[at].append(text)
    for at, texts in missing.items():
        shown = texts[:MAX_SHOWN] + [f"and {len(texts) - MAX_SHOWN} more"] * (len(texts) > MAX_SHOWN)
        lines.append(f"Left out{f' ({at})' if at else ''}: {'; '.join(shown)}")
    return lines


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
