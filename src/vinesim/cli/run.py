"""``vinesim run``: simulate one scenario, from a scenario file or from the papers' text files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.completion import policy_names, policy_options
from vinesim.cli.terminal import output, warn
from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.model.scenario import Scenario
    from vinesim.result import Result


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    scenario: Path = typer.Argument(
        None, help="Scenario file (YAML), or a result folder to repeat. Leave it out with --deployment and --trace."
    ),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario file."),
    deployment: Path = typer.Option(None, help="Deployment, with lines `type x y`."),
    trace: Path = typer.Option(
        None, help="Trace, with lines `task_type data_size data_x data_y operations preferred_type job_id`."
    ),
    iat: str = typer.Option(None, metavar="TIME", help="Inter-arrival time of the jobs, such as 7 us."),
    arrivals: Path = typer.Option(None, help="Arrival times, us, one line per job."),
    policy: str = typer.Option(
        None, help="A policy's name, or file.py:Class. `vinesim policies` lists them.", autocompletion=policy_names
    ),
    option: list[str] = typer.Option(
        [], metavar="KEY=VALUE", help="An option of the policy.", autocompletion=policy_options
    ),
    affinity: Path = typer.Option(None, help="Affinity table; default: Table 1 of the paper."),
    prices: Path = typer.Option(None, help="Price list, with lines `type price`."),
    power: Path = typer.Option(None, help="Power table, W."),
    network: str = typer.Option(None, help="paper, table4, none, or a network file (YAML)."),
    period: str = typer.Option(None, metavar="TIME", help="Period of batch policies, such as 10 s."),
    sampling: str = typer.Option(None, metavar="TIME", help="Sampling interval of the utilisation, or none."),
    seed: int = typer.Option(None, help="Seed of all random streams."),
    out: Path = typer.Option(None, metavar="DIR", help="Write the result folder here."),
    percentiles: str = typer.Option(None, help="Definition of percentiles: nearest_rank (the default) or linear."),
    as_json: bool = typer.Option(
        False, "--json", help="Print summary.json, with the breakdown of --by, and nothing else."
    ),
    engine: str = typer.Option("auto", help="auto, compiled or reference (plain Python): the same result."),
    point: int = typer.Option(
        None, metavar="N", help="Run this point of a sweep, counted from 0; SCENARIO is the sweep's folder, or a study."
    ),
    by: list[str] = typer.Option(
        [],
        metavar="AXIS",
        help="Break the jobs down by user, partition, account, qos, application, task_type, size, hour.",
    ),
    record: list[str] = typer.Option([], metavar="FILE.py:FUNCTION", help="Your own number: a function of a run."),
    explain: bool = typer.Option(False, "--explain", help="Save what `vinesim explain` needs in DIR."),
) -> None:
    """Simulate a workload on a datacenter under a scheduling policy."""
    from vinesim.cli import run_source
    from vinesim.cli.exit_codes import of_run
    from vinesim.cli.progress import watching
    from vinesim.engine.simulate import simulate
    from vinesim.formats.results.folder import check_target
    from vinesim.formats.source.quantities import time_us
    from vinesim.studies.origin import keeping

    if explain and out is None:
        raise InputError([Problem("--explain", "--out DIR with it", "none", "Add --out DIR for the result.")])
    if out is not None:
        check_target(out)
    inputs = {
        "deployment": deployment,
        "trace": trace,
        "iat": None if iat is None else time_us(iat, "--iat"),
        "arrivals": arrivals,
        "affinity": affinity,
        "prices": prices,
        "power": power,
    }
    if point is not None:
        given = {**inputs, "set": changes or None, "option": option or None, "policy": policy, "period": period}
        request = run_source.of_point(scenario, point, seed, given)
    elif scenario is not None:
        request = run_source.of_file(scenario, changes, inputs, policy, option, period, seed)
    else:
        request = run_source.of_text_files(changes, inputs, policy, option, period, seed)
    request = run_source.with_options(request, network, sampling)
    found, percentiles = request.scenario, percentiles or request.percentiles
    numbers = _own_numbers(record, found)
    with keeping(request.document, request.folder, out, percentiles=percentiles) as keep:
        with watching(found.workload.n_tasks, quiet=as_json) as (on_progress, on_message):
            result = simulate(
                found,
                engine=engine,  # type: ignore[arg-type]
                percentiles=percentiles,  # type: ignore[arg-type]
                on_progress=on_progress,
                on_message=on_message,
            )
        if by:
            from vinesim.cli.by_table import check_axes

            check_axes(result, by)
        recorded = numbers(result)
        if out is not None:
            _write(out, result, keep, found if explain else None)
    from vinesim.studies.backtest_record import read_record

    _print(result, recorded, read_record(request.document(), request.folder), by, out, as_json)
    if code := of_run(result.exit_reason):
        raise typer.Exit(code)


def _own_numbers(record: list[str], found: "Scenario") -> "Callable[[Result], Mapping[str, float | str]]":
    """Return what computes the user's own numbers of a run; they are tried on a few jobs of the scenario first."""
    if not record:
        return lambda _: {}
    from vinesim.cli.own import of_command

    own = of_command(record)
    own.tried(found)
    return own.of


def _write(out: Path, result: "Result", keep: "Callable[[Path], None]", explained: "Scenario | None") -> None:
    """Write the result folder, with what repeats the run, and what ``vinesim explain`` needs of a scenario."""
    from vinesim.formats.results.folder import write_result

    def also(draft: Path) -> None:
        keep(draft)
        if explained is not None:
            from vinesim.formats.results.explain_record import write_record
            from vinesim.policies.registry import resolve

            policy = resolve(explained.policy, explained.options)
            write_record(draft, explained, result.outcome.failures, policy)

    write_result(out, result, also)


def _print(
    result: "Result",
    recorded: "Mapping[str, float | str]",
    error: dict[str, Any] | None,
    by: list[str],
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the summary, the user's own numbers, the tables of ``--by`` and the error that a back-test found: for
    people, or as JSON."""
    if as_json:
        from vinesim.cli.unfinished import unfinished
        from vinesim.formats.results.folder import to_json
        from vinesim.metrics.overload import overload_of_run

        more: dict[str, Any] = {"record": recorded} if recorded else {}
        if error is not None:
            more["backtest"] = error
        if by:
            from vinesim.cli.by_table import as_document

            more["by"] = as_document(result, by)
        output().write(to_json(result.summary | more))
        if result.exit_reason != "ALL_DONE":
            warn(unfinished(result))
        if note := overload_of_run(result.summary):
            warn(note)
        return
    from vinesim.cli.tables import print_error, print_summary

    print_summary(result, out)
    if by:
        from vinesim.cli.by_table import print_by

        print_by(result, by)
    if recorded:
        from vinesim.cli.own import print_own

        print_own(recorded)
    print_error(error)
