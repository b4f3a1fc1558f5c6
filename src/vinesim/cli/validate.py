"""``vinesim validate``: check a scenario file or a study file and say what it holds."""

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(file: Path = typer.Argument(..., help="Scenario file or study file (YAML).")) -> None:
    """Check a scenario file, or every point of a study file; list every problem."""
    from vinesim.formats.study_file import is_study

    typer.echo(f"{file} is valid: {_study(file) if is_study(file) else _scenario(file)}")


def _scenario(file: Path) -> str:
    from vinesim.formats.scenario_file import read_scenario
    from vinesim.policies.registry import resolve

    scenario = read_scenario(file, check_policy=resolve)
    scenario.network.warn_if_unordered()
    policy = resolve(scenario.policy, scenario.options)
    units = ", ".join(f"{n} {name}" for name, n in scenario.datacenter.count_by_type().items())
    return (
        f"{units}; {scenario.workload.n_jobs:,} jobs of {scenario.workload.n_tasks:,} tasks; "
        f"policy {policy.name or type(policy).__name__}; content id {scenario.content_id}"
    )


def _study(file: Path) -> str:
    from vinesim.formats.study_file import read_study
    from vinesim.studies.check import check_points

    study = read_study(file)
    check_points(study)
    axes = " x ".join(f"{', '.join(axis.columns)} ({len(axis)})" for axis in study.axes) or "no axes"
    until = f" to {study.until.at_most:,}" if study.until is not None else ""
    runs = f"{study.n_runs:,} runs" if study.until is None else f"{study.n_runs:,} runs or more"
    return f"{axes}; {study.n_points:,} points of {study.replications:,}{until} replications: {runs}"
