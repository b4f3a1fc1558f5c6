"""Runs with unfinished jobs: they break a point only where no limit and no objective counts these jobs."""

import pytest

from vinesim.plans.unfinished import why_broken

DROPS = {  # 3 requests of A are dropped and 1 is late; 1 request of B is late
    "exit_reason": "ALL_DONE",
    "jobs.count": 100.0,
    "jobs.finished": 97.0,
    "jobs.started": 97.0,
    "deadlines.missed": 5.0,
    "applications.A.missed": 4.0,
    "applications.B.missed": 1.0,
}
LEFT = "a run left jobs unfinished"


@pytest.mark.parametrize(
    "name",
    [
        "deadlines.missed_pct",
        "deadlines.missed",
        "applications.mean.missed_pct",
        "applications.mean.worst_missed_pct",
        "applications.A.missed_pct",
        "jobs.finished",
        "tasks.finished",
    ],
)
def test_a_number_that_counts_unfinished_jobs_judges_them(name):
    assert why_broken(DROPS, ["cost.purchase", name]) == ""


@pytest.mark.parametrize(
    "name",
    ["jobs.latency_us.p99", "applications.A.latency_us.p99", "applications.B.missed_pct", "jobs.killed"],
)
def test_no_other_number_does(name):
    assert why_broken(DROPS, ["cost.purchase", name]) == LEFT


def test_missed_deadlines_say_nothing_of_more_jobs_than_they_count():
    stalled = {**DROPS, "exit_reason": "STALLED", "jobs.finished": 94.0}
    assert why_broken(stalled, ["deadlines.missed_pct"]).startswith("a run stalled")
    assert why_broken(stalled, ["jobs.finished"]) == ""
    assert why_broken({**stalled, "jobs.finished": 95.0}, ["deadlines.missed_pct"]) == ""


def test_what_a_limit_killed_or_a_user_withdrew_is_over():
    over = {"jobs.count": 10.0, "jobs.started": 10.0, "jobs.finished": 7.0, "jobs.killed": 2.0, "jobs.withdrawn": 1.0}
    assert why_broken(over, ["jobs.wait_us.p99"]) == ""
    assert why_broken({**over, "jobs.killed": 1.0}, ["jobs.wait_us.p99"]) == LEFT
    assert why_broken({**over, "jobs.killed": 1.0, "jobs.ended": 1.0}, ["jobs.wait_us.p99"]) == ""
    waiting = {**over, "jobs.started": 9.0}
    assert why_broken(waiting, ["jobs.wait_us.p99"]).startswith("a run left jobs waiting until they were withdrawn")
    assert why_broken(waiting, ["jobs.wait_us.p99", "jobs.withdrawn"]) == ""


def test_refused_jobs_are_unfinished_unless_a_limit_counts_them():
    refused = {"exit_reason": "ALL_DONE", "jobs.count": 10.0, "jobs.finished": 7.0, "jobs.refused": 3.0}
    words = "a run refused jobs: limit jobs.refused if some may be"
    assert why_broken(refused, ["jobs.wait_us.p99"]) == words
    assert why_broken(refused, ["jobs.wait_us.p99", "jobs.refused"]) == ""
    assert why_broken({**refused, "jobs.finished": 6.0}, ["jobs.refused"]) == words
    assert why_broken({**refused, "exit_reason": "HORIZON"}, ["jobs.wait_us.p99"]).startswith("a run reached")


def test_the_end_of_a_run_is_named():
    run = {"jobs.count": 10.0, "jobs.finished": 9.0}
    assert why_broken({**run, "exit_reason": "HORIZON"}, ["jobs.wait_us.p99"]).startswith("a run reached the horizon")
    assert why_broken({**run, "exit_reason": "INTERRUPTED"}, ["jobs.wait_us.p99"]) == "a run was interrupted"
