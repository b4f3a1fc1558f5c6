"""``vinesim schema``: the JSON Schema of scenario, study, plan or cluster files."""

import json

import typer

from vinesim.cli.terminal import output


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    study: bool = typer.Option(False, "--study", help="For study files."),
    plan: bool = typer.Option(False, "--plan", help="For plan files."),
    cluster: bool = typer.Option(False, "--cluster", help="For cluster files."),
) -> None:
    """Print the JSON Schema of scenario files (or study, plan or cluster files), for editors."""
    from vinesim.formats.cluster.document import cluster_schema
    from vinesim.formats.plan.file import plan_schema
    from vinesim.formats.scenario.file import scenario_schema
    from vinesim.formats.study.file import study_schema
    from vinesim.model.errors import InputError, Problem

    asked = {"--study": (study, study_schema), "--plan": (plan, plan_schema), "--cluster": (cluster, cluster_schema)}
    given = [name for name, (is_given, _) in asked.items() if is_given]
    if len(given) > 1:
        raise InputError([Problem("vinesim schema", f"one of {', '.join(asked)}", " ".join(given), "Keep one.")])
    of = asked[given[0]][1] if given else scenario_schema
    output().write(json.dumps(of(), indent=2) + "\n")
