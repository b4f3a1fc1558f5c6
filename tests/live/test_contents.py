"""What kernels get and return, as bytes: a header and the bytes of arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.live.clusters import content
from vinesim.live.wire.contents import APART_BYTES, n_bytes_of, parts_of, value_of
from vinesim.live.wire.messages import WrongMessage

ARRAYS = hnp.arrays(
    st.sampled_from(["f8", "f4", "i2", "?", "c16", "U3", "S5"]), hnp.array_shapes(min_dims=0, max_side=40, min_side=0)
)


@given(values=st.lists(ARRAYS | st.integers(-9, 9) | st.binary(max_size=9), max_size=4))
def test_content_comes_back_as_it_was(values):
    parts = parts_of({"a": values})
    assert n_bytes_of(parts) == len(b"".join(parts))
    back = value_of(b"".join(parts))["a"]
    for one, other in zip(back, values, strict=True):
        np.testing.assert_array_equal(one, other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


def test_a_large_array_is_neither_copied_nor_moved_when_it_is_packed_and_read():
    array = np.arange(APART_BYTES, dtype=np.int64)
    parts = parts_of([array])
    assert any(np.shares_memory(np.frombuffer(part, np.uint8), array) for part in parts if len(part))
    data = np.frombuffer(b"".join(parts), np.uint8)
    assert np.shares_memory(value_of(data.data)[0], data)


def test_what_is_not_contiguous_is_sent_too():
    array = np.arange(10_000.0).reshape(100, 100).T[::2]
    np.testing.assert_array_equal(value_of(content(array)), array)


@pytest.mark.parametrize("data", [b"", b"\1", b"\xff" * 8, content(np.zeros(1_000))[:4_000]])
def test_content_that_is_cut_off_or_nonsense_is_refused(data):
    with pytest.raises(WrongMessage):
        value_of(data)


def test_arrays_of_objects_are_not_sent():
    with pytest.raises(TypeError, match="ndarray"):
        parts_of(np.array([object()] * 1_000))
