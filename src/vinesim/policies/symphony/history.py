"""The history table and the performance model: time is linear in size, for each application and processor type.

A row of the table is one application on one processor type. It keeps the last observations in a ring, their sums, and
their least-squares line. The slope and the predictions are never below 0.
Source: Symphony paper, section IV-A3. Cost of an observation: O(1).
"""

import math
from typing import Any

LONGEST = 256  # observations per row
HISTORY_SCRATCH = {
    "size": ("f8", f"groups*types*{LONGEST}"),
    "time": ("f8", f"groups*types*{LONGEST}"),
    "n_seen": ("i8", "groups*types"),
    "sums": ("f8", "groups*types*4"),  # of size, time, size^2, size x time
    "slope": ("f8", "groups*types"),
    "intercept": ("f8", "groups*types"),
}


def observe(book: Any, row: int, window: int, size: float, time: float) -> None:
    """Add an observation to a row that keeps the last ``window``."""
    n = book.n_seen[row]
    place = row * LONGEST + n % window
    if n >= window:
        add(book, row, book.size[place], book.time[place], -1.0)
    book.size[place] = size
    book.time[place] = time
    add(book, row, size, time, 1.0)
    book.n_seen[row] = n + 1
    if (n + 1) % window == 0:  # so that rounding errors do not accumulate
        for k in range(4):
            book.sums[4 * row + k] = 0.0
        for i in range(row * LONGEST, row * LONGEST + window):
            add(book, row, book.size[i], book.time[i], 1.0)
    fit(book, row, min(n + 1, window))


def add(book: Any, row: int, size: float, time: float, sign: float) -> None:
    """Add an observation to the sums of a row, or subtract it."""
    book.sums[4 * row] += sign * size
    book.sums[4 * row + 1] += sign * time
    book.sums[4 * row + 2] += sign * size * size
    book.sums[4 * row + 3] += sign * size * time


def fit(book: Any, row: int, n: int) -> None:
    """Fit a least-squares line to n observations; level if the sizes do not differ or the slope is below 0."""
    x, y, xx, xy = book.sums[4 * row], book.sums[4 * row + 1], book.sums[4 * row + 2], book.sums[4 * row + 3]
    spread = n * xx - x * x
    slope = (n * xy - x * y) / spread if spread > 1e-9 * n * xx else 0.0
    slope = max(0.0, slope)
    book.slope[row] = slope
    book.intercept[row] = (y - slope * x) / n


def is_known(book: Any, row: int) -> bool:
    """Whether the row has an observation."""
    return book.n_seen[row] > 0


def predict(book: Any, row: int, size: float) -> float:
    """Return EPT, the estimated processing time of a size; 0 without history, infinite for a request without end."""
    if size == math.inf:
        return math.inf
    return max(0.0, book.intercept[row] + book.slope[row] * size)
