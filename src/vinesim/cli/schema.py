"""``vinesim schema``: the JSON Schema of scenario files."""

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from vinesim.formats.scenario_file import scenario_schema

    typer.echo(json.dumps(scenario_schema(), indent=2))
