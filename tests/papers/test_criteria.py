import math

import pytest

from vinesim.reproduction.claim import shown
from vinesim.reproduction.criteria import (
    About,
    Above,
    Alike,
    All,
    Below,
    Between,
    Each,
    Equal,
    Falling,
    Parts,
    Rising,
    Share,
    Some,
    Within,
)


@pytest.mark.parametrize(
    ("criterion", "agrees", "differs"),
    [
        (Within(20, 0.05), [19, 20, 21], [18.9, 21.1, -20, math.nan]),
        (Within(-2, 0.5), [-1, -3], [1, 2]),
        (Between(1, 3), [1, 3], [0.99, 3.01, math.nan]),
        (Above(1), [1.01], [1, math.nan]),
        (Below(1), [0.99], [1, math.nan]),
        (Equal(500.0), [500, 500 * (1 + 1e-12)], [500.001, math.nan]),
        (Equal(0), [0.0, 1e-13], [1e-6]),
        (Equal("GPU"), ["GPU"], ["CPU"]),
        (Rising(), [[1, 2, 3], {"a": 1, "b": 2}], [[1, 1], [2, 1], [1, math.nan]]),
        (Rising(0.1), [[10, 9.5, 11]], [[10, 8.9]]),
        (Falling(), [[3, 2], {"a": 2, "b": 1}], [[1, 1], [1, 2], [math.nan, 1]]),
        (Falling(0.1), [[10, 10.5]], [[10, 11.1]]),
        (Alike(0.05), [[100, 105], {"a": 1, "b": 1}], [[100, 106], [1, math.nan, 1]]),
        (Each(Above(1)), [[2, 3], 2], [[2, 1], [], [2, math.nan]]),
        (Some(Above(1)), [[0, 3]], [[0, 1], [], [math.nan]]),
        (Share(0.75, Above(1)), [[2, 2, 2, 1], {"a": 2}], [[2, 2, 1, 1], [], [math.nan]]),
        (Parts(Equal(1), Above(1)), [[1, 2], {"a": 1, "b": 2}], [[2, 2], [1, 1], [1], [1, 2, 3]]),
        (All(Rising(), Each(Below(5))), [[1, 2]], [[2, 1], [1, 5]]),
        (About(10), [3.2, 10, 31.6], [3.1, 31.7, math.nan]),
    ],
)
def test_a_criterion_tells_agreement_from_difference(criterion, agrees, differs):
    assert [measured for measured in agrees if not criterion.holds(measured)] == []
    assert [measured for measured in differs if criterion.holds(measured)] == []
    assert str(criterion)


@pytest.mark.parametrize(
    ("measured", "unit", "text"),
    [
        (20.0, "", "20"),
        (1 / 3, "us", "0.3333 us"),
        (9412.5, "us", "9,412 us"),
        (1_200_000, "", "1,200,000"),
        ([1, 2.5], "ms", "1, 2.5 ms"),
        ({"GPU": 25.0, "CPU": 500}, "us", "GPU: 25, CPU: 500 us"),
        ("GPU", "", "GPU"),
        (True, "", "yes"),
        (None, "us", "-"),
        (math.nan, "us", "nan us"),
    ],
)
def test_measurements_are_shown_in_four_digits(measured, unit, text):
    assert shown(measured, unit) == text
