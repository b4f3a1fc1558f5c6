"""The neighbours of the best point are decided before the answer is fixed."""

import pytest

from tests.plans.synthetic import board
from vinesim.plans.conclusion import End, accounted, counts
from vinesim.plans.neighbors import MOST_MOVES, neighbors, settle
from vinesim.plans.search import search
from vinesim.plans.verdicts import Verdict


@pytest.mark.parametrize(("runs", "more"), [(30, {}), (100, {}), (1000, {"budget": {"runs": 1000, "gap": "30 %"}})])
def test_no_neighbour_that_holds_is_better_than_the_answer(runs, more):
    found = board(1, runs, 130, **more)
    search(found)
    asked, before = found.runs.n_asked, found.best.value()
    settle(found)
    assert found.runs.n_asked == asked <= runs  # the neighbours are beyond the budget
    assert found.best.value() <= before
    steps = neighbors(found, found.best)
    assert len(steps) > 2
    for each in steps:
        if each.row.verdict is Verdict.HOLDS:
            assert each.change.estimate >= 0
    assert not found.is_settling


def test_a_better_neighbour_takes_the_place_of_the_best_point():
    """From a generous point, with no budget left: cheaper ones with full looks, one step after the other."""
    found = board(1, 20, 115)
    start = found.space.number((12, 12, 0))
    found.look([start], 20)
    assert (found.best.point, found.n_left) == (start, 0)
    settle(found)
    assert found.best.value() == found.candidates[start].value() - MOST_MOVES * 3000  # a GPU less each time
    assert found.runs.n_asked == 20
    beyond = found.runs.n_beyond
    assert beyond >= MOST_MOVES
    assert f" 20 runs, and {beyond:,} beyond the budget" in accounted(counts(found), found, End.SPENT)
    here = found.space.label(found.best.point)
    whys = {each.row.why for each in neighbors(found, found.best) if each.label < here[each.choice]}
    assert whys == {"not simulated"}  # it does not go on for ever, and promises nothing about what it did not look at


def test_neighbours_that_are_left_out_say_why():
    found = board(0, 1000, 115)
    search(found)
    screened = next(
        int(p) for p in found.screened.left if any(q in found.screened.why for q in found.space.neighbors(int(p)))
    )
    found.look([screened], 3)
    whys = [each.row.why for each in neighbors(found, found.candidates[screened])]
    assert any(why.startswith("overloaded") for why in whys)
