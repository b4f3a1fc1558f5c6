"""One policy in place of another: which of the options beside it stay.

An option that was given for another policy stays where the new one knows it, and is left out, which is told, where it
does not. What is given together with the new policy, or after it, is never left out: what is wrong there is an error.
"""

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vinesim.formats.scenario.keys import split_policy
from vinesim.model.errors import InputError, InputWarning
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import Policy
from vinesim.policies.registry import find


def changed(scenario: Scenario, **new: Any) -> Scenario:
    """A copy of the scenario with some of its values replaced, checked as a whole.

    With another ``policy`` and no ``options`` beside it, the options that the new policy knows stay; the others are
    left out, with a warning.
    """
    if not new:
        return scenario
    if "policy" in new and "options" not in new:
        new["options"], left_out = fitting(scenario.options, scenario.policy, new["policy"])
        if left_out:
            warnings.warn(words(left_out, scenario.policy, new["policy"]), InputWarning, stacklevel=2)
    return replace(scenario, **new)


def fitting(options: Mapping[str, Any], old: Any, new: Any) -> tuple[dict[str, Any], list[str]]:
    """The options of the old policy without those that the new one does not know, and the names of these.

    A name that the old one does not know either stays, for the check of the options to refuse.
    """
    known, meant = known_options(new), known_options(old, loads_files=False)
    if known is None:
        return dict(options), []
    left_out = [name for name in options if name not in known and (meant is None or name in meant)]
    return {name: value for name, value in options.items() if name not in left_out}, left_out


def known_options(policy: Any, *, loads_files: bool = True) -> frozenset[str] | None:
    """The names of a policy's options; None if they are not known: there is no such policy, or it is in a file that is
    not to be loaded. A policy object takes none beside it."""
    if isinstance(policy, Policy):
        return frozenset()
    kind = kind_of(policy, loads_files=loads_files)
    return None if kind is None else frozenset(item.name for item in fields(kind))


def kind_of(policy: Any, *, loads_files: bool) -> type[Policy] | None:
    """The class of a policy; None if there is none, or if its file is not to be loaded."""
    if isinstance(policy, Policy):
        return type(policy)
    if not loads_files and is_file(policy):
        return None
    try:
        return find(policy)
    except InputError:
        return None


def is_file(policy: Any) -> bool:
    """Whether the policy is ``file.py`` or ``file.py:Class``."""
    return isinstance(policy, str) and bool(split_policy(policy)[0])


def in_folder(policy: Any, folder: Path) -> Any:
    """The policy as seen from here, where the name of its file starts from ``folder``."""
    if not is_file(policy):
        return policy
    file, rest = split_policy(policy)
    return f"{folder / file}{rest}"


def words(left_out: list[str], old: Any, new: Any) -> str:
    """The warning about options that are left out."""
    those = "an option" if len(left_out) == 1 else "options"
    return f"{those} of the policy {_name(old)} left out, as {_name(new)} has no such: {', '.join(left_out)}"


def _name(policy: Any) -> str:
    return policy if isinstance(policy, str) else getattr(policy, "name", "") or getattr(policy, "__name__", "object")
