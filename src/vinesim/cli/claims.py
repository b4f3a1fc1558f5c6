"""The claims of the papers as tables that fit a terminal."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from vinesim.papers.claim import Finding, Verdict
from vinesim.papers.criteria import NotSimulated
from vinesim.papers.item import Item
from vinesim.papers.reproduce import Report

COLORS = {Verdict.REPRODUCED: "green", Verdict.PARTLY: "yellow", Verdict.NOT: "bold red"}


def print_items(items: Sequence[Item]) -> None:
    """Print the items that can be reproduced."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("id", "paper", "title"):
        table.add_column(title)
    table.add_column("claims", justify="right")
    for item in items:
        table.add_row(item.id, item.paper, escape(item.title), str(len(item.claims)))
    Console(highlight=False).print(table)


def print_report(report: Report) -> None:
    """Print the claims of an item, with notes below where they are not reproduced, and the files written."""
    console = Console(highlight=False)
    table = Table(
        title=f"{report.item.id}: {escape(report.item.title)}", title_justify="left", box=SIMPLE, pad_edge=False
    )
    table.add_column("claim", no_wrap=True)
    table.add_column("statement", ratio=10)
    table.add_column("expected", ratio=6)
    table.add_column("measured", ratio=7)
    table.add_column("verdict", no_wrap=True)
    for finding in report.findings:
        row = finding.row()
        verdict = f"[{COLORS[finding.verdict]}]{finding.verdict}[/]"
        cells = [escape(row[key]) for key in ("claim", "statement", "expected", "measured")]
        table.add_row(*cells, verdict)
    console.print(table)
    for finding in report.findings:
        row = finding.row()
        if "note" in row:
            _print_note(console, finding.claim.id, row["note"])
        if finding.claim.note and finding.verdict is not Verdict.REPRODUCED and finding.claim.judge != NotSimulated():
            _print_note(console, f"{finding.claim.id}, rule", finding.claim.rule)
        if "other_reading" in row:
            _print_note(console, f"{finding.claim.id}, another reading", row["other_reading"])
    for path in report.files:
        if path.suffix != ".json":
            console.print(f"  wrote {escape(str(path))}", soft_wrap=True)
    console.print()


def _print_note(console: Console, about: str, text: str) -> None:
    console.print(Padding(f"[bold]{escape(about)}[/]: {escape(text)}", (0, 0, 0, 2)))


def print_hint(findings: Sequence[Finding], n_items: int, out: Path | None) -> None:
    """Print how many claims are reproduced, and where the figures are or how to get them."""
    console = Console(highlight=False)
    counts = Counter(finding.verdict for finding in findings)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    console.print(f"{len(findings)} claim{'s' if len(findings) != 1 else ''}: {words}.")
    if out is None:
        console.print("Add --out DIR for the figures and the results.")
    else:
        folders = "a folder for each" if n_items > 1 else "its folder"
        console.print(
            f"{escape(str(out))} has {folders}: figures, claims.json and the results of the runs.", soft_wrap=True
        )
