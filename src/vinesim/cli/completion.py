"""What the Tab key completes besides commands and options: policies and their options, axes and numbers of a sweep."""

from pathlib import Path

import typer


def policy_names(incomplete: str) -> list[tuple[str, str]]:
    """Return the names of policies that begin with the text, each with its rule."""
    from vinesim.cli.policies import rule
    from vinesim.policies.registry import policies

    return [(name, rule(policy)) for name, policy in policies().items() if name.startswith(incomplete)]


def policy_options(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return ``option=value`` for each value of the options of the policy on the line, the default first."""
    from vinesim.cli.policies import options
    from vinesim.policies.registry import policies

    policy = policies().get(ctx.params.get("policy") or "")
    if policy is None:
        return []
    found = [
        (f"{name}={value}", "the default" if value == str(default) else words)
        for name, (words, default) in options(policy).items()
        for value in dict.fromkeys([str(default), *(words.split(" | ") if " | " in words else ())])
    ]
    return [(text, about) for text, about in found if text.startswith(incomplete)]


def axes_of(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the axes of the sweep on the line, each in words."""
    from vinesim.formats.results.folder import STUDY
    from vinesim.formats.study.file import read_study
    from vinesim.model.errors import VineSimError
    from vinesim.model.titles import axis_title

    try:
        columns = read_study(_folder(ctx) / STUDY).columns
    except VineSimError:
        return []
    return [(name, axis_title(name).words) for name in columns if name.startswith(incomplete)]


def numbers_of(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the numbers of the sweep on the line, each in words."""
    from vinesim.model.errors import VineSimError
    from vinesim.model.titles import number_title
    from vinesim.studies.rows import number_columns
    from vinesim.studies.sweep import read_sweep

    try:
        sweep = read_sweep(_folder(ctx))
        names = number_columns(sweep.table, sweep.study.columns)
    except VineSimError:
        return []
    return [(name, number_title(name).words) for name in names if name.startswith(incomplete)]


def _folder(ctx: typer.Context) -> Path:
    """Return the folder of the command on the line; of several the first."""
    left = [word for word in ctx.args if not word.startswith("-")]  # while an option has no value yet, they are here
    found = ctx.params.get("folder") or ctx.params.get("folders") or left or "."
    return Path(found[0] if isinstance(found, list | tuple) else found)
