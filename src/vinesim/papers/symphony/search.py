"""Find the smallest size that meets a target, by bisection over random runs, with confidence."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from vinesim.studies.statistics import Interval, mean_interval

AT_LEAST, AT_MOST = 3, 6  # replications per size
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Smallest:
    """``size`` meets the target and the next smaller size does not; None: not even the largest does.

    ``is_certain`` if for both sizes the confidence interval lies on one side of the target; otherwise the means
    decided. ``tried`` holds the intervals of the sizes that were tried.
    """

    size: int | None
    is_certain: bool
    tried: dict[int, Interval]


def smallest(value: Callable[[int, int], float], low: int, high: int, target: float) -> Smallest:
    """Return the smallest size from ``low`` to ``high`` whose mean value is at most ``target``.

    ``value`` takes a size and a replication (0, 1 ...); its mean falls with the size. Replications are added until the
    confidence interval lies on one side of the target, or there are ``AT_MOST``.
    """
    tried: dict[int, Interval] = {}

    @cache
    def meets(size: int) -> tuple[bool, bool]:
        values: list[float] = []
        while True:
            values.append(value(size, len(values)))
            found = tried[size] = mean_interval(values, CONFIDENCE)
            is_known = len(values) >= AT_LEAST and (found.high <= target or found.low > target)
            if is_known or len(values) == AT_MOST:
                return found.estimate <= target, is_known

    if not meets(high)[0]:
        return Smallest(None, meets(high)[1], tried)
    below, size = low - 1, high  # `below` does not meet it, `size` does
    while size - below > 1:
        middle = (below + size) // 2
        if meets(middle)[0]:
            size = middle
        else:
            below = middle
    is_certain = meets(size)[1] and (below < low or meets(below)[1])
    return Smallest(size, is_certain, dict(sorted(tried.items())))
