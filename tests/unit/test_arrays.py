"""The distinct values of columns, counted or sorted."""

import numpy as np
import pytest

from vinesim.model.arrays import MANY_CODES, distinct


@pytest.mark.parametrize(
    "values",
    [
        np.array([], np.int16),
        np.array([3, 0, 3, 7], np.int16),
        np.array([-1, 5, -1, 2], np.int32),
        np.array([MANY_CODES - 1, 4]),
        np.array([MANY_CODES, 4, MANY_CODES]),
        np.array([2.5, 1.0, 2.5]),
        np.array([[3, 1], [1, 2]]),
        np.array([True, False, True]),
    ],
)
def test_distinct_values_are_those_of_numpy_and_of_their_type(values):
    found = distinct(values)
    np.testing.assert_array_equal(found, np.unique(values))
    assert found.dtype == values.dtype
