"""``vinesim run``: simulate one scenario, from a scenario file or from the papers' text files."""

from pathlib import Path

import typer

from vinesim.cli.completion import policy_names, policy_options
from vinesim.cli.terminal import output, warn
from vinesim.model.errors import InputError, Problem


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
        False, "--json", help="Print summary.json, with what --by asks for, and nothing else."
    ),
    engine: str = typer.Option("auto", help="auto, compiled or reference (plain Python): the same result."),
    point: int = typer.Option(
        None, metavar="N", help="Run this point of a sweep, from 0: SCENARIO.yaml is its folder, or a study."
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
    from vinesim.cli.own import of_command, print_own
    from vinesim.cli.progress import watching
    from vinesim.cli.unfinished import unfinished
    from vinesim.engine.simulate import simulate
    from vinesim.formats.results.explain_record import write_record
    from vinesim.formats.results.folder import check_target, to_json, write_result
    from vinesim.formats.source.quantities import time_us
    from vinesim.metrics.overload import overload_of_run
    from vinesim.policies.registry import resolve
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
    own = of_command(record)
    own.tried(found)
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
            from vinesim.cli.by_table import as_document, check_axes, print_by

            check_axes(result, by)
        recorded = own.of(result)
        if out is not None:

            def also(draft: Path) -> None:
                keep(draft)
                if explain:
                    write_record(draft, found, result.outcome.failures, resolve(found.policy, found.options))

            write_result(out, result, also)
    if as_json:
        more = {"record": recorded} if record else {}
        output().write(to_json(result.summary | more | ({"by": as_document(result, by)} if by else {})))
        if result.exit_reason != "ALL_DONE":
            warn(unfinished(result))
        if note := overload_of_run(result.summary):
            warn(note)
    else:
        from vinesim.cli.tables import print_summary

        print_summary(result, out)
        if by:
            print_by(result, by)
        print_own(recorded)
    if code := of_run(result.exit_reason):
        raise typer.Exit(code)
