"""Replace a policy, and decide which of its options are kept.

Options given for the old policy are kept if the new policy knows them; others are left out, with a warning. Options
given together with the new policy, or after it, are never left out: wrong ones are errors.
"""

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError, InputWarning
from vinesim.model.python_file import split_file
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import Policy
from vinesim.policies.registry import find


def changed(scenario: Scenario, **new: Any) -> Scenario:
    """Return a copy of the scenario with some values replaced, checked as a whole.

    With a new ``policy`` and no ``options``, options that the new policy knows are kept; others are left out, with a
    warning.
    """
    if not new:
        return scenario
    if "policy" in new and "options" not in new:
        new["options"], left_out = fitting(scenario.options, scenario.policy, new["policy"])
        if left_out:
            warnings.warn(words(left_out, scenario.policy, new["policy"]), InputWarning, stacklevel=2)
    return replace(scenario, **new)


def fitting(options: Mapping[str, Any], old: Any, new: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the old policy's options without those that the new one does not know, and the names of those.

    A name that the old policy does not know either is kept, so that the check of the options rejects it.
    """
    known, meant = known_options(new), known_options(old, loads_files=False)
    if known is None:
        return dict(options), []
    left_out = [name for name in options if name not in known and (meant is None or name in meant)]
    return {name: value for name, value in options.items() if name not in left_out}, left_out


def known_options(policy: Any, *, loads_files: bool = True) -> frozenset[str] | None:
    """Return the names of a policy's options; None if unknown, because there is no such policy, or because it is in a
    file that must not be loaded. A policy object takes none."""
    if isinstance(policy, Policy):
        return frozenset()
    kind = kind_of(policy, loads_files=loads_files)
    return None if kind is None else frozenset(item.name for item in fields(kind))


def kind_of(policy: Any, *, loads_files: bool) -> type[Policy] | None:
    """Return the class of a policy; None if there is none, or if its file must not be loaded."""
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
    return isinstance(policy, str) and bool(split_file(policy)[0])


def in_folder(policy: Any, folder: Path) -> Any:
    """Return the policy with its file name, which is relative to ``folder``, as seen from here."""
    if not is_file(policy):
        return policy
    file, rest = split_file(policy)
    return f"{folder / file}{rest}"


def words(left_out: list[str], old: Any, new: Any) -> str:
    """Return the warning about options that are left out."""
    those = "an option" if len(left_out) == 1 else "options"
    return f"ignored {those} of policy {_name(old)} that {_name(new)} does not have: {', '.join(left_out)}"


def _name(policy: Any) -> str:
    return policy if isinstance(policy, str) else getattr(policy, "name", "") or getattr(policy, "__name__", "object")
