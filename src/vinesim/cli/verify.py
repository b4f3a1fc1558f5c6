"""``vinesim verify``: repeat what a folder holds and compare it bit for bit."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import typer

from vinesim.cli.terminal import output, say

Found = tuple[str, list[str]]  # what was compared, in words, and the differences


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder of a run, a sweep, a plan or a back-test."),
    workers: int = typer.Option(None, metavar="N", help="Worker processes of a sweep or plan; default: one per core."),
    as_json: bool = typer.Option(False, "--json", help="Print the differences as JSON and nothing else."),
) -> None:
    """Repeat the runs in a folder and compare every number with the stored one, bit for bit."""
    from vinesim.cli.exit_codes import ExitCode
    from vinesim.formats.results.folder import to_json
    from vinesim.studies.origin import read_origin

    what = read_origin(folder)["what"]
    kinds: dict[str, Callable[[Path, int | None], Found]] = {"run": _run, "sweep": _sweep, "plan": _plan}
    kinds["backtest"] = _backtest
    words, differences = kinds[what](folder, workers)
    if as_json:
        found = {"folder": str(folder), "what": what, "compared": words, "differences": differences}
        output().write(to_json(found))
    else:
        for text in differences:
            say(text)
        n = len(differences)
        result = f"{n} difference{'s' * (n != 1)}" if n else "the same bit for bit"
        say(f"{folder}, a {what}: {words}: {result}.")
    if differences:
        raise typer.Exit(ExitCode.RUNS_FAILED)


def _run(folder: Path, _: int | None) -> Found:
    from vinesim.cli.run_source import of_file
    from vinesim.engine.simulate import simulate
    from vinesim.formats.results.folder import TABLES, to_json
    from vinesim.formats.results.parquet import read_table
    from vinesim.formats.results.tables import open_result
    from vinesim.studies import differences

    with open_result(folder) as stored:  # checks that nothing is damaged
        summary = stored.summary
    request = of_file(folder, [], {}, None, [], None, None)
    again = simulate(request.scenario, percentiles=request.percentiles)  # type: ignore[arg-type]
    found = differences.of_summaries(summary, json.loads(to_json(again.summary)))
    words = ["the summary"]
    for name in TABLES:
        table, file = getattr(again, name), folder / f"{name}.parquet"
        if (table is None) == file.exists():
            found.append(f"{name}: a table {'only in the folder' if table is None else 'only in the repetition'}")
        elif table is not None:
            found += differences.of_tables(name, read_table(file), table)
            words.append(f"{name} ({table.n_rows:,})")
    return ", ".join(words), found


def _sweep(folder: Path, workers: int | None) -> Found:
    from vinesim.studies import differences
    from vinesim.studies.sweep import read_sweep, sweep

    stored = read_sweep(folder)
    again = sweep(stored.study, workers=workers)
    words = f"{stored.table.n_rows:,} runs"
    return words, differences.of_tables("runs", stored.table, again.table)


def _plan(folder: Path, workers: int | None) -> Found:
    from vinesim.cli.plan import file_in
    from vinesim.plans.record import of_the_search
    from vinesim.plans.solve import plan
    from vinesim.plans.stored import read_answer
    from vinesim.studies import differences
    from vinesim.studies.sweep import read_sweep

    stored = read_sweep(folder)
    with tempfile.TemporaryDirectory(prefix="vinesim-verify-") as name:
        plan(file_in(folder), name, workers=workers)
        answers = [of_the_search(read_answer(of)) for of in (folder, Path(name))]
        rows = read_sweep(name).table
    found = differences.of_documents("answer", *answers)
    return f"the answer, {stored.table.n_rows:,} runs", found + differences.of_tables("runs", stored.table, rows)


def _backtest(folder: Path, _: int | None) -> Found:
    from vinesim.cli.backtest import RESULT, back_tested
    from vinesim.formats.results.folder import SCENARIO
    from vinesim.policies.documents import read_scenario
    from vinesim.studies import differences
    from vinesim.studies.origin import read_origin

    origin, stored = read_origin(folder), json.loads((folder / RESULT).read_text(encoding="utf-8"))
    again = back_tested(read_scenario(folder / SCENARIO), origin["replications"], origin["waterfall"])[2]
    found = differences.of_documents("backtest", stored, json.loads(json.dumps(again)))
    return f"{stored['jobs']:,} jobs, {stored['replications']} runs", found
