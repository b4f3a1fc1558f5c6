"""``vinesim schema``: the JSON Schema of scenario, study or plan files."""

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    study: bool = typer.Option(False, "--study", help="Of study files instead of scenario files."),
    plan: bool = typer.Option(False, "--plan", help="Of plan files instead of scenario files."),
) -> None:
    """Print the JSON Schema of scenario files (or study or plan files), for editors."""
    from vinesim.formats.plan.file import plan_schema
    from vinesim.formats.scenario.file import scenario_schema
    from vinesim.formats.study.file import study_schema
    from vinesim.model.errors import InputError, Problem

    if study and plan:
        raise InputError([Problem("vinesim schema", "--study or --plan", "both", "Keep one.")])
    of = study_schema if study else plan_schema if plan else scenario_schema
    typer.echo(json.dumps(of(), indent=2))
