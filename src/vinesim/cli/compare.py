"""``vinesim compare``: which of two policies, sizes or loads of a sweep is better, and by how much."""

import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vinesim.cli.completion import axes_of, numbers_of
from vinesim.cli.shown import short_labels, short_names, shown_label
from vinesim.metrics.numbers import shown_number

if TYPE_CHECKING:
    from rich.table import Table

    from vinesim.studies.compare import Comparison, Pair

MAX_SHOWN = 5
WIDEST = 1000  # columns; wider than any table
LABEL = 7  # minimum width of labels, as for "unclear"; longer ones are wrapped if the terminal is narrow


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    folder: Path = typer.Argument(..., metavar="DIR", help="The folder of a sweep."),
    by: str = typer.Option(..., help="The axis whose labels are compared, such as policy.", autocompletion=axes_of),
    of: str = typer.Option(
        ..., metavar="NUMBER", help="The number to compare, such as jobs.latency_us.mean.", autocompletion=numbers_of
    ),
    baseline: str = typer.Option(None, metavar="LABEL", help="Compare each other label with this one only."),
    better: str = typer.Option(None, help="lower or higher, to override the number's own direction."),
    confidence: float = typer.Option(0.95, help="Confidence of the intervals; 1 minus it is the significance level."),
    correction: str = typer.Option(
        "bonferroni", help="How intervals and p values are corrected for the number of pairs: bonferroni, or none."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the comparison as JSON and nothing else."),
) -> None:
    """Compare the labels on an axis of a sweep in one number, pairing replications that share random numbers."""
    from vinesim.formats.results.folder import to_json
    from vinesim.studies.compare import compare as compared
    from vinesim.studies.same_workload import same_workload
    from vinesim.studies.sweep import read_sweep

    swept = read_sweep(folder)
    found = compared(
        swept,
        by,
        of,
        confidence=confidence,
        baseline=baseline,
        better=better,
        correction=correction,  # type: ignore[arg-type]
    )
    if as_json:
        names = ("by", "of", "direction", "confidence", "correction", "n_comparisons")
        head = {name: getattr(found, name) for name in names}
        note = same_workload(swept.study)
        sys.stdout.write(to_json({**head, "same_workload": note, "pairs": found.rows()}))
    else:
        print_comparison(found)
        if note := same_workload(swept.study):
            typer.echo(note)


def print_comparison(found: "Comparison") -> None:
    """Print a comparison for people: one row per pair, then what was left out."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    unbound = console.options.update(width=WIDEST)
    table = _table(found, narrow=False)
    if console.measure(table, options=unbound).maximum > console.width:
        table = _table(found, narrow=True)
    console.print(table, width=max(console.width, console.measure(table, options=unbound).minimum), crop=False)
    for line in _notes(found):
        console.print(line)


def _table(found: "Comparison", narrow: bool) -> "Table":
    """Build a table with one row per pair. The narrow form has intervals below the differences, no ratios, the ends of
    the names of axes, the classes of policies in files, and wraps long labels."""
    from rich.box import SIMPLE
    from rich.table import Table

    direction = f", {found.direction} is better" if found.direction else ""
    shown = partial(shown_number, found.of)
    table = Table(title=f"{found.of} by {found.by}{direction}", title_justify="left", box=SIMPLE, pad_edge=False)
    between = "\n" if narrow else " "
    points = [[shown_label(label) for label in pair.point.values()] for pair in found.pairs]
    axes = list(found.pairs[0].point)
    for column, name in enumerate(short_names(axes).values() if narrow else axes):
        longest = max(len(name), *(len(point[column]) for point in points))
        table.add_column(name, overflow="fold", min_width=min(LABEL, longest))
    for name, means in (
        ("first", [shown(pair.first_mean) for pair in found.pairs]),
        ("second", [shown(pair.second_mean) for pair in found.pairs]),
    ):
        table.add_column(name, overflow="fold", min_width=max(LABEL, *map(len, means)))
    for name in ("n", f"second - first,{between}{100 * found.confidence:g} %", *["ratio"] * (not narrow), "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("better" if found.direction else "differ", overflow="fold", min_width=LABEL)
    labels = {shown_label(label) for pair in found.pairs for label in (pair.first, pair.second)}
    names = short_labels(labels) if narrow else {label: label for label in labels}
    for pair, point in zip(found.pairs, points, strict=True):
        table.add_row(*point, *_cells(pair, found, names, narrow))
    return table


def _cells(pair: "Pair", found: "Comparison", names: dict[str, str], narrow: bool) -> list[str]:
    difference, shown = pair.difference, partial(shown_number, found.of)
    has_interval = not math.isnan(difference.low)
    between = "\n" if narrow else " "
    interval = f"{between}[{shown(difference.low)}, {shown(difference.high)}]" if has_interval else ""
    first, second = names[shown_label(pair.first)], names[shown_label(pair.second)]
    better = first if pair.better == pair.first else second
    verdict = better if found.direction else "yes"
    return [
        f"{first}{between}{shown(pair.first_mean)}",
        f"{second}{between}{shown(pair.second_mean)}",
        str(difference.n),
        shown(difference.estimate) + interval,
        *[_number(pair.ratio)] * (not narrow),
        "-" if not has_interval else "<0.0001" if pair.p_corrected < 0.0001 else f"{pair.p_corrected:.4f}",
        "-" if not has_interval else verdict if pair.significant else "unclear",
    ]


def _notes(found: "Comparison") -> list[str]:
    """Return the lines below the table."""
    n, percent = found.n_comparisons, f"{100 * found.confidence:g} %"
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
            at = ", ".join(f"{name} = {label}" for name, label in pair.point.items())
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
