"""``vinesim validate``: check a scenario file or a study file and summarise it."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vinesim.policies.documents import PolicyCheck


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(
    file: Path = typer.Argument(..., help="Scenario file or study file (YAML)."),
    run_policy_file: bool = typer.Option(
        False, "--run-policy-file", help="Check policies and generators in Python files too; this runs their code."
    ),
) -> None:
    """Check a scenario file, or every point of a study file; list every problem. No code is run."""
    from vinesim.formats.study.file import is_study
    from vinesim.policies.documents import PolicyCheck

    check = PolicyCheck(runs_files=run_policy_file)
    typer.echo(f"{file} is valid: {_study(file, check) if is_study(file) else _scenario(file, check)}")
    for policy in check.unchecked:
        typer.echo(
            f"Not checked: the policy {policy}, because it is code. --run-policy-file runs that code to check it."
        )


def _scenario(file: Path, check: "PolicyCheck") -> str:
    from vinesim.policies.documents import read_scenario
    from vinesim.policies.identity import content_id

    scenario = read_scenario(file, check_policy=check)
    scenario.network.warn_if_unordered()
    units = ", ".join(f"{n} {name}" for name, n in scenario.datacenter.count_by_type().items())
    return (
        f"{units}; {scenario.workload.n_jobs:,} jobs of {scenario.workload.n_tasks:,} tasks; "
        f"policy {scenario.policy}; content id {content_id(scenario)}"
    )


def _study(file: Path, check: "PolicyCheck") -> str:
    from vinesim.formats.study.file import read_study
    from vinesim.studies.check import check_points
    from vinesim.studies.same_workload import same_workload

    study = read_study(file)
    check_points(study, check_policy=check)
    axes = " x ".join(f"{', '.join(axis.columns)} ({len(axis)})" for axis in study.axes) or "no axes"
    until = f" to {study.until.at_most:,}" if study.until is not None else ""
    if note := same_workload(study):
        typer.echo(note)
    runs = f"{study.n_runs:,} runs" if study.until is None else f"{study.n_runs:,} runs or more"
    return f"{axes}; {study.n_points:,} points of {study.replications:,}{until} replications: {runs}"
