"""Whole numbers in rows, of which the highest is looked for: the highest of each 64 is kept, and of each 64 of those.

The three levels are arrays, as ``state/layout.py`` lists them: [rows, n], [rows, n / 64] and [rows, n / 4096], int32.
"""

import numpy as np

from vinesim.state.kernel import inlined, kernel, not_negative
from vinesim.state.layout import UNFIT

BLOCK = 64  # numbers of one block


@kernel
def _highest(numbers, row, block):
    """Return the highest of a block of 64 numbers of a row."""
    highest, begin, row = np.int32(UNFIT), not_negative(block << 6), not_negative(row)
    for i in range(min(BLOCK, numbers.shape[1] - begin)):
        highest = max(highest, numbers[row, not_negative(begin + i)])
    return highest


@inlined
def set_in_row(numbers, numbers_1, numbers_2, row, i, number):
    """Set a number of a row, and the highest of its block and of the blocks around it."""
    row, i, found = not_negative(row), not_negative(i), np.int32(number)
    block = i >> 6
    before = numbers[row, i]
    numbers[row, i] = found
    if found < before and before == numbers_1[row, block]:
        found = _highest(numbers, row, block)
    elif found <= numbers_1[row, block]:
        return
    before = numbers_1[row, block]
    numbers_1[row, block] = found
    if found > numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = found
    elif found < before and before == numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = _highest(numbers_1, row, block >> 6)


@inlined
def renew_row(numbers, numbers_1, numbers_2, row):
    """Look for the highest of each block anew, after many numbers of the row were set."""
    for block in range(numbers_1.shape[1]):
        numbers_1[row, block] = _highest(numbers, row, block)
    for block in range(numbers_2.shape[1]):
        numbers_2[row, block] = _highest(numbers_1, row, block)
