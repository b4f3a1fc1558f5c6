"""Queues with quotas in cohorts: the worked examples of Kueue's pages, by hand, and what each option does."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
CPU = "CPU"


def queue(name, quota, borrowing=None, lending=None, weight=1.0, cohort="team-ab"):
    limits = {
        name: {CPU: most}
        for name, most in (("borrowing_limit", borrowing), ("lending_limit", lending))
        if most is not None
    }
    return vs.Partition(name, quota={CPU: quota}, cohort=cohort, weight=weight, **limits)


def scenario(queues, jobs, policy="kueue", cores=1000.0, **options):
    """One node of many cores. A job: queue, cores, arrival, time, priority."""
    of, demand, arrival, time, priority = zip(*[(*job, 0.0)[:5] for job in jobs], strict=True)
    names = [one.name for one in queues]
    n = len(jobs)
    work = vs.Workload(
        [0] * n, range(n + 1), [float(us) for us in arrival], [float(us) for us in time], *np.zeros((3, n)), [-1] * n,
        demand=[float(amount) for amount in demand], priority=list(priority), task_types=(vs.TaskType("T"),),
        partition=[names.index(name) for name in of], partition_names=tuple(names),
    )  # fmt: skip
    center = vs.Datacenter.of([(CPU, 0, 0)], [vs.ProcessorType(CPU, capacity=cores)])
    return vs.Scenario(center, work, policy, options, affinity=[[1.0]], partitions=tuple(queues), preemption="resume")


def begins(case):
    """When each job started last."""
    return vs.simulate(case, engine="reference").tasks["init_us"].tolist()


def preempted(case):
    """The jobs that were preempted, with the times, in order."""
    segments = vs.simulate(case, engine="reference").segments
    if segments is None:
        return []
    rows = zip(segments["task"].tolist(), segments["end_us"].tolist(), segments["outcome"].tolist(), strict=True)
    return sorted(((end, task) for task, end, outcome in rows if outcome == "preempted"))


def most_at_once(queues, name):
    """How many jobs of one core of a queue run at once if no other queue has any."""
    return begins(scenario(queues, [(name, 1, 0, 10)] * 40)).count(0.0)


# Borrowing and lending


@pytest.mark.parametrize("policy", ["kueue", "high", "easy_backfill"])
def test_a_queue_uses_what_its_cohort_leaves_unused(policy):
    """9 and 12 CPUs: one queue alone can use all 21."""
    queues = [queue("a", 9), queue("b", 12)]
    assert begins(scenario(queues, [("a", 1, 0, 10)] * 22, policy)).count(0.0) == 21


def test_the_borrowing_limit():
    """9 + 1 of 21 for one queue; for the other, which has no limit, 12 + 9."""
    queues = [queue("a", 9, borrowing=1), queue("b", 12)]
    assert (most_at_once(queues, "a"), most_at_once(queues, "b")) == (10, 21)


def test_a_queue_without_a_cohort_borrows_nothing():
    assert most_at_once([queue("a", 9, cohort=None), queue("b", 12)], "a") == 9


@pytest.mark.parametrize(
    ("borrowing", "lent_by_b", "lent_by_c", "found"),
    [(None, 4, None, 9 + 4 + 5), (6, 4, None, 9 + 6), (None, 4, 2, 9 + 4 + 2), (3, 4, 2, 9 + 3), (None, 0, 0, 9)],
)
def test_the_lending_limits_add_up(borrowing, lent_by_b, lent_by_c, found):
    queues = [queue("a", 9, borrowing), queue("b", 12, lending=lent_by_b), queue("c", 5, lending=lent_by_c)]
    assert most_at_once(queues, "a") == found


def test_what_a_queue_does_not_lend_is_there_for_it_at_once():
    queues = [queue("a", 9), queue("b", 12, lending=4)]
    jobs = [("a", 1, 0, 100)] * 20 + [("b", 1, 1, 10)] * 12
    found = begins(scenario(queues, jobs))
    assert (found[:20].count(0.0), found[20:].count(1.0)) == (13, 8)


def test_a_queue_whose_quota_is_0_has_only_what_others_lend():
    queues = [queue("a", 0), queue("b", 12)]
    assert most_at_once(queues, "a") == 12


def test_a_job_that_asks_for_more_than_its_queue_can_ever_use_is_an_error():
    with pytest.raises(vs.InputError, match="at most 11, the quota of partition a, with what its cohort lends, on CPU"):
        begins(scenario([queue("a", 9, borrowing=2), queue("b", 12)], [("a", 12, 0, 10)]))


# The order of admission


def test_without_preemption_the_more_urgent_job_starts_first_and_nobody_leaves():
    case = scenario([queue("a", 4, cohort=None)], [("a", 4, 0, 10, 0), ("a", 4, 1, 10, 1), ("a", 4, 2, 10, 5)])
    assert (begins(case), preempted(case)) == ([0.0, 20.0, 10.0], [])


def test_a_strict_queue_is_held_up_by_its_first_job_and_others_are_not():
    jobs = [("a", 3, 0, 10), ("a", 4, 1, 10), ("a", 1, 2, 10), ("b", 1, 3, 10)]
    queues = [queue("a", 4, cohort=None), queue("b", 4, cohort=None)]
    assert begins(scenario(queues, jobs)) == [0.0, 12.0, 2.0, 3.0]
    assert begins(scenario(queues, jobs, queueing_strategy="strict_fifo")) == [0.0, 10.0, 20.0, 3.0]


def test_who_needs_not_borrow_comes_first():
    """At 10 all is free: a's urgent job of 3 would borrow 1, b's is within its quota, and only one of them has room."""
    queues = [queue("a", 2), queue("b", 2)]
    jobs = [("a", 4, 0, 10), ("a", 3, 1, 10, 9), ("b", 2, 2, 10)]
    assert begins(scenario(queues, jobs)) == [0.0, 20.0, 10.0]


def test_jobs_without_a_partition_are_a_queue_without_a_quota():
    case = scenario([queue("a", 4, cohort=None)], [("a", 4, 0, 10), ("a", 4, 1, 10)])
    free = replace(case.workload, partition=[0, -1])
    assert begins(replace(case, workload=free)) == [0.0, 1.0]


# Preemption in a queue


@pytest.mark.parametrize(
    ("within", "priority", "found"),
    [
        ("never", 1, []),
        ("lower_priority", 1, [(2.0, 1)]),
        ("lower_priority", 0, []),
        ("lower_or_newer_equal_priority", 1, [(2.0, 1)]),
        ("lower_or_newer_equal_priority", 0, []),
    ],
)
def test_within_a_queue(within, priority, found):
    """4 CPUs are used by two jobs; at 2 comes a third. The one that started last leaves for it."""
    jobs = [("a", 2, 0, 10, 0), ("a", 2, 1, 10, 0), ("a", 2, 2, 10, priority)]
    assert preempted(scenario([queue("a", 4)], jobs, within_cluster_queue=within)) == found


def test_an_older_job_of_equal_priority_takes_the_place_of_a_newer_one():
    """The job of 4, the oldest, finds room for itself at 3 only if the newer one of 2 leaves, which started at 1."""
    jobs = [("a", 3, 0, 3), ("a", 4, 0, 10), ("a", 1, 1, 10)]
    equal = scenario([queue("a", 4)], jobs, within_cluster_queue="lower_or_newer_equal_priority")
    assert (begins(equal), preempted(equal)) == ([0.0, 3.0, 13.0], [(3.0, 2)])
    assert begins(scenario([queue("a", 4)], jobs, within_cluster_queue="lower_priority")) == [0.0, 11.0, 1.0]


def test_as_few_leave_as_make_room_and_those_who_are_not_needed_stay():
    """For 3 CPUs the last two of 1 would leave and then that of 3: it alone is enough."""
    jobs = [("a", 3, 0, 10, 0), ("a", 1, 1, 20, 0), ("a", 1, 2, 20, 0), ("a", 3, 3, 10, 1)]
    case = scenario([queue("a", 5)], jobs, within_cluster_queue="lower_priority")
    assert preempted(case) == [(3.0, 0)]


def test_a_job_that_asks_for_more_than_its_quota_preempts_nobody():
    jobs = [("a", 4, 0, 10, 0), ("a", 5, 1, 10, 9)]
    case = scenario([queue("a", 4), queue("b", 4)], jobs, within_cluster_queue="lower_priority")
    assert preempted(case) == []


# Preemption in a cohort


@pytest.mark.parametrize(
    ("reclaim", "priority", "found"),
    [("never", 9, []), ("lower_priority", 0, []), ("lower_priority", 1, [(1.0, 2)]), ("any", -5, [(1.0, 2)])],
)
def test_a_queue_takes_back_its_quota(reclaim, priority, found):
    """a uses all 21 of 9 + 12; b's job of 7 is within its quota: the job that started last leaves."""
    jobs = [("a", 7, 0, 50, 0)] * 3 + [("b", 7, 1, 10, priority)]
    assert preempted(scenario([queue("a", 9), queue("b", 12)], jobs, reclaim_within_cohort=reclaim)) == found


def test_a_queue_that_does_not_borrow_any_more_loses_no_further_job():
    """b could have 12 of 21, and c nothing: for b's job of 12 the two jobs leave that a and c borrow for."""
    queues = [queue("a", 9), queue("b", 12), queue("c", 0)]
    jobs = [("a", 5, 0, 50), ("a", 10, 1, 50), ("c", 6, 2, 50), ("b", 12, 3, 10)]
    assert preempted(scenario(queues, jobs, reclaim_within_cohort="any")) == [(3.0, 1), (3.0, 2)]
    jobs = [("a", 9, 0, 50), ("c", 12, 2, 50), ("b", 12, 3, 10)]
    assert preempted(scenario(queues, jobs, reclaim_within_cohort="any")) == [(3.0, 1)]


def test_nobody_reclaims_to_borrow_unless_that_is_allowed():
    """a has 3 of its 4 and wants 2 more, of c's 4, which b borrows with a less urgent job."""
    queues = [queue("a", 4), queue("b", 4), queue("c", 4)]
    jobs = [("a", 3, 0, 50, 0), ("b", 4, 0, 50, 0), ("b", 5, 1, 50, 0), ("a", 2, 2, 10, 5)]
    classic = {"reclaim_within_cohort": "any"}
    assert preempted(scenario(queues, jobs, **classic)) == []
    borrow = {**classic, "borrow_within_cohort": "lower_priority"}
    assert preempted(scenario(queues, jobs, **borrow)) == [(2.0, 2)]
    assert preempted(scenario(queues, jobs, **borrow, max_priority_threshold=-1)) == []


def test_jobs_of_other_queues_leave_before_those_of_its_own():
    queues = [queue("a", 4), queue("b", 4)]
    jobs = [("a", 2, 0, 50, 0), ("b", 6, 0, 50, 5), ("a", 2, 1, 10, 1)]
    both = {"reclaim_within_cohort": "any", "within_cluster_queue": "lower_priority"}
    assert preempted(scenario(queues, jobs, **both)) == [(1.0, 1)]
    assert preempted(scenario(queues, jobs, within_cluster_queue="lower_priority")) == [(1.0, 0)]


def test_room_at_the_nodes_counts_too():
    """The quotas would allow both, and the node has 6 CPUs: the less urgent job leaves all the same."""
    jobs = [("a", 4, 0, 50, 0), ("a", 4, 1, 10, 1)]
    case = scenario([queue("a", 8)], jobs, cores=6.0, within_cluster_queue="lower_priority")
    assert (begins(case), preempted(case)) == ([11.0, 1.0], [(1.0, 0)])


# Fair sharing


def fair(queues, jobs, **options):
    return scenario(queues, jobs, fair_sharing=True, reclaim_within_cohort="any", **options)


def test_the_queue_with_the_lowest_share_comes_first():
    """12 CPUs are c's to lend. At 10 all are free: a and b take turns, though a's jobs are older; b has twice a's."""
    queues = [queue("a", 0), queue("b", 0, weight=2.0), queue("c", 12)]
    jobs = [("c", 12, 0, 10)] + [("a", 2, 1, 100)] * 6 + [("b", 2, 2, 100)] * 6
    found = begins(scenario(queues, jobs, fair_sharing=True))
    assert (found[1:7].count(10.0), found[7:].count(10.0)) == (2, 4)


def test_borrowed_capacity_is_shared_by_preemption():
    """a borrows all 12; b's jobs of 2 come and get half, not more: then both have the same share."""
    queues = [queue("a", 0), queue("b", 0), queue("c", 12)]
    jobs = [("a", 2, 0, 100)] * 6 + [("b", 2, 1, 100)] * 6
    case = fair(queues, jobs)
    assert [task for _, task in preempted(case)] == [3, 4, 5]
    assert begins(case)[6:].count(1.0) == 3


def test_a_share_by_weight():
    """Weights 1, 1 and 3 as in the proposal's departments: of 10 lent units 2, 2 and 6."""
    queues = [queue("a", 0), queue("b", 0), queue("c", 0, weight=3.0), queue("s", 10)]
    jobs = [("a", 1, 0, 100)] * 10 + [("b", 1, 1, 100)] * 10 + [("c", 1, 2, 100)] * 10
    segments = vs.simulate(fair(queues, jobs), engine="reference").segments
    lasts = (segments["begin_us"] <= 50.0) & (segments["end_us"] > 50.0)
    runs = segments["task"][lasts].tolist()
    assert [sum(low <= task < low + 10 for task in runs) for low in (0, 10, 20)] == [2, 2, 6]


def test_the_strategies_differ_for_one_large_job():
    """a borrows 12 with one job, b wants 4: a would then have 0, less than b. Only the initial shares allow that."""
    queues = [queue("a", 0), queue("b", 0), queue("c", 12)]
    jobs = [("a", 12, 0, 100), ("b", 4, 1, 10)]
    assert preempted(fair(queues, jobs, preemption_strategies="final_share")) == []
    assert preempted(fair(queues, jobs, preemption_strategies="initial_share")) == [(1.0, 0)]
    assert preempted(fair(queues, jobs)) == [(1.0, 0)]


def test_two_jobs_do_not_preempt_each_other_in_turn():
    """Whoever has the larger share leaves; once it has less, it does not come back by preemption."""
    queues = [queue("a", 0), queue("b", 0), queue("c", 12)]
    jobs = [("a", 8, 0, 100), ("b", 7, 1, 100)] + [("c", 1, 10 + i, 1) for i in range(5)]
    assert len(preempted(fair(queues, jobs))) == 1


def test_a_queue_of_weight_0_yields_to_all():
    queues = [queue("a", 0, weight=0.0), queue("b", 0), queue("c", 12)]
    jobs = [("a", 4, 0, 100)] * 3 + [("b", 4, 1, 10)] * 3
    assert len(preempted(fair(queues, jobs))) == 3


# Bad input


def test_a_word_that_is_none_of_an_option():
    with pytest.raises(vs.InputError, match="one of never, lower_priority, lower_or_newer_equal_priority"):
        begins(scenario([queue("a", 4)], [("a", 1, 0, 1)], within_cluster_queue="any"))


def test_who_reclaims_nothing_does_not_borrow_by_preemption():
    """A job that asks for more than its quota preempts in its own queue only if it may take from others too."""
    jobs = [("a", 4, 0, 10, 0), ("a", 5, 1, 10, 9)]
    options = {"within_cluster_queue": "lower_priority", "borrow_within_cohort": "lower_priority"}
    queues = [queue("a", 4), queue("b", 4)]
    assert preempted(scenario(queues, jobs, **options)) == []
    assert preempted(scenario(queues, jobs, **options, reclaim_within_cohort="any")) == [(1.0, 0)]
