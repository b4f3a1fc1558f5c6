"""``vinesim reproduce``: run the experiments of the papers, judge their claims, draw their figures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.item_options import WithItemOptions
from vinesim.cli.terminal import output, say, warn


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
    """Return the items without those that need files that were not given, unless they are named; print which are left
    out."""
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


@contextmanager
def following(
    title: str, quiet: bool, out: Path | None
) -> Iterator[tuple[Callable[[Any], None], Callable[[str], None]]]:
    """Give a sweep its ``on_progress`` and ``on_message``: a bar on standard error with the runs done, on a
    terminal.

    On Ctrl-C, say that finished runs are kept in ``out``, and exit with code 130.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from vinesim.cli.console import Console

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"))
    bar = Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet or not console.is_terminal
    )
    shown = bar.add_task(title, total=None)

    def on_progress(progress: Any) -> None:
        bar.update(shown, completed=progress.n_done, total=progress.n_runs)

    def on_message(text: str) -> None:
        if not quiet:
            console.print(f"vinesim: {text}", style="dim")

    with bar:
        try:
            yield on_progress, on_message
        except KeyboardInterrupt:
            bar.stop()
            kept = "" if out is None else f"; finished runs are in {out}, repeat the command to continue"
            warn(f"stopped{kept}")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
