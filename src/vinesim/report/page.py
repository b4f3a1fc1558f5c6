"""Write a page as one file with text, style, scripts and data. Its security policy forbids loading anything else."""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from pathlib import Path

from vinesim.formats.source.files import replacing
from vinesim.model.version import VERSION
from vinesim.report.markup import Content

FIRST = ("base.js", "chart.js")


def write_page(content: Content, output: str | Path) -> int:
    """Write a page; return its size in bytes. Raises :class:`~vinesim.model.errors.InputError` if it cannot be
    written."""
    page = render(content).encode(errors="replace")  # names of files may not be valid text
    with replacing(output) as draft:
        draft.write_bytes(page)
    return len(page)


def render(content: Content) -> str:
    """Return the page as HTML."""
    style = "".join(map(_asset, ("uPlot.min.css", "page.css", *content.styles)))
    library = f"/*\n{_asset('uPlot.LICENSE.txt')}*/\n{_asset('uPlot.iife.min.js')}"
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, (*FIRST, *content.scripts))) + "\n})();\n"
    parts = {
        "policy": _policy(style, (library, script), content.connects),
        "kicker": escape(content.kicker),
        "closing": escape(content.closing),
        "title": escape(content.title),
        "lead": escape(content.lead),
        "version": escape(VERSION),
        "style": style,
        "library": library,
        "script": script,
        "links": "".join(f'<li><a href="#{s.anchor}">{escape(s.title)}</a></li>' for s in content.sections),
        "sections": "\n".join(
            f'<section id="{s.anchor}" aria-labelledby="{s.anchor}-title">'
            f'<h2 id="{s.anchor}-title">{escape(s.title)}</h2>{s.html}</section>'
            for s in content.sections
        ),
        "data": _json(content.data),
    }
    return re.sub(r"{{(\w+)}}", lambda found: parts[found[1]], _asset("template.html"))


def policy_of(page: str) -> str:
    """Return the security policy of a page as a server's header, which also forbids frames of other pages."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    return f"{found[1]}; frame-ancestors 'none'"


def _policy(style: str, scripts: tuple[str, ...], connects: bool) -> str:
    """Return the security policy: only the page's own content, and, if it ``connects``, answers of its own server."""
    known = " ".join(f"'{_hash(script)}'" for script in scripts)
    own = " connect-src 'self';" if connects else ""
    return (
        f"default-src 'none'; script-src {known}; style-src '{_hash(style)}';{own} img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _asset(name: str) -> str:
    return files("vinesim.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the page's security policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _json(data: object) -> str:
    """Return JSON that cannot close the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
