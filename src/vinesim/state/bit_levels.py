"""Allocate and fill the three levels of the sets of core/bits.py."""

import numpy as np


def sizes(n: int) -> tuple[int, int, int]:
    """How many words the three levels of a set have that can hold 0 to n - 1."""
    words = max(1, -(-n // 64))
    words_1 = -(-words // 64)
    return words, words_1, -(-words_1 // 64)


def of_rows(is_member: np.ndarray) -> np.ndarray:
    """[rows, n / 64] uint64: the first level of a set for each row of [rows, n] bool."""
    n_words = max(1, -(-is_member.shape[1] // 64))
    bits = np.zeros((len(is_member), 64 * n_words), bool)
    bits[:, : is_member.shape[1]] = is_member
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def levels_of_rows(is_member: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three levels of a set for each row of [rows, n] bool."""
    words = of_rows(is_member)
    words_1 = of_rows(words != 0)
    return words, words_1, of_rows(words_1 != 0)
