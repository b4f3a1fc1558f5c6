"""What searches may take for granted about room, in the core and in policies.

A search is cut short where what was found for one task holds for others like it, or what was found of one unit for
others. Power caps, reservations and quotas look beyond a node: at its rack, at the time, at other jobs. Every shortcut
asks one of these functions, so a further rule of that kind is added here, once.
"""

from typing import Any


def is_room_local(model: Any) -> bool:
    """Whether a task has room at a node if what is taken there leaves it: no power caps, no reservations."""
    return len(model.cap_mw) == 0 and len(model.reserved_first) == 0


def is_start_local(model: Any) -> bool:
    """Whether it may start there too: no quotas either."""
    return is_room_local(model) and len(model.quota_limit) == 0


def is_start_alike(model: Any) -> bool:
    """Whether tasks that demand the same may start on the same units: no gangs and no partitions either."""
    return is_start_local(model) and len(model.job_gang) == 0 and len(model.job_partition) == 0


def is_room_alike(model: Any) -> bool:
    """Whether every task may start on a unit with any room whose type can run it: each takes a whole unit."""
    return is_start_alike(model) and len(model.task_demand) == 0
