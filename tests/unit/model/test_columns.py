"""A table of a result has the columns that are declared, in their order and their types."""

import numpy as np
import pytest

from vinesim.model.columns import PERIODS, SEGMENTS, TABLES

VALUES = {
    "amount": np.ones(2),
    "outcome": np.array(["moved", "finished"]),
    **{name: np.zeros(2) for name in ("begin_us", "start_us", "end_us")},
    **{name: np.arange(2) for name in ("task", "segment", "unit")},
}


def test_columns_are_in_the_declared_order_and_types_and_an_optional_one_may_be_left_out():
    found = SEGMENTS.of(VALUES | {"part": None})
    assert tuple(found) == SEGMENTS.always
    assert found["segment"].dtype == np.int32
    assert found["begin_us"] is VALUES["begin_us"]
    assert list(SEGMENTS.of(VALUES | {"part": np.arange(2)})) == [column.name for column in SEGMENTS.columns]


def test_a_column_that_is_not_declared_or_missing_or_of_another_kind_is_an_error():
    with pytest.raises(KeyError, match="speed"):
        SEGMENTS.of(VALUES | {"speed": np.ones(2)})
    with pytest.raises(KeyError, match="unit"):
        SEGMENTS.of({name: column for name, column in VALUES.items() if name != "unit"})
    with pytest.raises(TypeError, match="int32"):
        SEGMENTS.of(VALUES | {"unit": np.ones(2)})


def test_the_columns_that_tell_a_row_from_the_others_are_never_left_out():
    for table in TABLES:
        assert {*table.key.split(", ")} <= {*table.always}
        assert len({column.name for column in table.columns}) == len(table.columns)
    assert "optimum_j" not in PERIODS.always
