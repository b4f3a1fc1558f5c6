"""Print the papers' claims on a terminal: each with its rule and its note, one kind after another."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from vinesim.cli.console import Console
from vinesim.cli.terminal import visible
from vinesim.reproduction.claim import Judged, Kind, Verdict
from vinesim.reproduction.item import Item
from vinesim.reproduction.reproduce import Report

COLORS = {Verdict.REPRODUCED: "green", Verdict.PARTLY: "yellow", Verdict.NOT: "bold red"}
TITLES = {
    Kind.CLAIM: "",
    Kind.FINDING: "VineSim's own findings, which are not in the paper",
    Kind.GIVEN: "Given: inputs of the experiments and arithmetic on them, compared with the printed values",
}
SHOWN = ("expected", "measured", "rule", "note", "other_reading")  # parts of a row, below its statement


def print_items(items: Sequence[Item]) -> None:
    """Print the items that can be reproduced."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("id", "paper", "title"):
        table.add_column(title)
    for kind in Kind:
        table.add_column(_plural(kind), justify="right")
    for item in items:
        counts = [str(len(item.of_kind(kind)) or "") for kind in Kind]
        table.add_row(item.id, item.paper, item.title, *counts)
    Console().print(table)


def print_report(report: Report) -> None:
    """Print the claims of an item, each with its measurement and the rule that judges it, and the files written."""
    console = Console()
    console.print(f"{report.item.id}: {report.item.title}", style="bold")
    for kind, title in TITLES.items():
        of_kind = [judged for judged in report.judged if judged.claim.kind is kind]
        if of_kind and title:
            console.print()
            console.print(title, style="bold")
        for judged in of_kind:
            console.print()
            console.print(_block(judged))
    for path in report.files:
        if path.suffix != ".json":
            console.print(f"  wrote {path}", soft_wrap=True)
    console.print()


def _block(judged: Judged) -> Table:
    """Format a claim: its id and statement, then what was expected and measured, and when it holds."""
    block = Table.grid(padding=(0, 2, 0, 0))
    block.add_column(no_wrap=True, min_width=max(len(key) for key in SHOWN))
    block.add_column(ratio=1)
    row = judged.row()
    block.add_row(Text(visible(row["claim"]), "bold"), row["statement"])
    block.add_row("verdict", Text(judged.verdict, COLORS[judged.verdict]))
    for key in SHOWN:
        if key in row:
            block.add_row(key.replace("_", " "), row[key])
    return block


def print_hint(judged: Sequence[Judged], n_items: int, out: Path | None) -> None:
    """Print how many claims of each kind have which verdict, and where the figures are or how to get them."""
    console = Console()
    for line in counted(judged):
        console.print(line)
    if out is None:
        console.print("Add --out DIR to get the figures and the results.")
    else:
        folders = "a folder for each" if n_items > 1 else "its folder"
        console.print(f"{out} has {folders}: claims.json, and any figures, tables and sweeps.", soft_wrap=True)


def counted(judged: Iterable[Judged]) -> list[str]:
    """Return one line per kind present: how many claims, and how many with each verdict."""
    lines = []
    verdicts = {kind: Counter[Verdict]() for kind in Kind}
    for of in judged:
        verdicts[of.claim.kind][of.verdict] += 1
    for kind, counts in verdicts.items():
        if counts:
            words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
            lines.append(f"{counts.total()} {_plural(kind, counts.total())}: {words}.")
    return lines


def _plural(kind: Kind, n: int = 2) -> str:
    return kind.value if kind is Kind.GIVEN or n == 1 else f"{kind}s"
