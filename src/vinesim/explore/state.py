"""What a page shows: the scenario's file with a list of changes, in the syntax of --set."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from vinesim.engine.engine_choice import Engine, check_engine
from vinesim.explore.controls import Control, controls_of
from vinesim.formats.scenario.document import REQUIRED, ScenarioDocument
from vinesim.formats.scenario.file import read_source
from vinesim.formats.source.document import checked
from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import prepared, scenario_from
from vinesim.policies.registry import resolve

Changes = Mapping[str, Any]  # key -> value, as the page has them


class Explored:
    """The scenario of a page, with the changes of the command line; each variant is a change of it.

    Raises :class:`InputError` if the file cannot be read, or for an engine that there is not.
    """

    def __init__(self, path: str | os.PathLike[str], overrides: Sequence[str] = (), engine: Engine = "auto"):
        check_engine(engine)
        self.path, self.overrides, self.engine = Path(path), tuple(overrides), engine
        self.folder = self.path.parent
        self.base = read_source(path, overrides)
        checked(self.base, ScenarioDocument, REQUIRED)  # so that each value from which controls follow is of its type
        self.base.raise_if_any()

    def controls(self, changes: Changes) -> list[Control]:
        """Return the controls of a variant: its policy decides which options there are."""
        return controls_of(self.base.data, changes.get("policy"))

    def source(self, changes: Changes) -> YamlSource:
        """Return the document of a variant. Raises :class:`InputError` for a change that no control makes."""
        self._check(changes)
        return self.base.overridden(override(key, value) for key, value in changes.items())

    def scenario(self, changes: Changes, seed: int | None = None) -> Scenario:
        """Return the scenario of a variant, with another seed if one is given. Raises :class:`InputError`."""
        source = self.source(changes)
        if seed is not None:
            source = source.changed({"seed": seed})
        return scenario_from(source, self.folder, check_policy=resolve)

    def seed(self, changes: Changes) -> int:
        """Return the seed of a variant."""
        return int(self.source(changes).data.get("seed") or 0)

    def document(self, changes: Changes) -> dict[str, Any]:
        """Return a variant as the contents of a scenario file, without options that only a replaced policy knows."""
        data: dict[str, Any] = prepared(self.source(changes), self.folder)[0].data
        return data

    def _check(self, changes: Changes) -> None:
        controls = {control.key: control for control in self.controls({"policy": self._policy(changes)})}
        problems = []
        for key, value in changes.items():
            if key not in controls:
                problems.append(Problem(key, "a control of this page", "none of that name", "Remove it from the link."))
            elif expected := _wrong(controls[key], value):
                problems.append(Problem(key, expected, shown(value)))
        if problems:
            raise InputError(problems)

    def _policy(self, changes: Changes) -> Any:
        """Return the policy of a variant; code of a file runs only if the scenario names it."""
        own = self.base.data.get("policy", "high")
        wanted = changes.get("policy", own)
        control = next(control for control in controls_of(self.base.data) if control.key == "policy")
        return wanted if wanted in control.words else own


def _wrong(control: Control, value: Any) -> str:
    """Return what is expected of a control's value if it is something else."""
    if control.kind == "choice" and value not in control.words:
        return "one of " + ", ".join(map(str, control.words))
    if control.kind == "switch" and not isinstance(value, bool):
        return "true or false"
    if control.kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number and not (isinstance(value, str) and len(value) < 60):
            return "a number, or one with a unit"
    return ""


def override(key: str, value: Any) -> str:
    """Return a change as --set takes it."""
    return f"{key}={_text(value)}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        is_same = yaml.safe_load(value) == value
    except yaml.YAMLError:
        is_same = False
    return value if is_same else json.dumps(value)
