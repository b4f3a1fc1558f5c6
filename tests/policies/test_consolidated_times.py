"""Consolidated tasks by a table of times: what it says, at, between and beyond its entries, and what uses it."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.test_contract import ENGINES, finishes, scenario
from tests.properties.equivalence import differences
from vinesim.metrics.deadline_bound import least_missed
from vinesim.model.application import Application
from vinesim.plans.work import work_of
from vinesim.policies.identity import content_id

TABLE = np.array([[[10.0, 11.0, 15.0]]])


def together(n, most=9, **more):
    """So many tasks of 100 operations that arrive at once, on one unit."""
    more = {"consolidated_us": TABLE, **more}
    return scenario(Consolidate(most=most), jobs=[(0.0, [100.0] * n)], **more)


@ENGINES
def test_the_time_of_a_batch_is_the_table_s(engine):
    for n, last in ((1, 10), (2, 11), (3, 15), (4, 25), (7, 40)):  # beyond 3: rounds of 3, then the rest
        assert finishes(vs.simulate(together(n), engine=engine)) == [last] * n


@ENGINES
def test_the_overhead_is_paid_once_and_the_leader_s_factor_applies(engine):
    case = together(3, overhead_us=[[7.0]])
    case = replace(case, workload=replace(case.workload, time_factor=np.array([2.0, 1.0, 1.0])))
    assert finishes(vs.simulate(case, engine=engine)) == [44, 44, 44]


@ENGINES
def test_types_without_a_table_add_up(engine):
    table = np.full((1, 2, 3), np.nan)
    table[0, 1] = TABLE
    jobs, kinds = [(0.0, [4.0, 4.0]), (1.0, [4.0, 4.0])], [0, 1]
    case = scenario(Consolidate(), jobs=jobs, affinity=((1.0, 1.0),), kinds=kinds, consolidated_us=table)
    assert finishes(vs.simulate(case, engine=engine)) == [8, 8, 19, 19]


def test_a_preempted_batch_goes_on_with_the_share_that_was_left():
    from vinesim.model.outage import Outage

    case = together(3, most=3)
    case = replace(
        case,
        outages=(Outage(0, 0, 5.0, 6.0),),
        workload=replace(case.workload, checkpoint_us=np.full(3, 3.0)),
        preemption="checkpoint",
    )
    result = vs.simulate(case, engine="reference")
    assert finishes(result) == [18, 18, 18]  # 3 of 15 us were kept
    assert differences(case) == []


def test_deadline_consolidation_takes_as_many_as_the_table_lets_be_on_time():
    work = {"application": [0] * 6}
    case = scenario("deadline_consolidation", jobs=[(0.0, [100.0])] * 6, consolidated_us=TABLE, **work)
    soon = replace(case, applications=(Application("0", 14.0, max_consolidated=6),))
    result = vs.simulate(soon, engine="reference")
    assert finishes(result)[:2] == [11, 11]  # three would take 15
    assert result.summary["deadlines"]["missed"] == 4  # none of the others can be done by 14
    later = replace(case, applications=(Application("0", 21.0, max_consolidated=6),))
    assert finishes(vs.simulate(later, engine="reference"))[:3] == [15, 15, 15]


def test_the_bound_of_missed_deadlines_and_the_load_know_the_table():
    case = scenario("fcfs", jobs=[(0.0, [100.0]), (1.0, [100.0])], consolidated_us=TABLE, application=[0, 0])
    case = replace(case, applications=(Application("0", 12.0, max_consolidated=3),))
    assert least_missed(case)["missed"] == 0
    assert least_missed(replace(case, consolidated_us=None))["missed"] == 2
    alone = replace(case, applications=())
    assert work_of([alone]).held.tolist() == [[[pytest.approx(20 / 2)]]]
    assert not work_of([case]).fits  # consolidation has no constant speed


def test_it_counts_in_the_content_id():
    case = together(2)
    assert content_id(case) != content_id(replace(case, consolidated_us=None))
    assert content_id(case) != content_id(replace(case, consolidated_us=TABLE + 1))


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        (np.ones((2, 1, 1)), {}, "consolidated_us"),
        ([[[1.0, np.nan, 2.0]]], {}, "up to the largest number"),
        ([[[-1.0]]], {}, "0 or more"),
        (TABLE, {"affinity": ((0.0, 1.0),), "kinds": [1]}, "1 x 2"),
        (np.tile(TABLE, (1, 2, 1)), {"affinity": ((0.0, 1.0),), "kinds": [1]}, "affinity above 0"),
    ],
)
def test_a_wrong_table_is_refused(table, more, words):
    with pytest.raises(vs.InputError, match=words):
        together(1, consolidated_us=np.array(table), **more)


def test_a_table_next_to_measured_times_or_endless_tasks_is_refused():
    case = together(1)
    with pytest.raises(vs.InputError, match="both"):
        replace(case, workload=replace(case.workload, times_us=np.array([[3.0]])))
    with pytest.raises(vs.InputError, match="without end"):
        replace(case, workload=replace(case.workload, operations=np.array([np.inf])))
