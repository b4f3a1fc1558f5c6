"""Pieces of HTML from text. All text from users is escaped here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MOST_ROWS = 24  # rows of a table without scrolling
LONG_CELL = 24  # letters of a cell before its text wraps
LONG = 10  # letters of a headline figure in the usual size


@dataclass(frozen=True)
class Section:
    """A section of the page: anchor, heading and HTML."""

    anchor: str
    title: str
    html: str


@dataclass(frozen=True)
class Content:
    """The contents of a page: its texts, the HTML of its sections, and data and scripts for the charts."""

    title: str
    lead: str
    sections: Sequence[Section]
    data: dict[str, Any]
    scripts: Sequence[str]
    styles: Sequence[str] = ()
    kicker: str = "VineSim report"
    closing: str = "This page is complete in itself: it loads nothing and sends nothing."
    connects: bool = False  # whether it connects to its own server


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    is_caption_seen: bool = True,
    has_texts: bool = False,
) -> str:
    """Build a table; the first cell of a row is its heading, the others are numbers, or texts if ``has_texts``."""
    texts = ' class="texts"' if has_texts else ""
    rows = list(rows)
    tall = " tall" if len(rows) > MOST_ROWS else ""
    hidden = "" if is_caption_seen else ' class="hidden"'
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    lines = [f'<tr><th scope="row">{escape(first)}</th>' + "".join(map(_cell, rest)) + "</tr>" for first, *rest in rows]
    label = escape(caption)
    head_and_body = f"<thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return (
        f'<div class="scroll{tall}" tabindex="0" role="group" aria-label="{label}"><table{texts}>'
        f"<caption{hidden}>{label}</caption>{head_and_body}</table></div>"
    )


def _cell(text: str) -> str:
    return f"<td{' class=name' * (len(text) > LONG_CELL)}>{escape(text)}</td>"


def figures(items: Iterable[tuple[str, str, str]]) -> str:
    """Build the list of headline figures from (name, value, remark)."""
    return f'<dl class="figures">{"".join(_figure(*item) for item in items)}</dl>'


def _figure(name: str, value: str, remark: str) -> str:
    size = ' class="long"' if len(value) > LONG else ""
    shown = f"<b{size}>{escape(value)}</b> <span>{escape(remark)}</span>"
    return f"<div><dt>{escape(name)}</dt><dd>{shown}</dd></div>"


def facts(items: Iterable[tuple[str, str]]) -> str:
    """Build a list of names and values, one per line."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items)
    return f'<dl class="facts">{lines}</dl>'


def counted(count: int, noun: str) -> str:
    """Format a number with its noun: 1 run, 2 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def note(text: str) -> str:
    """Build a remark next to what it is about."""
    return f'<p class="note">{escape(text)}</p>'


def notice(text: str) -> str:
    """Build a notice that the reader needs before the numbers."""
    return f'<p class="notice">{escape(text)}</p>'
