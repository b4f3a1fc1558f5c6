from hypothesis import given
from hypothesis import strategies as st

from vinesim.policies.structures.min_tree import first_within, least_of, set_value, size_of_tree

VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0, float("inf")])


@given(st.lists(VALUES, min_size=1, max_size=40), st.data())
def test_it_answers_as_a_list_does(values, data):
    n = len(values)
    size = size_of_tree(n)
    tree = [float("inf")] * (2 * size)
    assert len(tree) <= 4 * n
    for i in data.draw(st.permutations(range(n))):
        set_value(tree, size, i, 0.5)  # is replaced
        set_value(tree, size, i, values[i])
    for _ in range(10):
        first, end = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
        limit = data.draw(VALUES)
        assert least_of(tree, size, first, end, float("inf")) == min(values[first:end], default=float("inf"))
        below = [i for i in range(first, end) if values[i] < limit]
        within = [i for i in range(first, end) if values[i] <= limit]
        assert first_within(tree, size, first, end, limit, False) == (below[0] if below else -1)
        if first < end <= n and limit < float("inf"):
            assert first_within(tree, size, first, end, limit, True) == (within[0] if within else -1)
