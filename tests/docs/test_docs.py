"""The documentation is run: every example on a page in order, in one folder and one namespace, and its output compared.

``python`` blocks are executed; a ``text`` block right after one is what it prints. The ``$ vinesim`` commands of
``console`` blocks are run; what stands below a command is what it prints. ``...`` stands for anything, and so do times
of this machine. A code block with a ``:caption:`` is a file. Before a block, ``<!-- exit: 2 -->`` names the exit code
that its last command must have, ``<!-- needs: X -->`` a package without which it is passed over, and
``<!-- not run -->`` says that it is only shown.
"""

import contextlib
import importlib.util
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vinesim.engine import engine_choice
from vinesim.live.journal import VERSION
from vinesim.plans.record import FORMAT

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if not {"generated", "_build"} & set(p.parts))]
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
_DEMO = [
    command.removeprefix("$(BIN)/")
    for command in re.findall(r"^\t(\S+/vinesim .*)$", (ROOT / "Makefile").read_text(), re.M)
]
_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n+)?```(?P<kind>[^\n]+)\n(?P<options>(?::\w+:[^\n]*\n)*)\n?(?P<body>.*?)^```$",
    re.M | re.S,
)
_LINK = re.compile(r"(?<!`)\]\(([^)\s#]+)(#[^)\s]*)?\)")

CODE_COLUMNS = 102  # that fit the page in a window of 1400 pixels: see docs/_static/pages.css
_MACHINE = re.compile(r"simulated in .*|wrote .* in .*")


class Block(NamedTuple):
    kind: str
    body: str
    note: str
    caption: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        caption = re.search(r":caption: (\S+)", found["options"] or "")
        kind = found["kind"].replace("{code-block}", "").strip()
        line = text.count("\n", 0, found.start("body")) + 1
        yield Block(kind, found["body"], found["note"] or "", caption[1] if caption else "", line)


def matches(expected: str, actual: str) -> bool:
    """Whether the output is as the page shows it, but for spaces, ``...`` and what depends on the machine."""

    def lines(text: str) -> str:
        kept = (" ".join(line.split()) for line in text.splitlines())
        return " ".join(_MACHINE.sub("...", line) for line in kept if line.strip("─━ "))

    pattern = re.escape(lines(expected)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, lines(actual), re.S) is not None


def run_command(words: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a vinesim command, run in this process."""
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = words
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            warnings.simplefilter("default")
            code = report_errors(app)
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def run_make_demo() -> tuple[int, str, str]:
    """What the commands of ``make demo`` print, the first exit code that is not 0, and the errors."""
    ran = [run_command(shlex.split(command)) for command in _DEMO]
    codes, out, err = zip(*ran, strict=True)
    return next((code for code in codes if code), 0), "".join(out), "".join(err)


def run_console(block: Block, where: str) -> None:
    parts = re.split(r"^\$ ", block.body.replace("\\\n", " "), flags=re.M)[1:]
    commands = [part.partition("\n") for part in parts if part.startswith(("vinesim ", "make demo"))]
    wanted = int(block.note.removeprefix("exit: ")) if block.note.startswith("exit: ") else 0
    for i, (command, _, expected) in enumerate(commands):
        code, out, err = run_make_demo() if command == "make demo" else run_command(shlex.split(command))
        assert code == (wanted if i == len(commands) - 1 else 0), f"{where}: $ {command}\n{out}{err}"
        if expected.strip():
            actual = out if code == 0 else out + err
            assert matches(expected, actual), f"{where}: $ {command}\nthe page shows\n{expected}\nit printed\n{actual}"


def run_python(block: Block, names: dict[str, object], where: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (block.line - 1) + block.body, where.partition(":")[0], "exec"), names)
    return out.getvalue()


SLOW = {  # pages whose examples take a minute or more, and why
    "data_placement": "sweeps of the report's studies",
    "energy_placement": "batches of thousands of servers",
    "howto/energy_latency": "a sweep with long runs",
    "howto/optimal": "a solver looks for schedules",
    "rbss": "sweeps of the paper's nodes",
    "howto/reproduce": "reproduces figures",
    "symphony": "minutes of requests, many times",
}


SOON_S = 1.0  # pages share policies, so they compile sooner; but slurm takes longer than all runs of its pages


def marked(page: Path) -> Any:
    """The page; marked where it takes long."""
    why = [reason for name, reason in SLOW.items() if name in str(page.relative_to(ROOT))]
    return pytest.param(page, marks=pytest.mark.slow(reason=why[0]) if why else (), id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    for name in ("COMPILE_S", "FURTHER_S"):
        monkeypatch.setattr(engine_choice, name, math.inf if "slurm" in page.read_text() else SOON_S)
    names: dict[str, object] = {"__name__": "docs"}
    printed = None
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.note == "not run" or (
            block.note.startswith("needs: ") and not importlib.util.find_spec(block.note.removeprefix("needs: "))
        ):
            printed = None
            continue
        if block.caption:
            Path(block.caption).parent.mkdir(parents=True, exist_ok=True)
            Path(block.caption).write_text(block.body)
        elif block.kind == "python":
            printed = run_python(block, names, where)
            continue
        elif block.kind == "console":
            run_console(block, where)
        elif block.kind == "text" and printed is not None:
            assert matches(block.body, printed), f"{where}: the page shows\n{block.body}\nit printed\n{printed}"
        printed = None
    assert os.getcwd() == str(tmp_path)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_local_links_lead_somewhere(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text())
    for target, place in _LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            path = Path(os.path.normpath(page.parent / target))
            assert path.exists(), f"{page.relative_to(ROOT)} links to {target}: there is no such file"
            found = not place or path.suffix != ".md" or place[1:] in places(path)
            assert found, f"{page.relative_to(ROOT)} links to {target}{place}: the page has no such heading"


def places(page: Path) -> set[str]:
    """What a link can name on a page: its labels, and its headings in the form that they have in a link."""
    text = _BLOCK.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\((\S+)\)=$", text, re.M))


def test_the_generated_reference_is_that_of_the_code(tmp_path: Path) -> None:
    """`make docs` writes these pages; whoever changes what they show commits them with it."""
    subprocess.run([sys.executable, DOCS / "generate.py", tmp_path], check=True)
    kept = DOCS / "reference" / "generated"
    assert {file.name for file in kept.iterdir()} == {file.name for file in tmp_path.iterdir()}
    stale = [file.name for file in tmp_path.iterdir() if file.read_text() != (kept / file.name).read_text()]
    assert not stale, f"run `make docs` and commit docs/reference/generated: {', '.join(sorted(stale))}"
    assert all(file.stat().st_size > 500 for file in tmp_path.iterdir())
    (events,) = re.findall(r"^`view.event` is one of: ([^.]*)\.", (tmp_path / "queries.md").read_text(), re.M)
    assert [event.split()[1] for event in events.split(", ")] == ["FINISH", "ARRIVAL", "TIMER", "OUTAGE"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_is_not_wider_than_the_page(page: Path) -> None:
    wide = [
        f"{page.relative_to(ROOT)}:{block.line + i}: {len(line)} columns"
        for block in blocks(page)
        for i, line in enumerate(block.body.splitlines())
        if len(line) > CODE_COLUMNS
    ]
    assert not wide


def test_every_page_is_in_the_table_of_contents() -> None:
    written = {page.with_suffix("") for page in PAGES if DOCS in page.parents} - {DOCS / "index"}
    listed = {
        page.parent / name
        for page in PAGES
        for block in blocks(page)
        if block.kind == "{toctree}"
        for name in block.body.split()
    }
    assert written <= listed


def test_the_overview_of_performance_quotes_the_pages_that_it_links_to() -> None:
    overview = DOCS / "explanation" / "performance.md"
    rows = re.findall(r"^\|.*\| (.*) \| (.*) \| \[.*\]\((\S+)\) \|$", overview.read_text(), re.M)
    figures = {(page, figure) for *cells, page in rows for cell in cells for figure in re.findall(r"\d+[.,]\d+", cell)}
    assert len(figures) > 10
    missing = [(page, figure) for page, figure in figures if figure not in (overview.parent / page).read_text()]
    assert not missing


def test_make_demo_runs_a_study_and_writes_a_page() -> None:
    assert [command.split()[1] for command in _DEMO] == ["sweep", "report"]


def test_the_policy_of_the_readme_is_the_example() -> None:
    (policy,) = (block.body for block in blocks(ROOT / "README.md") if block.kind == "python")
    assert policy in (ROOT / "examples" / "my_policy.py").read_text()


def test_the_page_on_stability_says_the_versions_of_formats() -> None:
    text = (ROOT / "docs/reference/stability.md").read_text(encoding="utf-8")
    assert f"| `format`, now {FORMAT} |" in text
    assert f"| a number in the file, now {VERSION} |" in text
