"""Tables in Markdown."""

from collections.abc import Iterable
from typing import Any


def table(titles: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table."""
    titles = list(titles)
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
