"""Sets of nodes as bits, WORD of them in an integer. With 1,000 nodes, backfill examines millions of sets.

An array may hold several sets; ``first`` is the index where the integers of one set begin.
"""

import numpy as np

WORD = 32
ALL = 2**WORD - 1


def n_words(n_nodes):
    """Return the number of integers that hold a set of nodes."""
    return (n_nodes + WORD - 1) // WORD


def packed(sets):
    """Return sets [..., N], given as booleans, as integers [..., W]."""
    given = np.asarray(sets, bool)
    bits = np.zeros((*given.shape[:-1], n_words(given.shape[-1]) * WORD), np.int64)
    bits[..., : given.shape[-1]] = given
    return bits.reshape(*given.shape[:-1], -1, WORD) @ (1 << np.arange(WORD))


def has(sets, first, node):
    """Whether a node is in a set."""
    return (sets[first + node // WORD] >> (node % WORD)) & 1 == 1


def put(sets, first, node):
    """Put a node into a set."""
    sets[first + node // WORD] |= 1 << (node % WORD)


def remove(sets, first, node):
    """Take a node out of a set."""
    sets[first + node // WORD] &= ALL - (1 << (node % WORD))


def fill(values, value):
    """Set all values of an array to ``value``."""
    for i in range(values.shape[0]):
        values[i] = value


def n_in(nodes):
    """Return the number of nodes in a set."""
    n = 0
    for word in range(nodes.shape[0]):
        n += ones(nodes[word])
    return n


def n_in_both(nodes, others):
    """Return the number of nodes that two sets have in common."""
    n = 0
    for word in range(nodes.shape[0]):
        n += ones(nodes[word] & others[word])
    return n


def ones(word):
    """Return the number of 1 bits of an integer, added up by 2, 4 and 8 bits and then over all."""
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 0xFF
