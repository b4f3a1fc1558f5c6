"""How many slots are free from now on, where all slots are alike: times in order, and the number from each to the next.

After the last one all are free. A search and a change take a binary search and a walk along the times between.
"""

import math
from collections.abc import Mapping
from typing import Any

TIMETABLE: Mapping[str, tuple[str, str]] = {
    "time_us": ("f8", "tasks*4"),
    "n_free": ("i8", "tasks*4"),  # from then on
    "n_times": ("i8", "one"),
}


def begin_timetable(scratch: Any, now_us: float, n: int) -> None:
    """Let n slots be free from now on."""
    scratch.time_us[0], scratch.n_free[0], scratch.n_times[0] = now_us, n, 1


def last_by(scratch: Any, time_us: float) -> int:
    """Return the place of the last of the times that is not after a time; 0 if all are."""
    low, high = 0, int(scratch.n_times[0])
    while high - low > 1:
        middle = (low + high) // 2
        if scratch.time_us[middle] <= time_us:
            low = middle
        else:
            high = middle
    return low


def forget_past(scratch: Any, now_us: float) -> None:
    """Let the timetable begin now."""
    n_past = last_by(scratch, now_us)
    if n_past > 0:
        scratch.n_times[0] -= n_past
        for i in range(int(scratch.n_times[0])):
            scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i + n_past], scratch.n_free[i + n_past]
    scratch.time_us[0] = now_us


def add_free(scratch: Any, begin_us: float, end_us: float, n: int) -> None:
    """Add n free slots from a time, or now, to before another one; fewer if it is negative."""
    begin_us = max(begin_us, scratch.time_us[0])
    if end_us > begin_us:
        first = cut(scratch, begin_us)
        end = cut(scratch, end_us) if end_us < math.inf else int(scratch.n_times[0])
        for i in range(first, end):
            scratch.n_free[i] += n
        join(scratch, end)
        join(scratch, first)


def cut(scratch: Any, time_us: float) -> int:
    """Return the place of a time, not before the first one; insert it if it is missing."""
    place = last_by(scratch, time_us)
    if scratch.time_us[place] == time_us:
        return place
    for i in range(int(scratch.n_times[0]), place + 1, -1):
        scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i - 1], scratch.n_free[i - 1]
    scratch.time_us[place + 1], scratch.n_free[place + 1] = time_us, scratch.n_free[place]
    scratch.n_times[0] += 1
    return place + 1


def join(scratch: Any, place: int) -> None:
    """Remove a time at which nothing changes."""
    if 0 < place < scratch.n_times[0] and scratch.n_free[place] == scratch.n_free[place - 1]:
        scratch.n_times[0] -= 1
        for i in range(place, int(scratch.n_times[0])):
            scratch.time_us[i], scratch.n_free[i] = scratch.time_us[i + 1], scratch.n_free[i + 1]
