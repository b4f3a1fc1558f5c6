"""The verdicts of an item from fewer runs, such as one replication instead of several."""

from functools import cache
from typing import Any

from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.registry import items
from vinesim.reproduction.reproduce import gather

REPLICATIONS = {"fig4": 3}  # one is not enough for F4.9: at two of its 35 points chance makes 8 %


def small_data(item: Item, changes: dict[str, Any] | None = None) -> Data:
    return gather(item, changes=changes, workers=1, replications=REPLICATIONS.get(item.id, 1))


@cache
def usual_data(item_id: str) -> Data:
    """Return the unchanged data, which several tests share."""
    return small_data(items()[item_id])


def verdicts(item_id: str, changes: dict[str, Any] | None = None) -> dict[str, Verdict]:
    data = usual_data(item_id) if changes is None else small_data(items()[item_id], changes)
    return {claim.id: claim.check(data).verdict for claim in items()[item_id].claims}
