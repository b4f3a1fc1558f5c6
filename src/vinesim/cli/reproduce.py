"""``vinesim reproduce``: run the experiments of the papers, judge their claims, draw their figures."""

from pathlib import Path
from typing import Any

import typer

from vinesim.cli.item_options import WithItemOptions
from vinesim.cli.terminal import output, say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce", cls=WithItemOptions)(reproduce)


def reproduce(
    ctx: typer.Context,
    ids: list[str] = typer.Argument(
        None,
        metavar="ID...",
        help="Such as fig11, table4, text; a paper: vinesim; or the folder of your own paper.",
    ),
    as_list: bool = typer.Option(False, "--list", help="List what can be reproduced."),
    every: bool = typer.Option(False, "--all", help="Reproduce all papers."),
    as_json: bool = typer.Option(False, "--json", help="Print the claims as JSON and nothing else."),
    out: Path = typer.Option(None, metavar="DIR", help="Write claims, figures and numbers to one folder per ID."),
    workers: int = typer.Option(None, metavar="N", help="Number of processes; default: as many as are worthwhile."),
) -> None:
    """Reproduce figures, tables and statements of the papers: run the experiments and judge every claim."""
    from vinesim.model.errors import InputError, Problem
    from vinesim.reproduction.registry import chosen, items

    if as_list:
        _print_list(list(items().values()) if not ids else chosen(ids), as_json)
        return
    if every == bool(ids):
        found = "both" if every else "neither"
        raise InputError(
            [Problem("vinesim reproduce", "IDs, or --all", found, "`vinesim reproduce --list` lists them.")]
        )
    if workers is not None and workers < 1:
        raise InputError([Problem("--workers", "at least 1", f"{workers}")])
    wanted = list(items().values()) if every else chosen(ids)
    _reproduce(_with_files(wanted, ids or [], ctx.obj), as_json, out, workers, ctx.obj)


def _with_files(wanted: list[Any], named: list[str], given: dict[str, Any]) -> list[Any]:
    """Return the items without those that need files of which none is given, unless they are named; say which."""
    from vinesim.reproduction.inputs import files_of

    found = []
    for item in wanted:
        files = files_of(item)
        if files and item.id not in named and not any(file.name in given for file in files):
            say(f"{item.id} is left out: it needs {' and '.join(file.option for file in files)}", err=True)
        else:
            found.append(item)
    return found


def _reproduce(wanted: list[Any], as_json: bool, out: Path | None, workers: int | None, given: dict[str, Any]) -> None:
    from vinesim.cli.claims import print_hint, print_report
    from vinesim.cli.claims_progress import following
    from vinesim.reproduction.inputs import inputs_of
    from vinesim.reproduction.reproduce import prepare, reproduce, to_json

    inputs = inputs_of(wanted, given)
    if out is not None:
        for item in wanted:
            prepare(out, item)
    judged: list[Any] = []
    made: dict[Path, Any] = {}  # shared, because items share studies
    for number, item in enumerate(wanted, 1):
        with following(f"{item.id} ({number} of {len(wanted)})", quiet=as_json, out=out) as (on_progress, on_message):
            report = reproduce(
                item,
                out,
                workers=workers,
                on_progress=on_progress,
                on_message=on_message,
                made=made,
                inputs=inputs[item.id],
            )
        judged += report.judged
        if not as_json:
            print_report(report)
    if as_json:
        output().write(to_json(judged))
    else:
        print_hint(judged, len(wanted), out)


def _print_list(wanted: list[Any], as_json: bool) -> None:
    if as_json:
        import json

        from vinesim.reproduction.claim import Kind

        counts = {"claims": Kind.CLAIM, "findings": Kind.FINDING, "given": Kind.GIVEN}
        rows = [
            {"id": i.id, "paper": i.paper, "title": i.title}
            | {name: len(i.of_kind(kind)) for name, kind in counts.items()}
            for i in wanted
        ]
        output().write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    else:
        from vinesim.cli.claims import print_items

        print_items(wanted)
