"""``vinesim validate``: check a scenario, study or plan file and summarise it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vinesim.cli.completion import policy_names, policy_options
from vinesim.cli.terminal import say
from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.policies.documents import PolicyCheck


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(
    file: Path = typer.Argument(..., help="Scenario, study or plan file (YAML)."),
    changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a value of a scenario file."),
    policy: str = typer.Option(
        None, help="Another policy for a scenario file: a name, or file.py:Class.", autocompletion=policy_names
    ),
    option: list[str] = typer.Option(
        [], metavar="KEY=VALUE", help="An option of the policy.", autocompletion=policy_options
    ),
    run_policy_file: bool = typer.Option(
        False,
        "--run-policy-file",
        help="Check policies, generators and functions in Python files too; this runs their code.",
    ),
) -> None:
    """Check a scenario file, every point of a study file, or a plan file; list every problem. No code is run."""
    from vinesim.formats.plan.file import is_plan
    from vinesim.formats.study.file import is_study
    from vinesim.policies.documents import PolicyCheck

    check = PolicyCheck(runs_files=run_policy_file)
    if is_plan(file) or is_study(file):
        _refuse_changes(changes, policy, option)
        summary = _plan(file, check) if is_plan(file) else _study(file, check)
    else:
        summary = _scenario(file, check, changes, policy, option)
    say(f"{file} is valid: {summary}")
    for name in check.unchecked:
        say(f"Not checked: the {name}, because it is code. --run-policy-file runs that code to check it.")


def _refuse_changes(changes: list[str], policy: str | None, option: list[str]) -> None:
    given = {"--set": changes, "--policy": policy, "--option": option}
    problems = [
        Problem(name, "a scenario file with it", "a study or a plan", "Change that file.")
        for name, value in given.items()
        if value
    ]
    if problems:
        raise InputError(problems)


def _scenario(file: Path, check: "PolicyCheck", changes: list[str], policy: str | None, option: list[str]) -> str:
    from vinesim.cli.arguments import scenario_settings
    from vinesim.policies.documents import read_scenario
    from vinesim.policies.identity import content_id

    settings = scenario_settings(changes, option, policy=policy)
    scenario = read_scenario(file, changes, settings=settings, check_policy=check)
    scenario.network.warn_if_unordered()
    units = ", ".join(f"{n} {name}" for name, n in scenario.datacenter.count_by_type().items())
    return (
        f"{units}; {scenario.workload.n_jobs:,} jobs, {scenario.workload.n_tasks:,} tasks; "
        f"policy {scenario.policy}; content id {content_id(scenario)}"
    )


def _plan(file: Path, check: "PolicyCheck") -> str:
    from vinesim.formats.plan.file import read_plan
    from vinesim.metrics.numbers import shown_limit
    from vinesim.plans.check import check_plan
    from vinesim.plans.space import Space
    from vinesim.policies.documents import scenario_from

    plan = read_plan(file, check=partial(scenario_from, check_policy=check))
    check_plan(plan, Space(plan), check)
    choices = " x ".join(f"{choice.title or choice.name} ({len(choice)})" for choice in plan.choices)
    goals = ", ".join(("most " if goal.is_maximized else "least ") + str(goal) for goal in plan.objectives)
    limits = ", ".join(shown_limit(one.number, one.side, one.value) for one in plan.limits) or "no limits"
    return f"{choices}; {plan.space.n_points:,} candidates; {goals}; {limits}; at most {plan.budget.runs:,} runs"


def _study(file: Path, check: "PolicyCheck") -> str:
    from vinesim.formats.study.file import read_study
    from vinesim.policies.documents import scenario_from
    from vinesim.studies.check import check_points
    from vinesim.studies.same_workload import same_workload

    study = read_study(file, partial(scenario_from, check_policy=check))
    check_points(study, check_policy=check)
    axes = " x ".join(f"{', '.join(axis.columns)} ({len(axis)})" for axis in study.axes) or "no axes"
    until = f" to {study.until.at_most:,}" if study.until is not None else ""
    if note := same_workload(study):
        say(note)
    runs = f"{study.n_runs:,} runs" if study.until is None else f"{study.n_runs:,} runs or more"
    return f"{axes}; {study.n_points:,} points of {study.replications:,}{until} replications: {runs}"
