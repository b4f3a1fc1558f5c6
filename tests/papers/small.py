"""The verdicts of an item from fewer runs: one replication, say, where it has several."""

from typing import Any

from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.registry import items
from vinesim.reproduction.reproduce import gather


def small_data(item: Item, changes: dict[str, Any] | None = None, replications: int = 1) -> Data:
    return gather(item, changes=changes, workers=1, replications=replications)


def verdicts(item_id: str, changes: dict[str, Any] | None = None, replications: int = 1) -> dict[str, Verdict]:
    item = items()[item_id]
    data = small_data(item, changes, replications)
    return {claim.id: claim.check(data).verdict for claim in item.claims}
