"""Pieces of HTML from text: everything that comes from a user is escaped here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, its HTML."""

    anchor: str
    title: str
    html: str


@dataclass(frozen=True)
class Content:
    """What a page says: texts as they are, HTML of its parts, data and scripts for what moves."""

    title: str
    lead: str
    sections: Sequence[Section]
    data: dict[str, Any]
    scripts: Sequence[str]


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, is_caption_seen: bool = True) -> str:
    """A table; the first cell of a row is its heading, the others are numbers."""
    hidden = "" if is_caption_seen else ' class="hidden"'
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    lines = [
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    ]
    return (
        f'<div class="scroll"><table><caption{hidden}>{escape(caption)}</caption><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def figures(items: Iterable[tuple[str, str, str]]) -> str:
    """The few numbers that matter: (name, value, remark) each."""
    return (
        '<dl class="figures">'
        + "".join(
            f"<div><dt>{escape(name)}</dt><dd><b>{escape(value)}</b> <span>{escape(remark)}</span></dd></div>"
            for name, value, remark in items
        )
        + "</dl>"
    )


def facts(items: Iterable[tuple[str, str]]) -> str:
    """Names and values, one a line."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in items)
    return f'<dl class="facts">{lines}</dl>'


def notice(text: str) -> str:
    """What the reader must know before the numbers."""
    return f'<p class="notice">{escape(text)}</p>'
