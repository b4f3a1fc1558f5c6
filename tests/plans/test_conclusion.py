"""What a search concludes: the three ends without an answer, the account of all points, and the budget that decides."""

import numpy as np
import pytest

from tests.plans.conftest import CPUS, GPUS
from tests.plans.synthetic import board
from vinesim.plans.candidate import Candidate
from vinesim.plans.conclusion import End, accounted, counts, ended, proof, runs_to_decide, still_open, why_none
from vinesim.plans.search import search
from vinesim.plans.verdicts import Judgement, Verdict

KNOWN = ("screened", "holds", "fails", "undecided", "cannot_be_better", "ruled_out", "not_run")


def at_the_limit(of, share):
    """Make a share of a board's points lie at its limit, and all others far beyond it."""
    limit = of.plan.limits[0].value
    of.runs.latency = lambda point: (limit if point % 100 < 100 * share else 10 * limit) / np.exp(0.005)
    return of


def test_none_holds_if_all_are_decided():
    found = board(0, 20_000, limit=1.0, n=8)
    end = search(found)
    assert (end, found.best) == (End.DECIDED, None)
    assert why_none(found, end).startswith("No candidate keeps all limits: ")
    assert runs_to_decide(found) is None


def test_none_is_found_within_the_budget():
    found = board(0, 12, limit=60.0)
    end = search(found)
    assert (end, found.best) == (End.SPENT, None)
    text = why_none(found, end)
    left = len(found.screened.left)
    assert text.startswith("No candidate that keeps all limits was found: the budget of 12 runs is spent, with ")
    assert f"{len(found.candidates)} of the {left:,} candidates simulated" in text
    assert f"To decide that, raise budget.runs to about {runs_to_decide(found):,}." in text


def test_some_may_hold_and_stay_undecided():
    found = at_the_limit(board(1, 20_000, n=8), 0.1)
    end = search(found)
    assert (end, found.best) == (End.UNDECIDED, None)
    undecided = counts(found)["undecided"]
    assert undecided > 0
    text = why_none(found, end)
    assert text.startswith(f"Undecided: of the {len(found.candidates)} candidates that were simulated, {undecided} may")
    assert "Only more than 160 replications" in text
    assert "decided" not in ended(found, end).replace("undecided", "")


@pytest.mark.parametrize(
    ("runs", "more"),
    [
        (12, {}),
        (200, {}),
        (1000, {}),
        (300, {"more_is_better": [CPUS, GPUS]}),
        (300, {"minimize": ["cost.purchase", "jobs.latency_us.p99"]}),
    ],
)
def test_every_point_is_accounted_for_once(runs, more):
    found = board(0, runs, 115, **more)
    end = search(found)
    of = counts(found)
    assert sum(of[kind] for kind in KNOWN) == of["points"] == found.space.n
    assert of["run"] == of["holds"] + of["fails"] + of["undecided"] == len(found.candidates)
    text = accounted(of, found, end)
    for kind, words in (("screened", "ruled out"), ("cannot_be_better", "cannot be"), ("not_run", "not looked at")):
        assert (f"{of[kind]:,} {words}" in text) == (of[kind] > 0)
    if "more_is_better" in more:
        assert of["ruled_out"] > 0


def test_the_budget_that_is_named_decides():
    """It is an estimate from what was decided so far, so not too far from what is needed either."""
    small = board(0, 200, 115)
    search(small)
    assert still_open(small)
    assert proof(small).startswith("Not proven: ")
    needed = runs_to_decide(small)
    enough = board(0, needed, 115)
    assert search(enough) is End.DECIDED
    assert proof(enough).startswith("Proven: ")
    assert enough.runs.n_asked > needed / 20


def test_what_could_be_saved_is_said_only_where_a_bound_says_so():
    priced = board(0, 200, 115)
    search(priced)
    assert "could save up to " in proof(priced)
    by_time = board(0, 200, 1000, minimize="jobs.latency_us.p99")
    search(by_time)
    assert proof(by_time).startswith("Not proven: ")
    assert "%" not in proof(by_time)


def test_a_gap_is_part_of_what_is_proved():
    found = board(0, 1000, 115, budget={"runs": 1000, "gap": "20 %"})
    search(found)
    assert "could be cheaper by more than 20 %" in proof(found)


def test_an_undecided_point_is_open_only_if_it_would_be_better():
    """One that has had all its looks: on the better side of the goal it is a gap in the proof, on the other not."""
    found = board(0, 1000, 1000, minimize="jobs.latency_us.p99")
    last = found.plan.looks[-1]
    best, better, *others = found.screened.left[:4].tolist()
    latency = dict(zip((best, better, *others), (100.0, 99.0, 100.0, 101.0), strict=True))
    for point, value in latency.items():
        verdict = Verdict.HOLDS if point == best else Verdict.UNDECIDED
        judgement = Judgement(found.plan.limits[0], verdict, value - 1, value, value + 1, last)
        found.candidates[point] = Candidate(point, last, (judgement,), np.full((1, last), value))
    found.best = found.candidates[best]
    assert [point for point in still_open(found) if point in latency] == [better]
