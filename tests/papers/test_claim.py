"""What a claim says of itself: its kind, its rule in words and numbers, its note, and what was measured."""

import pytest

from vinesim.reproduction.claim import Claim, Kind, OtherReading, Verdict, shown
from vinesim.reproduction.criteria import (
    About,
    Above,
    Alike,
    All,
    Below,
    Each,
    Equal,
    Falling,
    Parts,
    Share,
    Some,
    Within,
)
from vinesim.reproduction.data import Data


def claim(measured, judge, **others) -> Claim:
    given = {"id": "X1", "source": "section 1", "statement": "so", "expected": "1"} | others
    return Claim(measure=lambda _: measured, judge=judge, **given)


def row(measured, judge, **others) -> dict[str, str]:
    return claim(measured, judge, **others).check(Data({})).row()


def test_a_row_has_kind_rule_and_note_whatever_the_verdict():
    for measured, verdict in ((20, "reproduced"), (17, "partly"), (3, "not reproduced")):
        found = row(measured, Within(20, 0.05), partly=Within(20, 0.2), note="chosen so that it is 20")
        assert found["verdict"] == verdict
        assert found["kind"] == "claim"
        assert found["rule"] == "reproduced: within 5 % of 20 (19 to 21); partly: within 20 % of 20 (16 to 24)"
        assert found["note"] == "chosen so that it is 20"


def test_without_a_note_there_is_one_only_where_the_rule_is_not_met():
    assert "note" not in row(20, Equal(20))
    assert row(3, Equal(20))["note"] == "outside the rule"


@pytest.mark.parametrize("kind", Kind)
def test_the_kind_is_in_the_row(kind):
    assert row(1, Equal(1), kind=kind)["kind"] == kind.value


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (Within(-2, 0.5), "within 50 % of -2 (-3 to -1)"),
        (Equal(500.0), "exactly 500"),
        (Equal(0), "exactly 0"),
        (Equal(True), "yes"),
        (Equal({"CPU": 6, "GPU": 7}), "exactly CPU: 6, GPU: 7"),
        (About(10), "about 10: 3.162 to 31.62"),
        (Each(Above(1)), "each above 1"),
        (Some(Above(1)), "at least one above 1"),
        (Share(0.8, Below(2)), "at least 80 % of them below 2"),
        (Falling(0.1), "falling, rises of up to 10 % allowed"),
        (Alike(0.02), "equal within 2 %"),
        (Parts(Above(1), Above(1), Equal(0)), "in order: above 1 (2 times); exactly 0"),
        (Parts(Above(1)), "above 1"),
        (Parts(Within(10, 0.1), Within(20, 0.1), Above(1)), "in order: within 10 % of 10, 20; above 1"),
        (Parts(Within(10, 0.1), Within(10, 0.1)), "in order: within 10 % of 10 (9 to 11) (2 times)"),
        (
            Parts(Within(10, 0.1), Within(20, 0.2)),
            "in order: within 10 % of 10 (9 to 11); within 20 % of 20 (16 to 24)",
        ),
        (All(Falling(), Each(Above(1))), "falling and each above 1"),
    ],
)
def test_criteria_say_their_numbers(criterion, words):
    assert str(criterion) == words


def test_many_points_are_counted_and_those_that_fail_are_named():
    points = {f"{iat} us": 1.0 for iat in range(1, 21)} | {"5 us": 1.6, "7 us": 0.5}
    text = shown(points, "", Each(Within(1, 0.1)))
    assert text == "18 of 20; from 0.5 (7 us) to 1.6 (5 us); not 5 us: 1.6, 7 us: 0.5"
    assert shown({"5 us": 1.6, "7 us": 0.5}, "", Each(Within(1, 0.1))) == "5 us: 1.6, 7 us: 0.5"
    assert shown(points, "", Share(0.5, Within(1, 0.1))) == text
    most = {f"{n}": float(n) for n in range(30)}
    assert shown(most, "us", Each(Above(20))).endswith("not 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5 and 15 more us")


def test_another_reading_is_judged_by_the_same_rule():
    found = row(3, Equal(20), other_reading=OtherReading("as printed", lambda _: 20))
    assert found["other_reading"] == "as printed: 20 (reproduced)"


def test_a_verdict_is_one_of_three():
    assert [str(verdict) for verdict in Verdict] == ["reproduced", "partly", "not reproduced"]
