"""The list of mutations, from what ``python -m verification.mutations --write`` found."""

import json
from pathlib import Path
from typing import Any

from markdown_table import table

MUTATIONS = Path(__file__).with_name("mutations.json")


def mutations() -> str:
    """The score, every mutation, the tests that were added, and why some cannot be seen.

    A part of the page on verification, not its own page.
    """
    rows = json.loads(MUTATIONS.read_text())
    counts = [[area, *_counts([row for row in rows if row["area"] == area])] for area in _areas(rows)]
    counts.append(["all", *_counts(rows)])
    titles = ("area", "mutations", "caught at first", "caught by tests that were added", "equivalent")
    text = [table(titles, counts).rstrip()]
    for area in _areas(rows):
        cells = [
            [", ".join(f"`{file}`" for file in row["files"]), row["meaning"], _outcome(row)]
            for row in rows
            if row["area"] == area
        ]
        text += [f"### {area.capitalize()}", table(("in", "what is wrong then", "caught"), cells).rstrip()]
    return "\n\n".join(text)


def _areas(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["area"] for row in rows))


def _counts(rows: list[dict[str, Any]]) -> list[int]:
    added, equivalent = (sum(bool(row[name]) for row in rows) for name in ("added", "equivalent"))
    return [len(rows), len(rows) - added - equivalent, added, equivalent]


def _outcome(row: dict[str, Any]) -> str:
    if row["equivalent"]:
        return f"equivalent: {row['equivalent']}"
    if row["added"]:
        names = [test.rpartition("::")[2] for test in row["added"].split()]
        return "added: " + ", ".join(f"`{name}`" for name in names)
    return "at first"
