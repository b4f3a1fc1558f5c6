"""``vinesim backtest``: what a policy predicts, against what happened."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.terminal import output, say

if TYPE_CHECKING:
    from rich.table import Table

    from vinesim.model.scenario import Scenario
    from vinesim.studies.backtest import Backtest
    from vinesim.studies.waterfall import Waterfall

WHAT, RESULT = "backtest", "backtest.json"  # in origin.json, and the file with all of it
REPLICATIONS = 10
WIDTH = 80
MOST_GROUPS = 12  # shown of each kind, those with most jobs
RANGE = {"lowest": "low_s", "highest": "high_s"}  # of the runs
WHOLE_S = 1000.0  # from here on seconds have no decimals
TEXTS = ("", "job", "group", "of", "why")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backtest")(backtest)


def backtest(
    file: Path = typer.Argument(
        ...,
        metavar="SITE",
        help="An imported scenario whose jobs have their actual starts; or the folder of a back-test to repeat.",
    ),
    replications: int = typer.Option(
        None, min=1, help=f"Number of runs, with different seeds; {REPLICATIONS} by default, 1 if all are equal."
    ),
    policy: str = typer.Option(None, help="Test this policy instead of the scenario's."),
    overrides: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a key, as for vinesim run."),
    waterfall: bool = typer.Option(False, "--waterfall", help="Also switch off each mechanism of the model in turn."),
    folder: Path = typer.Option(None, "--out", metavar="DIR", help="Write everything needed to repeat it to a folder."),
    written: Path = typer.Option(None, "-o", "--output", metavar="FILE.json", help="Write all of it to one file."),
    page: Path = typer.Option(None, "--page", metavar="FILE", help="Write a page for a browser."),
    as_json: bool = typer.Option(False, "--json", help="Print all of it as JSON and nothing else."),
) -> None:
    """Compare the waits that a policy predicts with those that happened."""
    from vinesim.cli.run_source import of_source
    from vinesim.formats.results.folder import SCENARIO
    from vinesim.formats.scenario.file import read_source
    from vinesim.formats.source.files import replacing
    from vinesim.studies.backtest_record import write_record
    from vinesim.studies.origin import keeping, read_origin

    changes = [*overrides, *([f"policy={policy}"] if policy else [])]
    is_again = file.is_dir()
    given: dict[str, Any] = {"replications": REPLICATIONS, "waterfall": False}
    if is_again:
        _check_source(file)
        origin = read_origin(file, WHAT)
        given, file = {name: origin[name] for name in given}, file / SCENARIO
    replications, waterfall = replications or given["replications"], waterfall or given["waterfall"]
    if folder is not None:
        _check_target(folder)
    source = read_source(file, changes)
    asked = {"replications": replications, "waterfall": waterfall}
    request = of_source(source, file.parent)
    with keeping(request.document, request.folder, folder, WHAT, **asked) as keep:
        found, steps, document = back_tested(request.scenario, replications, waterfall)
        if folder is not None:
            keep(folder)
    text, pages = json.dumps(document, indent=2) + "\n", [page] if page is not None else []
    files = [written] if written is not None else []
    if folder is not None:
        files.append(folder / RESULT)
        pages.append(folder / "backtest.html")
    for each in files:
        with replacing(each) as draft:
            draft.write_text(text, encoding="utf-8")
    stored = None if changes or is_again else write_record(found, source.data, file.parent)
    for target in pages:
        from vinesim.pages.backtest import write_backtest_page

        write_backtest_page(target, found, steps, file.stem)
    if as_json:
        output().write(text)
        return
    print_backtest(document)
    if stored is not None:
        say("Sweeps, comparisons and plans of these jobs will say this error.")
    for each in (*([] if stored is None else [stored]), *files, *pages):
        say(f"wrote {each}")


def back_tested(
    scenario: "Scenario", replications: int, waterfall: bool
) -> "tuple[Backtest, Waterfall | None, dict[str, Any]]":
    """Run a back-test of a scenario; return it, its waterfall if one is asked for, and both as JSON has them."""
    from vinesim.cli.progress import working
    from vinesim.studies.backtest import backtest as back_test
    from vinesim.studies.waterfall import waterfall as fall

    with working("running"):
        found = back_test(scenario, replications)
        steps = fall(scenario, found, replications) if waterfall else None
    return found, steps, found.as_document() | ({} if steps is None else {"waterfall": steps.as_document()})


def _check_source(folder: Path) -> None:
    """Raise :class:`InputError` for the folder of a site, which is to be imported first."""
    from vinesim.formats.results.folder import ORIGIN
    from vinesim.model.errors import InputError, Problem

    if not (folder / ORIGIN).exists():
        expected, remedy = "a scenario, or the folder of a back-test", f"vinesim import slurm {folder} -o site.parquet"
        found = f"a folder without {ORIGIN}"
        raise InputError([Problem(str(folder), expected, found, f"Import the files of a site first: {remedy}")])


def _check_target(folder: Path) -> None:
    """Raise :class:`InputError` unless a back-test can be written there: a new name, an empty folder or an old one."""
    from vinesim.model.errors import InputError, Problem

    if folder.suffix == ".json" or (folder.exists() and not folder.is_dir()):
        raise InputError([Problem(f"--out {folder}", "a folder", "a file", "Write one file with --output FILE.json.")])
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RESULT).is_file():
        expected = "a new or empty folder, or only an old back-test"
        raise InputError([Problem(f"--out {folder}", expected, "other files", "Choose another name.")])


def print_backtest(found: dict[str, Any]) -> None:
    """Print a back-test for people, in 80 columns."""
    from vinesim.cli.console import Console

    console = Console(width=min(Console().width, WIDTH))
    runs = f"{found['replications']:,} run{'s' * (found['replications'] != 1)}"
    console.print(f"{found['jobs']:,} of {found['jobs_started']:,} jobs, {runs}")
    console.print(_overall(found))
    console.print(f"A job is off by {_s(found['error_s'])} s in the mean{_in_single_runs(found)}.")
    console.print(f"Order of the starts: rank correlation {found['order']:.3f}")
    console.print(_groups(found["groups"]))
    if not found["is_dated"]:
        console.print("Hours and days count from the beginning of the log, which has no date.")
    console.print(_furthest(found["furthest"]))
    if "waterfall" in found:
        console.print(_waterfall(found["waterfall"]))
        console.print(found["waterfall"]["words"])
    console.print(found["trust"])


def _table(title: str, *columns: str) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in TEXTS else "right", overflow="ellipsis")
    return table


def _overall(found: dict[str, Any]) -> "Table":
    table = _table("Waits, s", "", *found["actual_s"])
    for name in ("actual", "predicted"):
        table.add_row(name, *map(_s, found[f"{name}_s"].values()))
    return table


def _s(value: float | None) -> str:
    """Return seconds rounded to the digits that mean something."""
    return "-" if value is None else f"{value:,.1f}" if abs(value) < WHOLE_S else f"{value:,.0f}"


def _in_single_runs(found: dict[str, Any]) -> str:
    """Say how far single runs are off, and from each other, where there are several, or why there is only one."""
    if not found["is_random"]:
        return "; another seed would give the same run"
    if found["band_s"] is None:
        return ""
    if found["band_s"] == 0.0:
        return "; all runs are equal"
    return f", in a single run by {_s(found['error_of_one_s'])} s; two runs differ by {_s(found['band_s'])} s"


def _groups(rows: list[dict[str, Any]]) -> "Table":
    has_range = any(row["low_s"] < row["high_s"] for row in rows)
    names = {"actual": "actual_s", "predicted": "predicted_s"} | (RANGE if has_range else {})
    table = _table("Mean waits by group, s", "", "group", "jobs", *names, "outside")
    for by in dict.fromkeys(row["by"] for row in rows):
        mine = [row for row in rows if row["by"] == by]
        jobs = [-row["jobs"] for row in mine]
        for place, i in enumerate(sorted(sorted(range(len(mine)), key=jobs.__getitem__)[:MOST_GROUPS])):
            row = mine[i]
            values = (_s(row[name]) for name in names.values())
            name = row["group"] or "none"
            table.add_row("" if place else by, name, f"{row['jobs']:,}", *values, "" if row["is_near"] else "!")
        if len(mine) > MOST_GROUPS:
            table.add_row("", f"{len(mine) - MOST_GROUPS:,} more", "", *("" for _ in names), "")
    return table


def _furthest(rows: list[dict[str, Any]]) -> "Table":
    from vinesim.studies.backtest import owner_of

    has_of = any(map(owner_of, rows))
    table = _table("Furthest off, s", "job", "actual", "predicted", "CPUs", *(["of"] if has_of else []), "why")
    for row in rows:
        waits = (f"{row[name]:,.0f}" for name in ("actual_s", "predicted_s"))
        table.add_row(str(row["job_id"]), *waits, row.get("CPUs", ""), *([owner_of(row)] if has_of else []), row["why"])
    return table


def _waterfall(found: dict[str, Any]) -> "Table":
    table = _table("Without each mechanism: how far the mean job is off, s", "", "off by", "more", "mean wait")
    table.add_row("the model", _s(found["error_s"]), "", "")
    for row in found["without"]:
        table.add_row(f"without {row['mechanism']}", *_shown(row))
    table.add_row("without any", _s(found["error_without_any_s"]), "", "")
    return table


def _shown(row: dict[str, Any]) -> list[str]:
    more_s = row["contributes_s"]
    sign = "+" if more_s is not None and more_s >= 0 else ""
    return [_s(row["error_s"]), sign + _s(more_s), _s(row["mean_s"])]
