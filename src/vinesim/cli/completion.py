"""What the Tab key completes besides commands and options: policies and their options."""

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
