"""The loop over policies that the checks of random scenarios share."""

import pytest

from tests.properties.equivalence import Checked
from verification import crossed, each_policy, nodes, scenarios
from vinesim.core import code


def check(seed, name):
    if seed == 3:
        raise ValueError("no such scenario")
    return Checked({}, "ALL_DONE", ["tasks"] if seed == 4 else [], [])


def shares(n):
    return {"flat": n, "high": n}


def test_a_crash_is_reported_with_its_seed_and_the_others_are_checked():
    found = each_policy.look_at(check, "high", 6, 0)
    assert found.ends == {"ALL_DONE": 5, "crashed": 1}
    assert (found.n_different, found.n_violating) == (1, 1)
    crash, difference = found.texts
    assert "seed 3, high" in crash
    assert "ValueError: no such scenario" in crash
    assert "seed 4, high" in difference


def test_the_second_half_is_inlined_and_nothing_after_it():
    seen = []

    def check(seed, name):
        seen.append(code.INLINED_FROM)
        return Checked({}, "ALL_DONE", [], [])

    before = code.INLINED_FROM
    each_policy.look_at(check, "high", 5, 0)
    assert seen == [before, before, before, 0, 0]
    assert before == code.INLINED_FROM > 0


def test_one_policy_gets_all_of_them(capsys):
    assert each_policy.main(None, check, shares, ["3", "--workers", "1"]) == 0
    assert "6 scenarios of 2 policies" in capsys.readouterr().out
    assert each_policy.main(None, check, shares, ["4", "--workers", "1", "--policy", "high", "--first-seed", "0"]) == 1
    assert "a rule is broken in 1" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [scenarios, nodes, crossed])
def test_an_unknown_policy_is_refused(kind, capsys):
    with pytest.raises(SystemExit):
        kind.main(["--policy", "nobody"])
    assert "'nobody'" in capsys.readouterr().err
