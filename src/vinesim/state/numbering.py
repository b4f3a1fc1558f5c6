"""Numbers for what is distinct."""

from collections.abc import Sequence

import numpy as np

MOST_CODES = 1 << 62  # of several columns, before they are renumbered
MOST_LEVELS = 1 << 20  # of a column of whole numbers; others are numbered
MOST_IN_TABLE = 1 << 22  # codes, and
MOST_A_ROW = 8  # of them for each row; more are sorted


def coded(columns: Sequence[np.ndarray]) -> np.ndarray:
    """[N] int32: equal for rows that are equal in all columns, from 0, in their order; the first column counts most."""
    code, n_codes = np.zeros(len(columns[0]), np.int64), 1
    for values in columns:
        level, n = _levels(values)
        if n_codes * n > MOST_CODES:
            code = np.unique(code, return_inverse=True)[1]
            n_codes = int(code.max()) + 1
        if n > 1:
            code *= n  # in place: these columns are most of what a model needs while it is made
            code += level
            n_codes *= n
    if n_codes == 1:
        return np.zeros(len(code), np.int32)
    if n_codes > min(MOST_IN_TABLE, MOST_A_ROW * len(code)):
        return np.unique(code, return_inverse=True)[1].astype(np.int32)
    is_present = np.zeros(n_codes, bool)
    is_present[code] = True
    return (np.cumsum(is_present, dtype=np.int32) - np.int32(1))[code]


def first_rows(code: np.ndarray) -> np.ndarray:
    """[codes] int64: the first row of each code, of those that ``coded`` returns."""
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    if len(first) > 1:
        first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return first


def _levels(values: np.ndarray) -> tuple[np.ndarray | int, int]:
    """Return whole numbers, 0 or more, in the order of the values, and a number that is above all of them."""
    least, most = (values.min(), values.max()) if len(values) else (0, 0)
    if least == most:
        return 0, 1
    if values.dtype.kind in "iub" and int(most) - int(least) < MOST_LEVELS:
        return np.subtract(values, int(least), dtype=np.int64), int(most) - int(least) + 1
    found, level = np.unique(values, return_inverse=True)
    return level, len(found)
