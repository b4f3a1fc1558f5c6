"""The tree of least values, also of a size that is no power of two, against plain Python."""

import numpy as np
import pytest

from vinesim.policies.structures.min_tree import least_of, place_of_least, set_value


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13, 64])
def test_it_gives_the_least_of_any_range_after_any_changes(n):
    rng = np.random.default_rng(n)
    numbers, tree = np.full(n, np.inf), np.full(2 * n, np.inf)
    for _ in range(300):
        i, value = int(rng.integers(n)), rng.choice([*range(5), np.inf])
        numbers[i] = value
        set_value(tree, n, i, value)
        first, end = sorted(rng.integers(0, n + 1, 2).tolist())
        assert least_of(tree, n, first, end, 3.0) == min([3.0, *numbers[first:end]])
        if first < end:
            place = place_of_least(tree, n, first, end)
            assert first <= place < end
            assert numbers[place] == min(numbers[first:end])
        assert tree[1] == min(numbers)
