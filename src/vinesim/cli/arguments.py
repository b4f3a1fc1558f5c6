"""Checks of command-line arguments."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError, Problem


def key_values(words: list[str], option: str) -> dict[str, str]:
    """Parse ``["a=1", "b=x"]`` to a dict."""
    wrong = [Problem(option, "key=value", repr(word)) for word in words if "=" not in word]
    if wrong:
        raise InputError(wrong)
    return {key.strip(): value.strip() for key, _, value in (word.partition("=") for word in words)}


def scenario_settings(changes: list[str], option: list[str], policy: str | None, **others: Any) -> dict[str, Any]:
    """Return the keys of a scenario that options of the command line set besides ``--set``, each only once."""
    from vinesim.policies.replacing import in_folder

    settings: dict[str, Any] = {f"options.{name}": text for name, text in key_values(option, "--option").items()}
    if policy is not None:
        settings["policy"] = in_folder(policy, Path.cwd())  # names in the file are relative to the file's folder
    settings |= {name: value for name, value in others.items() if value is not None}
    only_once(changes, settings)
    return settings


def only_once(changes: list[str], settings: Mapping[str, Any]) -> None:
    """Check that ``--set`` does not set a value that has its own option on the command line."""
    words = {"policy": "--policy", "period": "--period", "seed": "--seed"}
    set_keys = {change.partition("=")[0].strip() for change in changes}
    problems = [
        Problem(f"--set {key}", f"it, or {words.get(key, '--option')}", "both", "Keep one.")
        for key in settings
        if key in set_keys
    ]
    if problems:
        raise InputError(problems)


def only_one_source(file: Path | None, changes: list[str], inputs: dict[str, Any]) -> None:
    """Check that the scenario comes from a scenario file, or from text files with both a deployment and a trace."""
    given = [f"--{name}" for name, value in inputs.items() if value is not None]
    problems = []
    if file is not None and given:
        problems.append(
            Problem(
                "the command line",
                "a scenario file or text files",
                f"{file} and {', '.join(given)}",
                "Give one of them.",
            )
        )
    if file is None and changes:
        problems.append(Problem("--set", "a scenario file to change", "none", "Give SCENARIO.yaml."))
    if file is None and not given:
        expected = "SCENARIO.yaml, or --deployment, --trace and --iat"
        raise InputError([*problems, Problem("vinesim run", expected, "none of them", "See vinesim run --help.")])
    if file is None:
        for name in ("deployment", "trace"):
            if inputs[name] is None:
                problems.append(Problem("vinesim run", f"--{name} FILE with {', '.join(given)}", "none"))
        if (inputs["iat"] is None) == (inputs["arrivals"] is None):
            both = inputs["iat"] is not None
            problems.append(Problem("the command line", "--iat US or --arrivals FILE", "both" if both else "neither"))
    if problems:
        raise InputError(problems)
