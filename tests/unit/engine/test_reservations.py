"""Reservations of nodes by hand."""

import math

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine.test_partitions import Stubborn
from vinesim.model.reservation import Reservation

SIMPLE = ["high", "fcfs", "priority", "srtf", "drf", "earliest_finish", "delay", "random_fit"]
BACKFILLING = ["easy_backfill", "conservative_backfill"]


def scenario(policy, jobs, reservations, units=2, **columns):
    """Nodes with one GPU each. A job: arrival, time."""
    arrival, time = (np.array(column, float) for column in zip(*jobs, strict=True))
    n = len(jobs)
    work = vs.Workload(
        [0] * n, range(n + 1), arrival, time, *np.zeros((3, n)), [-1] * n, task_types=(vs.TaskType("T"),), **columns
    )
    kind = vs.ProcessorType("GPU")
    center = vs.Datacenter.of([("GPU", 0, shelf) for shelf in range(units)], [kind])
    return vs.Scenario(center, work, policy, affinity=[[1.0]], reservations=reservations)


def begins(case, engine="reference"):
    return vs.simulate(case, engine=engine).tasks["init_us"].tolist()


def maintenance(start, end, shelf=None, **fields):
    return Reservation("upgrade", start, end, None if shelf is None else [[0, shelf]], **fields)


@pytest.mark.parametrize("policy", SIMPLE + BACKFILLING)
def test_a_task_starts_only_if_it_is_expected_to_end_before_maintenance_begins(policy):
    """The second task would reach into the maintenance of both nodes; the third ends just as it begins."""
    case = scenario(policy, [(0, 8), (1, 10), (8, 2)], [maintenance(10.0, 20.0)], units=2)
    expected = [0.0, 20.0, 8.0] if policy != "fcfs" else [0.0, 20.0, 20.0]
    assert begins(case) in (expected, [0.0, 20.0, 20.0])  # those in order wait behind the second one


@pytest.mark.parametrize("policy", SIMPLE + BACKFILLING)
def test_other_nodes_take_the_tasks(policy):
    case = scenario(policy, [(0, 12), (0, 5)], [maintenance(10.0, 20.0, shelf=0)])
    tasks = vs.simulate(case, engine="reference").tasks
    assert (tasks["shelf"][0], tasks["init_us"][0]) == (1, 0.0)


@pytest.mark.parametrize("policy", BACKFILLING)
def test_the_first_job_keeps_its_place_at_the_end_of_maintenance(policy):
    """The gang of two needs both nodes, one of which is in maintenance until 20: a job of 30 us must not delay it."""
    case = scenario(
        policy, [(0, 10), (0, 30), (1, 15)], [maintenance(0.0, 20.0, shelf=0)], units=2,
    )  # fmt: skip
    work = vs.Workload(
        [0, 0, 0], [0, 2, 3, 4], [0.0, 1.0, 2.0], [10.0, 10.0, 30.0, 15.0], *np.zeros((3, 4)), [-1] * 4,
        task_types=(vs.TaskType("T"),), gang_within=[vs.model.workload.ANYWHERE, 0, 0],
    )  # fmt: skip
    case = vs.Scenario(case.datacenter, work, policy, affinity=[[1.0]], reservations=case.reservations)
    assert begins(case) == [20.0, 20.0, 30.0, 2.0]


@pytest.mark.parametrize("policy", ["high", *BACKFILLING])
def test_a_reservation_for_users_admits_only_their_jobs(policy):
    jobs, names = [(0, 5), (0, 5), (12, 5)], ["ann", "bob"]
    one = Reservation("course", 2.0, 30.0, [[0, 0]], users=("ann",))
    case = scenario(policy, jobs, [one], units=1, user=[1, 0, 1], user_names=names)
    assert begins(case) == [30.0, 0.0, 35.0]


def test_what_takes_longer_than_expected_is_pending_again_when_maintenance_begins_and_may_finish_otherwise():
    lost = scenario("high", [(0, 15)], [maintenance(10.0, 20.0)], estimate_us=[5.0])
    done = vs.simulate(lost, engine="reference")
    assert (done.tasks["init_us"].tolist(), done.summary["outages"]["restarts"]) == ([20.0], 1)
    kept = scenario("high", [(0, 15)], [maintenance(10.0, 20.0, running="finish")], estimate_us=[5.0])
    assert begins(kept) == [0.0]
    users = Reservation("course", 10.0, 20.0, users=("bob",))
    kept = scenario("high", [(0, 15), (99, 1)], [users], estimate_us=[5.0, 1.0], user=[0, 1], user_names=["ann", "bob"])
    assert begins(kept)[0] == 0.0


def test_a_limit_is_the_time_that_counts():
    case = scenario("high", [(0, 15)], [maintenance(10.0, 20.0)], limit_us=[10.0])
    assert begins(case) == [0.0]


def test_maintenance_for_good_leaves_what_does_not_fit_before_it():
    done = vs.simulate(scenario("high", [(0, 15), (0, 5)], [maintenance(10.0, math.inf)], units=1), engine="reference")
    assert str(done.exit_reason) == "STALLED" or done.tasks["init_us"].tolist()[1] == 0.0


def test_what_is_wrong_is_said_at_once():
    wrong = [Reservation("a", 5.0, 5.0), Reservation("a", 0.0, 1.0, [[9, 9]], users=("eve",), running="requeue")]
    with pytest.raises(vs.InputError) as error:
        scenario("high", [(0, 1)], wrong)
    found = [(problem.where, problem.expected) for problem in error.value.problems]
    assert len(found) == 5


@pytest.mark.parametrize("policy", ["llf", "rb_fifo", "fgd", "symphony"])
def test_policies_that_do_not_ask_what_fits_are_refused(policy):
    with pytest.raises(vs.InputError, match="reservations"):
        begins(scenario(policy, [(0, 12)], [maintenance(10.0, 20.0)]))


def test_a_policy_may_not_start_a_task_that_would_run_into_a_reservation():
    with pytest.raises(vs.PolicyError, match="only where no reservation that does not admit it begins"):
        begins(scenario(Stubborn(), [(0, 12)], [maintenance(10.0, 20.0)]))
    assert begins(scenario(Stubborn(), [(0, 10)], [maintenance(10.0, 20.0)])) == [0.0]


@pytest.mark.parametrize("policy", ["high", *(pytest.param(name, marks=pytest.mark.slow) for name in BACKFILLING)])
def test_both_engines_count_alike(policy):
    jobs = [(0, 8), (1, 10), (2, 30), (8, 2), (9, 5)]
    one = Reservation("course", 15.0, 30.0, [[0, 0]], users=("ann",))
    case = scenario(
        policy, jobs, [maintenance(10.0, 20.0, shelf=1), one], user=[0, 1, 0, 1, 0], user_names=["ann", "b"]
    )
    assert begins(case, "compiled") == begins(case)
