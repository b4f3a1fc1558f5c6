"""Whole numbers in rows, of which the highest is looked for: the highest of each 64 is kept, and of each 64 of those.

The three levels are arrays, as ``state/arrays.py`` lists them: [rows, n], [rows, n / 64] and [rows, n / 4096], int32.
"""

import numpy as np

from vinesim.core.called import called
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import UNFIT

BLOCK = 64  # numbers of one block


@called
def highest_of(numbers, row, block):
    """Return the highest of a block of 64 numbers of a row."""
    highest, begin, row = np.int32(UNFIT), not_negative(block << 6), not_negative(row)
    for i in range(min(BLOCK, numbers.shape[1] - begin)):
        highest = max(highest, numbers[row, not_negative(begin + i)])
    return highest


def set_in_row(numbers, numbers_1, numbers_2, row, i, number):
    """Set a number of a row, and the highest of its block and of the blocks around it."""
    row, i, found = not_negative(row), not_negative(i), np.int32(number)
    block = i >> 6
    before = numbers[row, i]
    numbers[row, i] = found
    if found < before and before == numbers_1[row, block]:
        found = highest_of(numbers, row, block)
    elif found <= numbers_1[row, block]:
        return
    before = numbers_1[row, block]
    numbers_1[row, block] = found
    if found > numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = found
    elif found < before and before == numbers_2[row, block >> 6]:
        numbers_2[row, block >> 6] = highest_of(numbers_1, row, block >> 6)


def renew_row(numbers, numbers_1, numbers_2, row):
    """Look for the highest of each block again, after many numbers of the row were set."""
    for block in range(numbers_1.shape[1]):
        numbers_1[row, block] = highest_of(numbers, row, block)
    for block in range(numbers_2.shape[1]):
        numbers_2[row, block] = highest_of(numbers_1, row, block)
