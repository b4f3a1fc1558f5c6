"""Pieces of HTML from text. All text from users is escaped here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


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
    connects: bool = False  # to the server that it comes from


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
    hidden = "" if is_caption_seen else ' class="hidden"'
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    lines = [
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    ]
    return (
        f'<div class="scroll"><table{texts}><caption{hidden}>{escape(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def figures(items: Iterable[tuple[str, str, str]]) -> str:
    """Build the list of headline figures from (name, value, remark)."""
    return (
        '<dl class="figures">'
        + "".join(
            f"<div><dt>{escape(name)}</dt><dd><b>{escape(value)}</b> <span>{escape(remark)}</span></dd></div>"
            for name, value, remark in items
        )
        + "</dl>"
    )


def facts(items: Iterable[tuple[str, str]]) -> str:
    """Build a list of names and values, one per line."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items)
    return f'<dl class="facts">{lines}</dl>'


def note(text: str) -> str:
    """Build a remark below or above what it is about."""
    return f'<p class="note">{escape(text)}</p>'


def notice(text: str) -> str:
    """Build a notice that the reader needs before the numbers."""
    return f'<p class="notice">{escape(text)}</p>'
