"""``vinesim run``: one scenario, from a scenario file or from the papers' text files."""

import sys
from pathlib import Path
from typing import Any

import typer

from vinesim.model.errors import InputError, Problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    scenario: Path = typer.Argument(None, help="Scenario file (YAML); or give --deployment and --trace."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of the scenario file."),
    deployment: Path = typer.Option(None, help="Deployment: `type x y` a line."),
    trace: Path = typer.Option(
        None, help="Trace: `task_type data_size data_x data_y operations preferred_type job_id` a line."
    ),
    iat: float = typer.Option(None, metavar="US", help="Inter-arrival time of the jobs, us."),
    arrivals: Path = typer.Option(None, help="Arrival times, one a line, us, job by job."),
    policy: str = typer.Option(None, help="A policy's name, or file.py:Class. `vinesim policies` lists them."),
    option: list[str] = typer.Option([], metavar="KEY=VALUE", help="An option of the policy."),
    affinity: Path = typer.Option(None, help="Affinity table; without it, Table 1 of the paper."),
    prices: Path = typer.Option(None, help="Price list: `type price` a line."),
    power: Path = typer.Option(None, help="Power table, W."),
    network: str = typer.Option(None, help="paper, table4, none, or a network file (YAML)."),
    sampling: float = typer.Option(None, metavar="US", help="Sampling interval of the utilisation, us; -1 is off."),
    seed: int = typer.Option(None, help="Seed of all random streams."),
    out: Path = typer.Option(None, metavar="DIR", help="Write the result folder here."),
    percentiles: str = typer.Option("nearest_rank", help="How percentiles are taken: nearest_rank or linear."),
    as_json: bool = typer.Option(False, "--json", help="Print summary.json and nothing else."),
    engine: str = typer.Option("compiled", help="compiled, or reference: the same in plain Python."),
    explain: bool = typer.Option(False, "--explain", help="Keep in DIR what `vinesim explain` needs."),
) -> None:
    """Simulate a workload on a datacenter under a scheduling policy."""
    from vinesim.cli.progress import watching
    from vinesim.engine.simulate import simulate
    from vinesim.formats.explain_record import write_record
    from vinesim.formats.result_folder import check_target, to_json, write_result

    if explain and out is None:
        raise InputError([Problem("--explain", "--out DIR beside it", "none", "Say where the result goes.")])
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
    found = _scenario(scenario, changes, inputs, policy, option, network, sampling, seed)
    with watching(found.workload.n_tasks, quiet=as_json) as (watch, say):
        result = simulate(found, engine=engine, percentiles=percentiles, watch=watch, say=say)  # type: ignore[arg-type]
    if out is not None:
        write_result(out, result, (lambda draft: write_record(draft, found, result)) if explain else None)
    if as_json:
        sys.stdout.write(to_json(result.summary))
    else:
        from vinesim.cli.tables import print_summary

        print_summary(result, out)
    if str(result.exit_reason) == "INTERRUPTED":
        raise typer.Exit(130)


def _scenario(
    file: Path | None,
    changes: list[str],
    inputs: dict[str, Any],
    policy: str | None,
    option: list[str],
    network: str | None,
    sampling: float | None,
    seed: int | None,
) -> Any:
    """The scenario of the command line: a file with changes, or the papers' text files."""
    from vinesim.cli.arguments import key_values, only_one_source
    from vinesim.formats.network import read_network
    from vinesim.model.scenario import changed
    from vinesim.policies.registry import resolve

    only_one_source(file, changes, inputs)
    if file is not None:
        from vinesim.formats.scenario_file import read_scenario

        if seed is not None:
            changes = [*changes, f"seed={seed}"]  # before the workload is drawn from it
        check = None if policy is not None or option else resolve
        scenario = read_scenario(file, changes, check_policy=check)
    else:
        from vinesim.formats.text_scenario import read_text_scenario

        scenario = read_text_scenario(**inputs)
    new: dict[str, Any] = {}
    if policy is not None:
        new |= {"policy": policy, "options": {}}
    if option:
        new["options"] = {**(new.get("options", scenario.options)), **key_values(option, "--option")}
    if network is not None:
        new["network"] = read_network(network)
    if sampling is not None:
        new["sampling_us"] = None if sampling == -1 else sampling
    if seed is not None:
        new["seed"] = seed
    return changed(scenario, **new)
