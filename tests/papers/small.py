"""The verdicts of an item from fewer runs: one replication, say, where it has several."""

from typing import Any

from vinesim.papers.claim import Verdict
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.registry import items
from vinesim.papers.reproduce import gather


def small_data(item: Item, changes: dict[str, Any] | None = None, replications: int = 1) -> Data:
    return gather(item, changes=changes, workers=1, replications=replications)


def verdicts(item_id: str, changes: dict[str, Any] | None = None, replications: int = 1) -> dict[str, Verdict]:
    item = items()[item_id]
    data = small_data(item, changes, replications)
    return {claim.id: claim.check(data).verdict for claim in item.claims}
