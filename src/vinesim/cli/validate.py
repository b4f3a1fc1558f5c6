"""``vinesim validate``: check a scenario, study or plan file and summarise it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vinesim.cli.completion import policy_names, policy_options
from vinesim.cli.terminal import output, say
from vinesim.model.errors import InputError, Problem, VineSimError

if TYPE_CHECKING:
    from vinesim.policies.documents import PolicyCheck

Found = tuple[str, dict[str, Any]]  # what is in a file, in words and as values


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
    as_json: bool = typer.Option(False, "--json", help="Print what was found as JSON and nothing else."),
) -> None:
    """Check a scenario file, every point of a study file, or a plan file; list every problem. No code is run."""
    from vinesim.formats.results.folder import to_json
    from vinesim.policies.documents import PolicyCheck

    check = PolicyCheck(runs_files=run_policy_file)
    try:
        words, found = _checked(file, check, changes, policy, option)
    except VineSimError as error:
        if as_json:
            output().write(to_json(_answer(file, False) | _problems(file, error)))
        raise
    if as_json:
        output().write(to_json(_answer(file, True) | found | {"unchecked": list(check.unchecked)}))
        return
    for note in found.get("notes", ()):
        say(note)
    say(f"{file} is valid: {words}")
    for name in check.unchecked:
        say(f"Not checked: the {name}, because it is code. --run-policy-file runs that code to check it.")


def _answer(file: Path, is_valid: bool) -> dict[str, Any]:
    return {"file": str(file), "valid": is_valid, "n_problems": 0, "problems": []}


def _problems(file: Path, error: VineSimError) -> dict[str, Any]:
    """Return the problems as values; one of a policy has no parts."""
    if not isinstance(error, InputError):
        return {"n_problems": 1, "problems": [{"where": str(file), "expected": "", "found": str(error), "remedy": ""}]}
    problems = [
        {"where": one.where, "expected": one.expected, "found": one.found, "remedy": one.remedy}
        for one in error.problems
    ]
    return {"n_problems": error.n_problems, "problems": problems}


def _checked(file: Path, check: "PolicyCheck", changes: list[str], policy: str | None, option: list[str]) -> Found:
    from vinesim.formats.plan.file import is_plan
    from vinesim.formats.study.file import is_study

    if not (is_plan(file) or is_study(file)):
        return _scenario(file, check, changes, policy, option)
    _refuse_changes(changes, policy, option)
    return _plan(file, check) if is_plan(file) else _study(file, check)


def _refuse_changes(changes: list[str], policy: str | None, option: list[str]) -> None:
    given = {"--set": changes, "--policy": policy, "--option": option}
    problems = [
        Problem(name, "a scenario file with it", "a study or a plan", "Change that file.")
        for name, value in given.items()
        if value
    ]
    if problems:
        raise InputError(problems)


def _scenario(file: Path, check: "PolicyCheck", changes: list[str], policy: str | None, option: list[str]) -> Found:
    from vinesim.cli.arguments import scenario_settings
    from vinesim.policies.documents import read_scenario
    from vinesim.policies.identity import content_id

    settings = scenario_settings(changes, option, policy=policy)
    scenario = read_scenario(file, changes, settings=settings, check_policy=check)
    scenario.network.warn_if_unordered()
    units, jobs, tasks = scenario.datacenter.count_by_type(), scenario.workload.n_jobs, scenario.workload.n_tasks
    found = {"what": "scenario", "units": units, "jobs": jobs, "tasks": tasks, "policy": str(scenario.policy)}
    found["content_id"] = content_id(scenario)
    counts = ", ".join(f"{n} {name}" for name, n in units.items())
    return (
        f"{counts}; {jobs:,} jobs, {tasks:,} tasks; policy {scenario.policy}; content id {found['content_id']}",
        found,
    )


def _plan(file: Path, check: "PolicyCheck") -> Found:
    from vinesim.formats.plan.file import read_plan
    from vinesim.metrics.numbers import shown_limit
    from vinesim.plans.check import check_plan
    from vinesim.plans.space import Space
    from vinesim.policies.documents import scenario_from

    plan = read_plan(file, check=partial(scenario_from, check_policy=check))
    check_plan(plan, Space(plan), check)
    choices = {choice.name: len(choice) for choice in plan.choices}
    goals = [("most " if goal.is_maximized else "least ") + str(goal) for goal in plan.objectives]
    limits = [shown_limit(one.number, one.side, one.value) for one in plan.limits]
    n, runs = plan.space.n_points, plan.budget.runs
    of = " x ".join(f"{choice.title or choice.name} ({len(choice)})" for choice in plan.choices)
    words = f"{of}; {n:,} candidates; {', '.join(goals)}; {', '.join(limits) or 'no limits'}; at most {runs:,} runs"
    found = {"what": "plan", "choices": choices, "candidates": n, "goals": goals, "limits": limits, "runs": runs}
    return words, found


def _study(file: Path, check: "PolicyCheck") -> Found:
    from vinesim.formats.study.file import read_study
    from vinesim.policies.documents import scenario_from
    from vinesim.studies.check import check_points
    from vinesim.studies.same_workload import same_workload

    study = read_study(file, partial(scenario_from, check_policy=check))
    check_points(study, check_policy=check)
    axes = {", ".join(axis.columns): len(axis) for axis in study.axes}
    most = study.replications if study.until is None else study.until.at_most
    note = same_workload(study)
    found = {"what": "study", "axes": axes, "points": study.n_points, "replications": study.replications}
    found |= {"most_replications": most, "runs": study.n_runs, "notes": [note] if note else []}
    of = " x ".join(f"{name} ({positions})" for name, positions in axes.items()) or "no axes"
    until = f" to {most:,}" if study.until is not None else ""
    runs = f"{study.n_runs:,} runs" if study.until is None else f"{study.n_runs:,} runs or more"
    return f"{of}; {study.n_points:,} points of {study.replications:,}{until} replications: {runs}", found
