"""Write a page as one file with text, style, scripts and data, which loads nothing from the network, by policy."""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from pathlib import Path

from vinesim.formats.results.folder import SUMMARY
from vinesim.formats.source.files import replacing
from vinesim.model.errors import InputError, Problem
from vinesim.model.version import VERSION
from vinesim.report.markup import Content

FIRST = ("base.js", "chart.js")


def write_report(folder: str | Path, output: str | Path, other: str | Path | None = None) -> int:
    """Write the page about a run or a sweep, or about two of them; return its size in bytes.

    Raises :class:`~vinesim.model.errors.InputError` if the folder holds neither, if something in it is damaged, or if
    the page cannot be written.
    """
    text = render(_content(Path(folder)) if other is None else _of_two(Path(folder), Path(other)))
    page = text.encode(errors="replace")  # names of files may not be text
    with replacing(output) as draft:
        draft.write_bytes(page)
    return len(page)


def _is_sweep(folder: Path) -> bool:
    return (folder / "study.yaml").exists() and not (folder / SUMMARY).exists()


def are_sweeps(first: Path, second: Path) -> bool:
    """Whether two folders are of sweeps, not of runs. Raises :class:`InputError` if they differ in that."""
    kinds = {_is_sweep(first), _is_sweep(second)}
    if len(kinds) > 1:
        found = ", ".join(f"{folder}: a {'sweep' if _is_sweep(folder) else 'run'}" for folder in (first, second))
        raise InputError([Problem("the folders", "two runs or two sweeps", found)])
    return True in kinds


def _of_two(first: Path, second: Path) -> Content:
    if are_sweeps(first, second):
        from vinesim.report.two_sweeps import two_sweeps_page

        return two_sweeps_page(first, second)
    from vinesim.report.two_runs import two_runs_page

    return two_runs_page(first, second)


def _content(folder: Path) -> Content:
    if _is_sweep(folder):
        if not (folder / "runs").is_dir():
            expected, found = "the folder of a run or of a sweep", "a study.yaml without runs/ next to it"
            raise InputError([Problem(str(folder), expected, found, "vinesim sweep STUDY.yaml --out DIR writes one.")])
        from vinesim.report.sweep import sweep_page

        return sweep_page(folder)
    from vinesim.report.run import run_page

    return run_page(folder)


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
    """Return the security policy of a page, for the header of a server; no other page may show it in a frame."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    return f"{found[1]}; frame-ancestors 'none'"


def _policy(style: str, scripts: tuple[str, ...], connects: bool) -> str:
    """Return the security policy: only what stands in the page, and what its own server answers if it ``connects``."""
    known = " ".join(f"'{_hash(script)}'" for script in scripts)
    own = " connect-src 'self';" if connects else ""
    return (
        f"default-src 'none'; script-src {known}; style-src '{_hash(style)}';{own} img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _asset(name: str) -> str:
    return files("vinesim.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the name of an inline script or style in the page's security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _json(data: object) -> str:
    """Return JSON that cannot close the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
