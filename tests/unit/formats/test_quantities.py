"""Numbers with units."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vinesim.formats.source.quantities import bandwidth, format_time_us, size_bytes, time_us
from vinesim.model.errors import InputError


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (time_us, "25 us", 25.0),
        (time_us, "30 s", 30e6),
        (time_us, "24 h", 86400e6),
        (time_us, "200 ns", 0.2),
        (time_us, "1.5ms", 1500.0),
        (time_us, 7, 7.0),
        (time_us, "7", 7.0),
        (time_us, "1e3", 1000.0),
        (bandwidth, "10 Gb/s", 1250.0),
        (bandwidth, "1 Gb/s", 125.0),
        (bandwidth, "10 Gbps", 1250.0),
        (bandwidth, "1 GB/s", 1000.0),
        (bandwidth, 1310.72, 1310.72),
        (size_bytes, "8 KiB", 8192.0),
        (size_bytes, "16Gi", 16 * 2.0**30),
        (size_bytes, "1 MB", 1e6),
        (size_bytes, "1 MiB", 2.0**20),
        (size_bytes, "12 B", 12.0),
    ],
)
def test_values(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    "text", ["", "us", "-1 us", "1 parsec", "nan", "inf", "1e400", "1 2", "1_0", "٣ us", True, None]
)
def test_refusals(text):
    with pytest.raises(InputError, match="here: expected"):
        time_us(text, "here")


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, -1, 10**400, [1], {}])
def test_refused_numbers(value):
    for read in (time_us, bandwidth, size_bytes):
        with pytest.raises(InputError):
            read(value)


@given(st.text(max_size=12) | st.from_regex(r"[0-9.e+-]{0,6} ?[a-zA-Z/]{0,4}"))
def test_any_text_gives_a_value_or_an_input_error(text):
    for read in (time_us, bandwidth, size_bytes):
        with contextlib.suppress(InputError):
            assert 0 <= read(text) < math.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 us"),
        (0.2, "200 ns"),
        (25.0, "25.0 us"),
        (274.4, "274 us"),
        (999.96, "1.00 ms"),
        (1518.9, "1.52 ms"),
        (3 * 3600e6, "3.00 h"),
        (90e6, "1.50 min"),
        (86400e6 * 1234, "1,234 d"),
        (math.inf, "inf"),
    ],
)
def test_times_for_people(value, text):
    assert format_time_us(value) == text
