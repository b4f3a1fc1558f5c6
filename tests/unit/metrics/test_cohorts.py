"""What partitions of a cohort used, borrowed and lent; and why jobs of them waited."""

import pytest

import vinesim as vs
from tests.policies.test_kueue import CPU, queue, scenario
from tests.unit.metrics.test_waiting import recorded
from vinesim.metrics.waiting import waiting_of
from vinesim.metrics.waiting_words import headline

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


def quotas(case):
    return vs.simulate(case, engine="reference").summary["quotas"]


def test_means_over_the_run_of_what_each_used_borrowed_and_lent():
    """For 10 of 20 us a uses 15 of 9, and b nothing of 12; then a uses 5."""
    found = quotas(scenario([queue("a", 9), queue("b", 12)], [("a", 10, 0, 10), ("a", 5, 0, 20)]))
    assert found["a"][CPU] == {"quota": 9.0, "used": 10.0, "borrowed": 3.0, "lent": 0.0, "peak": 15.0}
    assert found["b"][CPU] == {"quota": 12.0, "used": 0.0, "borrowed": 0.0, "lent": 3.0, "peak": 0.0}


def test_what_is_borrowed_is_lent_by_the_others_as_each_has_unused_and_lends():
    """c borrows 6 of b's 12 and d's 4 that it lends of 8, of which it uses none: 4.5 and 1.5."""
    queues = [queue("b", 12), queue("c", 0), queue("d", 8, lending=4)]
    found = quotas(scenario(queues, [("c", 6, 0, 10)]))
    assert [found[name][CPU]["lent"] for name in "bcd"] == [4.5, 0.0, 1.5]


def test_a_partition_without_a_cohort_only_uses():
    found = quotas(scenario([queue("a", 9, cohort=None)], [("a", 6, 0, 10)]))
    assert found == {"a": {CPU: {"quota": 9.0, "used": 6.0, "borrowed": 0.0, "lent": 0.0, "peak": 6.0}}}


def test_a_job_that_waits_for_its_cohort(tmp_path):
    """a has 9 and b 12, of which it lends 4: a's second job needs 8 with 9 used, and 4 are left to lend."""
    case = scenario([queue("a", 9), queue("b", 12, lending=4)], [("a", 9, 0, 10), ("a", 8, 1, 5), ("b", 8, 2, 5)])
    recorded(tmp_path / "run", case)
    (wait,) = waiting_of(tmp_path / "run", 1).quotas
    assert (wait.whose, wait.types, wait.begin_us, wait.end_us) == ("cohort team-ab", CPU, 1.0, 10.0)
    assert (wait.held, wait.most, wait.needed, wait.jobs) == (9.0, 13.0, 8.0, (0,))
    assert waiting_of(tmp_path / "run", 2).quotas == []


def test_a_job_that_waits_for_the_borrowing_limit(tmp_path):
    recorded(
        tmp_path / "run", scenario([queue("a", 9, borrowing=1), queue("b", 12)], [("a", 9, 0, 10), ("a", 2, 1, 5)])
    )
    (wait,) = waiting_of(tmp_path / "run", 1).quotas
    assert (wait.whose, wait.held, wait.most, wait.needed) == ("partition a", 9.0, 10.0, 2.0)


def test_a_job_that_was_preempted_for_another_queue(tmp_path):
    jobs = [("a", 12, 0, 50), ("b", 12, 5, 10), ("a", 5, 7, 10)]
    recorded(tmp_path / "run", scenario([queue("a", 9), queue("b", 12)], jobs, reclaim_within_cohort="any"))
    found = waiting_of(tmp_path / "run", 0)
    assert [(run.outcome, run.for_jobs) for run in found.lost_runs] == [("preempted", (1,))]
    assert "(preempted as job 1 of its cohort started)" in "\n".join(headline(found))
