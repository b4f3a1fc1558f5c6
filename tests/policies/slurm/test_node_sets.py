"""Sets of nodes as bits do what sets of numbers do."""

import numpy as np
import pytest

from vinesim.policies.slurm.node_sets import ALL, has, n_in, n_in_both, n_words, ones, packed, put, remove


@pytest.mark.parametrize("n", [1, 31, 32, 33, 70])
def test_packed_sets(n: int) -> None:
    given = np.random.default_rng(n).random((3, n)) < 0.5
    sets = packed(given)
    assert sets.shape == (3, n_words(n))
    width, flat = n_words(n), sets.reshape(-1)
    found = [[has(flat, row * width, node) for node in range(n)] for row in range(3)]
    assert np.array_equal(found, given)
    assert [n_in(row) for row in sets] == given.sum(axis=1).tolist()
    assert n_in_both(sets[0], sets[2]) == (given[0] & given[2]).sum()


def test_nodes_come_and_go() -> None:
    sets = np.zeros(6, np.int64)
    for node in (0, 31, 32, 95):
        put(sets, 3, node)
    put(sets, 3, 31)
    remove(sets, 3, 32)
    remove(sets, 3, 40)
    assert [node for node in range(96) if has(sets, 3, node)] == [0, 31, 95]
    assert not sets[:3].any()


@pytest.mark.parametrize("word", [0, 1, 1 << 31, ALL, 0x12345678, 0xFFFF0000])
def test_ones(word: int) -> None:
    assert ones(word) == word.bit_count()
