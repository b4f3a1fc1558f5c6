"""``vinesim policies``: the registered policies and their options."""

import inspect
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from vinesim.cli.completion import policy_names
from vinesim.cli.terminal import say, visible
from vinesim.formats.source.options_text import option_text


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("policies")(policies)


def policies(
    name: str = typer.Argument(None, help="Policy to explain; may be file.py:Class.", autocompletion=policy_names),
    is_checked: bool = typer.Option(
        False, "--check", help="Try the policy on small scenarios: both engines, repeated runs, its promises."
    ),
) -> None:
    """List the scheduling policies, or explain one with its options, or check one."""
    from rich.table import Table
    from rich.text import Text

    from vinesim.cli.console import Console
    from vinesim.policies.registry import find
    from vinesim.policies.registry import policies as registered

    if is_checked:
        _check(name)
        return
    console = Console()
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
    console.print(Text.assemble((visible(name), "bold"), "  ", visible(policy.source)))
    for paragraph in _paragraphs(policy):
        console.print()
        console.print(paragraph)
    console.print()
    for option, (values, default) in options(policy).items():
        console.print(f"  --option {option}={default}   {values}")
    promises = ("work_conserving", "starts_in_order", "deterministic", "needs_estimates")
    others = ("may_overcommit", "sees_every_event", "steady")
    console.print("  promises: " + (", ".join(p for p in (*promises, *others) if getattr(policy, p, False)) or "none"))


def _check(name: str | None) -> None:
    """Try a policy; exit code 2 if it has faults."""
    from vinesim.cli.exit_codes import ExitCode
    from vinesim.model.errors import InputError, Problem
    from vinesim.policies.registry import resolve
    from vinesim.studies.policy_check import SCENARIOS, check

    if name is None:
        raise InputError([Problem("--check", "a policy to check, a name or file.py:Class", "none")])
    found = check(resolve(name, {}))
    if found.faults:
        for fault in found.faults:
            first, *more = fault.splitlines()
            say(f"{name}: {first}")
            for line in more:
                say(line)
        raise typer.Exit(ExitCode.BAD_INPUT)
    say(f"{name} has no faults in {len(SCENARIOS)} scenarios: {'; '.join(SCENARIOS)}. Checked:")
    for words in found.done:
        say(f"  {words}")
    if found.features:
        say(f"  also tried with {', '.join(found.features)}")
    if found.left_out:
        say(f"Not tried, as the policy does not take them: {', '.join(found.left_out)}.")


def rule(policy: Any) -> str:
    """Return the first paragraph of a policy's docstring: what it does, in a sentence or two."""
    return _paragraphs(policy)[0]


def _paragraphs(policy: Any) -> list[str]:
    """Return a policy's docstring, a line for each paragraph, for the terminal to wrap."""
    paragraphs = (inspect.getdoc(policy) or "").replace("``", "").split("\n\n")
    return [" ".join(paragraph.split()) for paragraph in paragraphs]


def options(policy: Any) -> dict[str, tuple[str, Any]]:
    """Return each option of a policy with its values in words and its default."""
    hints = get_type_hints(policy)
    found = {}
    for item in fields(policy):
        hint = hints[item.name]
        words = " | ".join(map(str, get_args(hint))) if get_origin(hint) is Literal else getattr(hint, "__name__", "")
        default = item.default if item.default_factory is MISSING else item.default_factory()
        found[item.name] = ("no | yes", option_text(default)) if hint is bool else (words, default)
    return found
