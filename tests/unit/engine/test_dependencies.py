"""Jobs that wait for others: when they become eligible, and what the policy learns of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.dependencies_plainly import plainly
from tests.strategies import SeededDice, with_after


def workflow(jobs, n_units=1, policy="fcfs", **reported):
    """A scenario of jobs (arrival, operations of each task, the jobs that it waits for) on equal units."""
    counts, waits = [len(job[1]) for job in jobs], [list(job[2]) for job in jobs]
    n = sum(counts)
    work = vs.Workload(
        [0] * len(jobs),
        np.r_[0, np.cumsum(counts)],
        [float(job[0]) for job in jobs],
        [float(size) for job in jobs for size in job[1]],
        *np.zeros((3, n)),
        [-1] * n,
        task_types=(vs.TaskType("T"),),
        after_first=np.r_[0, np.cumsum([len(some) for some in waits])],
        after=[one for some in waits for one in some],
        **reported,
    )
    center = vs.Datacenter([0] * n_units, [0] * n_units, range(n_units), [vs.ProcessorType("P")])
    return vs.Scenario(center, work, policy=policy, affinity=[[1.0]])


def run(case):
    """The result of the reference engine; tests/properties hold the compiled one against it."""
    return vs.simulate(case, engine="reference")


def starts(case):
    return run(case).outcome.task_init_us.tolist()


CHAIN = [(0, [4], [1]), (1, [3, 3], [2]), (2, [2], []), (3, [1], [])]


def test_a_job_is_pending_when_it_has_arrived_and_all_are_over_that_it_waits_for():
    """The last job is younger than the others, so it runs after them: they are eligible before it finds the unit."""
    case = workflow(CHAIN)
    assert starts(case) == [10.0, 4.0, 7.0, 2.0, 14.0]
    assert run(case).outcome.eligible_us.tolist() == [10.0, 4.0, 2.0, 3.0]


def test_a_job_that_is_released_before_its_time_arrives_at_its_time():
    assert starts(workflow([(0, [1], []), (5, [1], [0])])) == [0.0, 5.0]


def test_jobs_that_one_event_releases_arrive_in_their_order_after_it():
    """At 2 the policy is notified of the finish first, and starts what is pending: job 1. Then of job 2, then of job
    3."""
    assert starts(workflow([(0, [2], []), (1, [1], []), (1, [1], [0]), (1, [1], [0])], policy="high")) == [0, 2, 3, 4]


def test_a_job_that_waits_holds_up_nobody():
    assert starts(workflow([(0, [9], []), (1, [1], [0]), (1, [1], [])], n_units=2)) == [0.0, 9.0, 1.0]


def test_a_job_may_wait_for_one_twice_and_for_one_that_arrives_later():
    case = workflow([(0, [1], [1, 1]), (4, [2], [])])
    assert starts(case) == [6.0, 4.0]


@pytest.mark.parametrize(
    ("reported", "released_us"),
    [
        ({"limit_us": [3.0, math.inf]}, 3.0),
        ({"withdraw_us": [2.0, math.inf]}, 2.0),
        ({"limit_us": [math.inf, math.inf]}, 5.0),
    ],
)
def test_a_job_is_over_when_it_is_done_killed_or_withdrawn(reported, released_us):
    assert starts(workflow([(0, [5], []), (0, [1], [0])], **reported))[1] == released_us


def test_a_job_is_over_when_it_is_dropped():
    """At 4 the second job can only be late."""
    case = workflow([(0, [4], []), (0, [4], []), (0, [1], [1])], policy="edf_drop", deadline_us=[4, 5, 9])
    assert starts(case)[2] == 4.0


def test_a_withdrawn_job_that_waits_never_runs_and_releases_others():
    case = workflow([(0, [9], []), (0, [1], [0]), (0, [1], [1])], n_units=2, withdraw_us=[math.inf, 3.0, math.inf])
    result = run(case)
    assert result.outcome.task_init_us[2] == 3.0
    assert np.isnan([result.outcome.task_init_us[1], result.outcome.eligible_us[1]]).all()
    assert str(result.exit_reason) == "ALL_DONE"


def test_a_gang_starts_together_when_it_is_eligible():
    case = workflow([(0, [3], []), (0, [2, 2], [0]), (1, [5], [])], n_units=2, gang_within=[0, 3, 0])
    assert starts(case) == [0.0, 6.0, 6.0, 1.0]


def test_jobs_that_wait_for_one_that_never_ends_say_so():
    result = run(workflow([(0, [math.inf], []), (0, [1], [0])]))
    assert str(result.exit_reason) == "ENDLESS"
    assert "2 tasks run or wait for others that do" in result.outcome.reason


@pytest.mark.parametrize("policy", ["high", "fcfs", "edf", "las", "easy_backfill", "conservative_backfill", "rb_fifo"])
def test_every_kind_of_policy_learns_of_jobs_that_are_eligible_late(policy):
    """Job 0 waits for the youngest one, under policies with their own queues too."""
    case = workflow([(0, [1], [3]), (0, [2], []), (1, [2], [1]), (2, [2], [1, 2])], policy=policy)
    assert starts(case) == [6.0, 0.0, 2.0, 4.0]


@pytest.mark.parametrize("seed", range(40))
def test_high_is_list_scheduling(seed):
    dice = SeededDice(seed)
    jobs = [
        (dice.integer(0, 12) / 2, [dice.integer(1, 9) / 2 for _ in range(dice.integer(1, 3))], []) for _ in range(12)
    ]
    case = with_after(dice, workflow(sorted(jobs), n_units=1 + seed % 3, policy="high"))
    assert starts(case) == plainly(case.workload, 1 + seed % 3)


def test_waits_count_from_when_a_job_is_eligible():
    result = run(workflow(CHAIN))
    assert result.summary["jobs"]["wait_us"]["max"] == 11.0  # of job 3
    assert result.summary["tasks"]["wait_us"]["mean"] == 14.0 / 5  # 3 of the second task of job 1
    assert result.summary["jobs"]["time_to_start_us"]["p50"] == 0.0
    assert result.jobs["eligible_us"].tolist() == [10.0, 4.0, 2.0, 3.0]
    assert result.jobs["latency_us"][0] == 14.0  # from its arrival


def test_only_where_jobs_wait_for_others_is_there_a_column():
    assert "eligible_us" not in run(workflow([(0, [1], []), (0, [1], [])])).jobs


def test_a_policy_that_plans_or_keeps_tasks_by_number_is_refused():
    with pytest.raises(vs.InputError, match="optimal plans before the run"):
        run(workflow(CHAIN, policy="optimal"))


def test_many_runs_are_those_of_simulate():
    case = workflow(CHAIN, policy="high")
    times = np.array([[0.0, 1, 2, 3], [0.0, 0, 5, 5]])
    found = vs.simulate_many(case, arrival_us=times, record=("jobs.latency_us.mean",), engine="reference")
    for k in range(2):
        alone = run(replace(case, workload=replace(case.workload, arrival_us=times[k])))
        assert found["jobs.latency_us.mean"][k] == alone.summary["jobs"]["latency_us"]["mean"]
