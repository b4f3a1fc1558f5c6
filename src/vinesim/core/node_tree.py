"""The rows of the tree over the nodes, four below each: the numbers of the rows above and below a row.

The root is row 3 and the first of the rows below it row 4, so that four rows with the same row above them begin at a
multiple of 4, and lie in one line of memory if a row has up to 8 numbers. The last rows are the leaves, one a node.
``shift`` says how high a row is: there are 1 << shift leaves below it.
"""

import numpy as np

from vinesim.core.bits import lowest
from vinesim.jit.intrinsics import not_negative
from vinesim.state.layout import FAN, ROOT

BITS, LAST = 2, FAN - 1  # FAN as a shift; of four rows, the last


def n_leaves(n_rows):
    """Return how many of the rows are leaves: a power of 4."""
    return (3 * n_rows - 8) >> 2


def leaf(n_rows, node):
    """Return the row of a node."""
    return not_negative(n_rows - n_leaves(n_rows) + node)


def highest(n_rows, node):
    """Return the highest row below the root whose first leaf is that of the node, and its ``shift``."""
    width = n_leaves(n_rows)
    shift = lowest(np.uint64(node | (width >> BITS))) & ~1
    return not_negative(ROOT + (width >> shift) // 3 + (node >> shift)), shift


def above(row):
    return not_negative((row >> BITS) + 2)


def below(row):
    """Return the first of the four rows below a row."""
    return not_negative((row - 2) << BITS)
