"""The three-level bit sets against Python's ``set``."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels import with_kernels
from vinesim.core import bits
from vinesim.state import bit_levels

INSERT, REMOVE = range(2)


@with_kernels
def apply(words, words_1, words_2, row, kinds, members):
    for kind, i in zip(kinds, members):  # noqa: B905  (compiled)
        if kind == INSERT:
            bits.insert(words, words_1, words_2, row, i)
        else:
            bits.remove(words, words_1, words_2, row, i)


@with_kernels
def ask(words, words_1, words_2, row, questions, found):
    for q in range(len(questions)):
        found[q, 0] = bits.contains(words, row, questions[q])
        found[q, 1] = bits.at_or_after(words, words_1, words_2, row, questions[q])
        found[q, 2] = bits.at_or_before(words, words_1, words_2, row, questions[q])
        found[q, 3] = bits.first(words, words_1, words_2, row)


@with_kernels
def count_and_ends(word):
    return bits.count_ones(word), bits.lowest(word), bits.highest(word)


def answers(levels, row, questions):
    found = np.zeros((len(questions), 4), np.int64)
    ask(*levels, row, np.array(questions, np.int64), found)
    return found.tolist()


def expected(members, questions):
    ordered = np.array(sorted(members), np.int64)
    rows = []
    for q in questions:
        i, j = np.searchsorted(ordered, q), np.searchsorted(ordered, q, side="right")
        after = int(ordered[i]) if i < len(ordered) else -1
        before = int(ordered[j - 1]) if j else -1
        rows.append([int(q in members), after, before, min(members, default=-1)])
    return rows


SIZES = st.sampled_from([1, 2, 63, 64, 65, 4095, 4096, 4097, 70_000, 262_144, 262_145, 300_000])


@st.composite
def histories(draw):
    """A set's size, changes and questions; members cluster round word and block boundaries, where errors live."""
    n = draw(SIZES)
    near = [b + d for b in (0, 64, 4096, 8192, 262_144, n - 1) for d in (-1, 0, 1)]
    one = st.one_of(st.integers(0, n - 1), st.sampled_from([i for i in near if 0 <= i < n]))
    changes = draw(st.lists(st.tuples(st.sampled_from([INSERT, INSERT, REMOVE]), one), max_size=60))
    return n, changes, [*draw(st.lists(one, min_size=1, max_size=20)), 0, n - 1]


def of(n_rows, n, row=0, members=()):
    """The levels of sets that are empty, but for one row."""
    is_member = np.zeros((n_rows, n), bool)
    is_member[row, np.array(members, np.int64)] = True
    return bit_levels.levels_of_rows(is_member)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(history=histories())
def test_a_bit_set_is_a_set(history):
    n, changes, questions = history
    levels = of(3, n)
    members: set[int] = set()
    for kind, i in changes:
        (members.add if kind == INSERT else members.discard)(i)
    apply(*levels, 1, np.array([k for k, _ in changes], np.int64), np.array([i for _, i in changes], np.int64))
    assert answers(levels, 1, questions) == expected(members, questions)
    for row in (0, 2):  # the neighbours are untouched
        assert all(not level[row].any() for level in levels)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(history=histories())
def test_filled_at_once_is_inserted_one_by_one(history):
    n, changes, _ = history
    members = sorted({i for _, i in changes})
    once, one_by_one = of(2, n, 1, members), of(2, n)
    apply(*one_by_one, 1, np.zeros(len(members), np.int64), np.array(members, np.int64))
    for a, b in zip(once, one_by_one, strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("n", [64, 5000, 300_000])
def test_walking_a_random_set_visits_every_member(n):
    random = np.random.default_rng(n)
    members = np.unique(random.integers(0, n, 3000))
    levels = of(1, n, 0, members)
    up = [row[1] for row in answers(levels, 0, [0, *(members[:-1] + 1)])]
    assert up == members.tolist()
    down = [row[2] for row in answers(levels, 0, [*(members[1:] - 1), n - 1])]
    assert down == members.tolist()
    apply(*levels, 0, np.ones(len(members), np.int64), members)
    assert all(not level.any() for level in levels)


@pytest.mark.parametrize("i", [10, 11, 62, 63])
def test_beyond_the_end_is_nothing(i):
    levels = of(1, 10, 0, np.arange(10))
    assert answers(levels, 0, [9]) == [[1, 9, 9, 0]]
    assert answers(levels, 0, [i]) == [[0, -1, 9, 0]]


@given(word=st.integers(1, 2**64 - 1))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_bits_of_a_word(word):
    ones, low, high = count_and_ends(np.uint64(word))
    assert ones == bin(word).count("1")
    assert low == (word & -word).bit_length() - 1
    assert high == word.bit_length() - 1
