"""``vinesim reproduce``: run the experiments of the papers, judge their claims, draw their figures."""

import sys
from pathlib import Path
from typing import Any

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    ids: list[str] = typer.Argument(None, metavar="ID...", help="Such as fig11, table4, text; or a paper: vinesim."),
    as_list: bool = typer.Option(False, "--list", help="List what can be reproduced."),
    every: bool = typer.Option(False, "--all", help="Reproduce all papers."),
    as_json: bool = typer.Option(False, "--json", help="Print the claims as JSON and nothing else."),
    out: Path = typer.Option(None, metavar="DIR", help="Write figures, claims and results to one folder per ID."),
    workers: int = typer.Option(None, metavar="N", help="Number of processes; default: as many as are worthwhile."),
    nodes: Path = typer.Option(None, metavar="FILE", help="fgd: the nodes of the trace, CSV."),
    pods: Path = typer.Option(None, metavar="FILE", help="fgd: its pods, CSV."),
    seeds: int = typer.Option(None, metavar="N", help="fgd: number of seeds; default: 3."),
) -> None:
    """Reproduce figures, tables and statements of the papers: run the experiments and judge every claim."""
    from vinesim.model.errors import InputError, Problem
    from vinesim.papers.registry import chosen, items

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
    inputs = {name: path for name, path in (("nodes", nodes), ("pods", pods)) if path is not None}
    wanted = list(items().values()) if every else chosen(ids)
    if every and not inputs:
        for item in (item for item in wanted if item.inputs):
            files = " and ".join(f"--{name} FILE" for name in item.inputs)
            typer.echo(f"{item.id} is left out: it needs {files}", err=True)
        wanted = [item for item in wanted if not item.inputs]
    _reproduce(wanted, as_json, out, workers, inputs, seeds)


def _reproduce(
    wanted: list[Any], as_json: bool, out: Path | None, workers: int | None, inputs: dict[str, Path], seeds: int | None
) -> None:
    from vinesim.cli.claims import print_hint, print_report
    from vinesim.cli.claims_progress import following
    from vinesim.papers.reproduce import check_inputs, prepare, reproduce, to_json

    takes_files = any(item.inputs for item in wanted)
    options: dict[str, dict[str, Any]] = {  # files for one item of several are no mistake; files for none are
        item.id: {"inputs": inputs, "seeds": seeds} if item.inputs or not takes_files else {} for item in wanted
    }
    for item in wanted:
        check_inputs(item, options[item.id].get("inputs", {}), options[item.id].get("seeds"))
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
                **options[item.id],
            )
        judged += report.judged
        if not as_json:
            print_report(report)
    if as_json:
        sys.stdout.write(to_json(judged))
    else:
        print_hint(judged, len(wanted), out)


def _print_list(wanted: list[Any], as_json: bool) -> None:
    if as_json:
        import json

        from vinesim.papers.claim import Kind

        counts = {"claims": Kind.CLAIM, "findings": Kind.FINDING, "given": Kind.GIVEN}
        rows = [
            {"id": i.id, "paper": i.paper, "title": i.title}
            | {name: len(i.of_kind(kind)) for name, kind in counts.items()}
            for i in wanted
        ]
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    else:
        from vinesim.cli.claims import print_items

        print_items(wanted)
