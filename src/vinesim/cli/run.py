"""``vinesim run``: simulate one scenario, from a scenario file or from the papers' text files."""

import sys
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.completion import policy_names, policy_options
from vinesim.model.errors import InputError, Problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    scenario: Path = typer.Argument(None, help="Scenario file (YAML); or give --deployment and --trace."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario file."),
    deployment: Path = typer.Option(None, help="Deployment, with lines `type x y`."),
    trace: Path = typer.Option(
        None, help="Trace, with lines `task_type data_size data_x data_y operations preferred_type job_id`."
    ),
    iat: float = typer.Option(None, metavar="US", help="Inter-arrival time of the jobs, us."),
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
    period: str = typer.Option(None, metavar="TIME", help="Period of batch policies, with a unit or in us."),
    sampling: float = typer.Option(None, metavar="US", help="Sampling interval of the utilisation, us; -1: none."),
    seed: int = typer.Option(None, help="Seed of all random streams."),
    out: Path = typer.Option(None, metavar="DIR", help="Write the result folder here."),
    percentiles: str = typer.Option("nearest_rank", help="Definition of percentiles: nearest_rank or linear."),
    as_json: bool = typer.Option(False, "--json", help="Print summary.json and nothing else."),
    engine: str = typer.Option("auto", help="auto, compiled or reference (plain Python): the same result."),
    point: int = typer.Option(
        None, metavar="N", help="Run this point of a sweep, from 0: SCENARIO.yaml is its folder, or a study."
    ),
    explain: bool = typer.Option(False, "--explain", help="Save what `vinesim explain` needs in DIR."),
) -> None:
    """Simulate a workload on a datacenter under a scheduling policy."""
    from vinesim.cli.exit_codes import of_run
    from vinesim.cli.progress import watching
    from vinesim.cli.unfinished import unfinished
    from vinesim.engine.simulate import simulate
    from vinesim.formats.results.explain_record import write_record
    from vinesim.formats.results.folder import check_target, to_json, write_result
    from vinesim.policies.registry import resolve

    if explain and out is None:
        raise InputError([Problem("--explain", "--out DIR with it", "none", "Add --out DIR for the result.")])
    if out is not None:
        check_target(out)
    inputs = {
        "deployment": deployment,
        "trace": trace,
        "iat": iat,
        "arrivals": arrivals,
        "affinity": affinity,
        "prices": prices,
        "power": power,
    }
    if point is not None:
        given = {**inputs, "set": changes or None, "option": option or None, "policy": policy, "period": period}
        found = _of_point(scenario, point, seed, given)
    elif scenario is not None:
        found = _of_file(scenario, changes, inputs, policy, option, period, seed)
    else:
        found = _of_text_files(changes, inputs, policy, option, period, seed)
    found = _with(found, network, sampling)
    with watching(found.workload.n_tasks, quiet=as_json) as (on_progress, on_message):
        result = simulate(found, engine=engine, percentiles=percentiles, on_progress=on_progress, on_message=on_message)  # type: ignore[arg-type]
    if out is not None:

        def record(draft: Path) -> None:
            groups = getattr(resolve(found.policy, found.options), "groups", ())
            write_record(draft, found, result.outcome.failures, groups)

        write_result(out, result, record if explain else None)
    if as_json:
        sys.stdout.write(to_json(result.summary))
        if result.exit_reason != "ALL_DONE":
            print(f"vinesim: {unfinished(result)}", file=sys.stderr)  # noqa: T201
    else:
        from vinesim.cli.tables import print_summary

        print_summary(result, out)
    if code := of_run(result.exit_reason):
        raise typer.Exit(code)


def _of_file(
    file: Path,
    changes: list[str],
    inputs: dict[str, Any],
    policy: str | None,
    option: list[str],
    period: str | None,
    seed: int | None,
) -> Any:
    """Read the scenario of a scenario file, with the changes from the command line."""
    from vinesim.cli.arguments import key_values, only_once, only_one_source
    from vinesim.policies.documents import read_scenario
    from vinesim.policies.registry import resolve
    from vinesim.policies.replacing import in_folder

    only_one_source(file, changes, inputs)
    settings: dict[str, Any] = {f"options.{name}": text for name, text in key_values(option, "--option").items()}
    if policy is not None:
        settings["policy"] = in_folder(policy, Path.cwd())  # names in the file are relative to the file's folder
    if period is not None:
        settings["period"] = period
    if seed is not None:
        settings["seed"] = seed
    only_once(changes, settings)
    return read_scenario(file, changes, settings=settings, check_policy=resolve)


def _of_point(sweep: Path | None, point: int, seed: int | None, given: dict[str, Any]) -> Any:
    """Return the scenario of a point of a sweep, with its first seed or with this one."""
    from vinesim.formats.study.file import read_study
    from vinesim.studies.damage import STUDY
    from vinesim.studies.expand import Points, scenario_of

    problems = [
        Problem(f"--{name}", "nothing that changes the point, with --point", "it", "Leave it out.")
        for name, value in given.items()
        if value is not None
    ]
    if sweep is None:
        problems.append(Problem("--point", "the folder of a sweep, or a study", "none"))
    if problems or sweep is None:
        raise InputError(problems)
    study = read_study(sweep / STUDY if sweep.is_dir() else sweep)
    first = study.seed if seed is None else seed
    if not 0 <= point < study.n_points:
        problems.append(Problem("--point", f"a point of the sweep, 0 to {study.n_points - 1}", str(point)))
    if first < study.seed:
        problems.append(Problem("--seed", f"{study.seed}, the first seed of the study, or more", str(first)))
    if problems:
        raise InputError(problems)
    (run,) = Points(study).runs(point, [first - study.seed])
    return scenario_of(study, run)


def _of_text_files(
    changes: list[str],
    inputs: dict[str, Any],
    policy: str | None,
    option: list[str],
    period: str | None,
    seed: int | None,
) -> Any:
    """Read the scenario of the papers' text files."""
    from vinesim.cli.arguments import key_values, only_one_source
    from vinesim.formats.papers.scenario import read_text_scenario
    from vinesim.formats.source.quantities import time_us
    from vinesim.policies.replacing import changed

    only_one_source(None, changes, inputs)
    options: dict[str, Any] = dict(key_values(option, "--option"))
    if "period_us" in options:
        options["period_us"] = time_us(options["period_us"], "--option period_us")
    new = {
        "policy": policy,
        "options": options,
        "period_us": None if period is None else time_us(period, "--period"),
        "seed": seed,
    }
    return changed(read_text_scenario(**inputs), **{name: value for name, value in new.items() if value is not None})


def _with(scenario: Any, network: str | None, sampling: float | None) -> Any:
    """Return the scenario with another network and sampling."""
    from vinesim.formats.scenario.network import read_network
    from vinesim.policies.replacing import changed

    new: dict[str, Any] = {}
    if network is not None:
        new["network"] = read_network(network)
    if sampling is not None:
        new["sampling_us"] = None if sampling == -1 else sampling
    return changed(scenario, **new)
