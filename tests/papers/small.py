"""The data of an item from fewer runs: one replication where the item has several."""

from dataclasses import replace
from functools import partial
from typing import Any

from vinesim.formats.study_file import read_study
from vinesim.papers.claim import Verdict
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.registry import items
from vinesim.papers.single import changed
from vinesim.studies.sweep import sweep


def small_data(item: Item, changes: dict[str, Any] | None = None) -> Data:
    changes = changes or {}
    studies = {name: changed(read_study(item.study_file(name)), changes) for name in item.studies}
    tables = {name: sweep(replace(study, replications=1), workers=1).table for name, study in studies.items()}
    return Data(tables, {name: partial(run, changes) for name, run in item.runs.items()})


def verdicts(item_id: str, changes: dict[str, Any] | None = None) -> dict[str, Verdict]:
    item = items()[item_id]
    data = small_data(item, changes)
    return {claim.id: claim.check(data).verdict for claim in item.claims}
