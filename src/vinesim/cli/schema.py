"""``vinesim schema``: the JSON Schema of scenario files or study files."""

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(study: bool = typer.Option(False, "--study", help="Of study files instead of scenario files.")) -> None:
    """Print the JSON Schema of scenario files (or study files), for editors."""
    from vinesim.formats.scenario.file import scenario_schema
    from vinesim.formats.study.file import study_schema

    typer.echo(json.dumps(study_schema() if study else scenario_schema(), indent=2))
