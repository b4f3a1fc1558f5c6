"""``vinesim validate``: check a scenario file and say what it holds."""

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(file: Path = typer.Argument(..., help="Scenario file (YAML).")) -> None:
    """Check a scenario file; list every problem."""
    from vinesim.formats.scenario_file import read_scenario
    from vinesim.policies.registry import resolve

    scenario = read_scenario(file, check_policy=resolve)
    scenario.network.warn_if_unordered()
    policy = resolve(scenario.policy, scenario.options)
    units = ", ".join(f"{n} {name}" for name, n in scenario.datacenter.count_by_type().items())
    typer.echo(
        f"{file} is valid: {units}; {scenario.workload.n_jobs:,} jobs of {scenario.workload.n_tasks:,} tasks; "
        f"policy {policy.name or type(policy).__name__}; content id {scenario.content_id}"
    )
