"""A set of integers as bits in three levels of 64-bit words: next member, k-th member, insert, remove in O(1).

Holds 64^3 words of 64 bits with two look-ups per step; larger sets scan the words of the top level.
"""

import numpy as np

from vinesim.jit.intrinsics import bits_of, count_ones, leading_zeros, not_negative, trailing_zeros  # noqa: F401

ONE = np.uint64(1)
ZERO = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def lowest(word):
    return np.int64(trailing_zeros(word))


def insert(words, words_1, words_2, row, i):
    w = not_negative(i >> 6)
    before = words[row, w]
    words[row, w] = before | (ONE << np.uint64(i & 63))
    if before == ZERO:
        words_1[row, w >> 6] |= ONE << np.uint64(w & 63)
        words_2[row, w >> 12] |= ONE << np.uint64((w >> 6) & 63)


def remove(words, words_1, words_2, row, i):
    """Returns the word that the member was in, without it."""
    w = not_negative(i >> 6)
    left = words[row, w] & ~(ONE << np.uint64(i & 63))
    words[row, w] = left
    if left == ZERO:
        left_1 = words_1[row, w >> 6] & ~(ONE << np.uint64(w & 63))
        words_1[row, w >> 6] = left_1
        if left_1 == ZERO:
            words_2[row, w >> 12] &= ~(ONE << np.uint64((w >> 6) & 63))
    return left


def contains(words, row, i):
    return (words[row, i >> 6] >> np.uint64(i & 63)) & ONE != ZERO


def first(words, words_1, words_2, row):
    """Return the smallest member; -1 if there is none."""
    t = np.int64(0)
    while words_2[row, not_negative(t)] == ZERO:
        t += 1
        if t == words_2.shape[1]:
            return -1
    v = not_negative((t << 6) + lowest(words_2[row, not_negative(t)]))
    w = not_negative((v << 6) + lowest(words_1[row, v]))
    return (w << 6) + lowest(words[row, w])


def at_or_after(words, words_1, words_2, row, i):
    """Return the smallest member that is i or more; -1 if there is none."""
    w = i >> 6
    if w >= words.shape[1]:
        return -1
    rest = words[row, w] & (ALL << np.uint64(i & 63))
    if rest != ZERO:
        return (w << 6) + lowest(rest)
    w += 1
    v = w >> 6
    if v >= words_1.shape[1]:
        return -1
    rest = words_1[row, v] & (ALL << np.uint64(w & 63))
    if rest == ZERO:
        v += 1
        t = v >> 6
        if t >= words_2.shape[1]:
            return -1
        rest = words_2[row, t] & (ALL << np.uint64(v & 63))
        while rest == ZERO:
            t += 1
            if t >= words_2.shape[1]:
                return -1
            rest = words_2[row, t]
        v = (t << 6) + lowest(rest)
        rest = words_1[row, v]
    w = (v << 6) + lowest(rest)
    return (w << 6) + lowest(words[row, w])


def highest(word):
    return np.int64(63) - np.int64(leading_zeros(word))


def at_or_before(words, words_1, words_2, row, i):
    """Return the largest member that is i or less; -1 if there is none."""
    if i < 0:
        return -1
    w = i >> 6
    rest = words[row, w] & (ALL >> np.uint64(63 - (i & 63)))
    if rest != ZERO:
        return (w << 6) + highest(rest)
    w -= 1
    if w < 0:
        return -1
    v = w >> 6
    rest = words_1[row, v] & (ALL >> np.uint64(63 - (w & 63)))
    if rest == ZERO:
        v -= 1
        if v < 0:
            return -1
        t = v >> 6
        rest = words_2[row, t] & (ALL >> np.uint64(63 - (v & 63)))
        while rest == ZERO:
            t -= 1
            if t < 0:
                return -1
            rest = words_2[row, t]
        v = (t << 6) + highest(rest)
        rest = words_1[row, v]
    w = (v << 6) + highest(rest)
    return (w << 6) + highest(words[row, w])
