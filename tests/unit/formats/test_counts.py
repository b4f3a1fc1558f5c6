"""Series of counts and times of requests: both sides of their limits."""

import numpy as np
import pytest

from vinesim.formats.importers.counts import LAST_S, read_counts, to_time_us
from vinesim.formats.importers.request_times import MAX_INTERVALS, counted
from vinesim.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(LAST_S), LAST_S * 1e6),
        (str(-LAST_S), -LAST_S * 1e6),
        (str(LAST_S + 1), None),
        ("1e300", None),
        ("1" * 400, None),
        ("inf", None),
        ("nan", None),
        ("1970-01-01T00:00:01", 1e6),
        ("9999-12-31T23:59:59", (LAST_S - 1) * 1e6),
        ("soon", None),
    ],
)
def test_a_time_is_in_seconds_until_the_year_9999_or_a_date(text, expected):
    assert to_time_us(text) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("0,0\n1,5\n", ""),
        ("0,1\n0,5\n", "series.csv:2:1: expected a time after that of the line before"),
        ("0,1\n5\n", "series.csv:2:2: expected a count"),
        ("0,1\n5,inf\n", "series.csv:2:2: expected a count"),
        ("0,1\n5,-1\n", "series.csv:2:2: expected a count"),
        ("0,1\n1,2,3\n", "series.csv:2:1: expected two fields"),
        ("0,1\n", "series.csv: expected at least two lines"),
    ],
)
def test_each_line_of_a_series_has_a_later_time_and_a_count(tmp_path, lines, expected):
    path = tmp_path / "series.csv"
    path.write_text(lines)
    if not expected:
        assert read_counts(path)[1].tolist() == [0, 5]
        return
    with pytest.raises(InputError) as error:
        read_counts(path)
    assert str(error.value).removeprefix(f"{tmp_path}/").startswith(expected)


def test_a_log_is_cut_into_two_intervals_or_more_and_not_into_too_many():
    times_us = np.array([0.0, 10.0])
    assert counted(times_us, 10.0).tolist() == [1, 1]
    assert len(counted(times_us, 10.0 / (MAX_INTERVALS - 1))) == MAX_INTERVALS
    for interval_us in (10.1, 10.0 / MAX_INTERVALS, 0.0):
        with pytest.raises(InputError, match="a time that divides"):
            counted(times_us, interval_us)
