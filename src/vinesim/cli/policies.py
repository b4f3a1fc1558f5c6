"""``vinesim policies``: the registered policies and their options."""

import inspect
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from vinesim.cli.completion import policy_names
from vinesim.formats.source.options_text import option_text


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("policies")(policies)


def policies(
    name: str = typer.Argument(None, help="Policy to explain; may be file.py:Class.", autocompletion=policy_names),
) -> None:
    """List the scheduling policies, or explain one with its options."""
    from rich.console import Console
    from rich.table import Table

    from vinesim.policies.registry import find
    from vinesim.policies.registry import policies as registered

    console = Console(highlight=False)
    found = registered()
    if name is None:
        table = Table(title="Policies", title_justify="left")
        for title in ("name", "rule", "options"):
            table.add_column(title)
        for key, policy in found.items():
            table.add_row(key, rule(policy), ", ".join(options(policy)))
        console.print(table)
        return
    policy = find(name)
    console.print(f"[bold]{name}[/bold]  {policy.source}\n\n{_reflowed(policy)}\n")
    for option, (values, default) in options(policy).items():
        console.print(f"  --option {option}={default}   {values}", markup=False)
    promises = ("work_conserving", "starts_in_order", "deterministic", "needs_estimates")
    others = ("may_overcommit", "sees_every_event", "steady")
    console.print("  promises: " + (", ".join(p for p in (*promises, *others) if getattr(policy, p, False)) or "none"))


def rule(policy: Any) -> str:
    """Return the first paragraph of a policy's docstring: what it does, in a sentence or two."""
    return _reflowed(policy).split("\n\n")[0]


def _reflowed(policy: Any) -> str:
    """Return a policy's docstring with one line per paragraph, for the terminal to wrap."""
    paragraphs = (inspect.getdoc(policy) or "").replace("``", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def options(policy: Any) -> dict[str, tuple[str, Any]]:
    """Return each option of a policy with its values in words and its default."""
    hints = get_type_hints(policy)
    found = {}
    for item in fields(policy):
        hint = hints[item.name]
        words = " | ".join(map(str, get_args(hint))) if get_origin(hint) is Literal else getattr(hint, "__name__", "")
        found[item.name] = ("no | yes", option_text(item.default)) if hint is bool else (words, item.default)
    return found
