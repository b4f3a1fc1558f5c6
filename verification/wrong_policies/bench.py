"""Run a paper's items with wrong versions, and see which verdicts turn."""

from functools import cached_property
from pathlib import Path
from typing import Any

from verification.wrong_policies.wrong import Wrong
from vinesim.formats.study_file import read_study
from vinesim.papers.claim import Kind, Verdict
from vinesim.papers.item import Item
from vinesim.papers.registry import chosen
from vinesim.papers.reproduce import gather
from vinesim.papers.single import scenario


class Bench:
    """The items of a paper as they should be, and with something wrong; ``replications`` at most, None: all."""

    def __init__(self, paper: str, replications: int | None):
        self.items = chosen([paper])
        self.replications = replications
        self._sweeps: dict[Path, Any] = {}

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
        spared = {} if wrong.changes else {p: s for p, s in self._sweeps.items() if not _uses(p, wrong.of)}
        with wrong.in_place():
            found = [self._verdicts(item, spared, wrong.changes) for item in looked_at]
        return [name for of in found for name, verdict in of.items() if verdict is not usual[name]]

    def _verdicts(self, item: Item, made: dict[Path, Any], changes: Any = None) -> dict[str, Verdict]:
        data = gather(item, workers=1, made=made, changes=changes, replications=self.replications)
        claims = [claim for claim in item.claims if claim.kind is not Kind.GIVEN]
        return {claim.id: claim.check(data).verdict for claim in claims}


def _uses(study_file: Path, policy: str) -> bool:
    """Whether a run of the study has that policy."""
    study = read_study(study_file)
    of_axes = [[setting.get("policy") for setting in axis.settings] for axis in study.axes]
    if any(policy in named for named in of_axes):
        return True
    is_always_set = any(all(named) for named in of_axes)
    return not is_always_set and scenario(study_file).policy == policy
