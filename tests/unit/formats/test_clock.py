"""Points in time for people: dates where it is known when a run began, and times where it is not."""

import math

import pytest

from vinesim.formats.source.clock import Clock
from vinesim.model.errors import InputError

DAY_US, HOUR_US = 86400e6, 3600e6


@pytest.fixture
def clock():
    return Clock.of("2024-05-06 23:30:00")


def test_times_are_dates_if_the_start_is_known(clock):
    assert clock.at(HOUR_US) == "2024-05-07 00:30:00"
    assert Clock().at(HOUR_US) == "1.00 h"
    assert clock.at(None) == "-"


@pytest.mark.parametrize("us", [math.inf, 1e30])
def test_a_time_beyond_all_dates_is_a_time(clock, us):
    assert "-" not in clock.at(us)


def test_spans(clock):
    assert clock.span(0.0, 60e6) == "from 2024-05-06 23:30:00 to 23:31:00"
    assert clock.span(0.0, HOUR_US) == "from 2024-05-06 23:30:00 to 2024-05-07 00:30:00"
    assert clock.span(0.0, 25.0) == "at 2024-05-06 23:30:00 for 25.0 us"


def test_a_window_is_read_as_times_or_dates(clock):
    assert clock.window_us(0.0, None, DAY_US) == (0.0, DAY_US)
    assert clock.window_us("1 h", "30 d", DAY_US) == (HOUR_US, DAY_US)
    assert clock.window_us("2024-05-07 00:30", "2024-05-07T01:30:00", DAY_US) == (HOUR_US, 2 * HOUR_US)
    assert clock.window_us("2024-05-01", "2024-05-07", DAY_US) == (0.0, HOUR_US / 2)
    assert Clock.of("2024-05-06T23:30+02:00").time_us("2024-05-06T22:30Z", "--from") == HOUR_US


@pytest.mark.parametrize(
    ("begin", "end", "words"),
    [
        ("2 h", "1 h", "0 <= from < to, within the run of 1.00 d"),
        ("2 d", None, "0 <= from < to, within the run of 1.00 d"),
        ("-1", None, "a time, 0 or more"),
        ("yesterday", None, "or a date, such as 2024-05-06"),
    ],
)
def test_a_window_that_is_none(clock, begin, end, words):
    with pytest.raises(InputError) as found:
        clock.window_us(begin, end, DAY_US)
    assert words in str(found.value)


def test_without_a_start_no_date_is_asked_for():
    with pytest.raises(InputError) as found:
        Clock().window_us("2024-05-07", None)
    assert "date" not in str(found.value)


@pytest.mark.parametrize("value", ["2024-13-01", "", 7, None])
def test_a_start_that_is_no_date(value):
    from vinesim.formats.source.clock import date_of

    with pytest.raises(InputError, match="start_date: expected a date, such as 2024-05-06"):
        date_of(value, "start_date")
