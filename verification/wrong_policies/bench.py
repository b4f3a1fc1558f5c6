"""Run a paper's items with wrong versions, and see which verdicts turn."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from verification.wrong_policies.wrong import Wrong
from vinesim.formats.results.table import Table
from vinesim.formats.study.file import read_study
from vinesim.model.study import Axis
from vinesim.reproduction.claim import Kind, Verdict
from vinesim.reproduction.item import Item
from vinesim.reproduction.registry import chosen
from vinesim.reproduction.reproduce import gather
from vinesim.reproduction.single import scenario
from vinesim.studies.sweep import Sweep, sweep


class Bench:
    """The items of a paper as they should be, and with something wrong; ``replications`` at most, None: all."""

    def __init__(self, paper: str, replications: int | None):
        self.items = chosen([paper])
        self.replications = replications
        self._sweeps: dict[Path, Sweep] = {}

    @cached_property
    def usual(self) -> dict[str, Verdict]:
        """The verdicts with nothing wrong, by claim."""
        return {name: verdict for item in self.items for name, verdict in self._verdicts(item, self._sweeps).items()}

    def turned(self, wrong: Wrong) -> list[str]:
        """The claims whose verdicts are others with the wrong version, in the order of the items."""
        usual = self.usual
        unknown = set(wrong.about.split()) - set(usual)
        if unknown:
            raise ValueError(f"{wrong.of}, {wrong.version}: about {', '.join(sorted(unknown))}, which are no claims")
        looked_at = [item for item in self.items if not wrong.items or item.id in wrong.items]
        with wrong.in_place():
            again = {} if wrong.changes else {path: self._again(path, wrong.of) for path in self._paths(looked_at)}
            made = {path: sweep for path, sweep in again.items() if sweep is not None}
            found = [self._verdicts(item, made, wrong.changes) for item in looked_at]
        return [name for of in found for name, verdict in of.items() if verdict is not usual[name]]

    def _paths(self, items: list[Item]) -> list[Path]:
        return list(dict.fromkeys(item.study_file(name) for item in items for name in item.studies))

    def _again(self, study_file: Path, policy: str) -> Sweep | None:
        """The sweep of a study with the runs of a policy made again; None where that is all of them."""
        usual = self._sweeps[study_file]
        if not _uses(study_file, policy):
            return usual
        study = usual.study
        named = [(axis, [setting.get("policy") for setting in axis.settings]) for axis in study.axes]
        axis = next((axis for axis, policies in named if policy in policies and all(policies)), None)
        if axis is None:
            return None
        part = _of_policy(axis, policy)
        axes = tuple(part if each is axis else each for each in study.axes)
        new = sweep(replace(study, axes=axes), workers=1).table
        column = axis.columns[0]
        kept = ~np.isin(usual.table[column], [label[0] for label in part.labels])
        columns = {name: np.concatenate([usual.table[name][kept], new[name]]) for name in usual.table}
        return replace(usual, _rows=Table(columns))

    def _verdicts(self, item: Item, made: dict[Path, Sweep], changes: Any = None) -> dict[str, Verdict]:
        data = gather(item, workers=1, made=made, changes=changes, replications=self.replications)
        claims = [claim for claim in item.claims if claim.kind is not Kind.GIVEN]
        return {claim.id: claim.check(data).verdict for claim in claims}


def _of_policy(axis: Axis, policy: str) -> Axis:
    """The positions of an axis at which the policy runs."""
    at = [i for i, setting in enumerate(axis.settings) if setting["policy"] == policy]
    return replace(axis, labels=tuple(axis.labels[i] for i in at), settings=tuple(axis.settings[i] for i in at))


def _uses(study_file: Path, policy: str) -> bool:
    """Whether a run of the study has that policy."""
    study = read_study(study_file)
    of_axes = [[setting.get("policy") for setting in axis.settings] for axis in study.axes]
    if any(policy in named for named in of_axes):
        return True
    is_always_set = any(all(named) for named in of_axes)
    return not is_always_set and scenario(study_file).policy == policy
