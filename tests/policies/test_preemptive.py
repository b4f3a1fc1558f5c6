"""The policies that preempt by rank: their rule against plain loops, by hand, and what their options do."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from tests.partitions import partition_scenario
from tests.policies.kinds.ranked_plainly import LasPlainly, RankedPlainly
from tests.properties.equivalence import Refused, run, unlike
from tests.real_nodes import real_scenario
from tests.strategies import Limits, seeded_scenario, with_policy
from tests.unit.engine.test_early_ends import case, ends
from vinesim.model.result import PREEMPTED
from vinesim.model.workload import ANYWHERE, NO_GANG
from vinesim.policies.preemptive import las as las_module
from vinesim.policies.preemptive import srtf, victims

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
LIMITS = Limits(units=6, jobs=10, outages=True, early=True)
KINDS = {
    "single units": lambda seed: seeded_scenario(seed, limits=LIMITS),
    "real nodes": lambda seed: real_scenario(seed, has_outages=seed % 3 == 0, early=True),
    "gangs": lambda seed: gang_scenario(seed, early=seed % 2 == 1),
    "partitions": lambda seed: partition_scenario(seed, early=seed % 2 == 1),
    "shared speed": lambda seed: partition_scenario(seed, early=seed % 2 == 1, has_rates=True),
}


@cache
def of_kind(kind, seed):
    """The scenario of a seed, to be run under each of the policies."""
    return KINDS[kind](seed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["priority", "srtf", "las"])
def test_the_rule_is_that_of_plain_loops(name, kind):
    n_preempted = 0
    for seed in range(40) if kind == "partitions" else (*range(12), 14, 26):
        # gangs, 26: a task of a group is preempted after the one before it was withdrawn; shared speed, 14: ranks are
        # other ones while tasks are supposed away
        options = {"quantum_us": 5.0, "levels": 3, "factor": 2.0} if name == "las" else {}
        case = of_kind(kind, seed)
        mine = run(with_policy(case, name, options), "reference")
        if name == "las":
            plain = run(with_policy(case, LasPlainly, options), "reference")
        else:
            plain = run(with_policy(case, RankedPlainly, {"by_time": name == "srtf"}), "reference")
        apart = ("provenance", "n_events") if name == "las" else ("provenance",)  # las may wake up for nothing
        assert [found for found in unlike(mine, plain) if not any(word in found for word in apart)] == [], seed
        if not isinstance(mine, Refused) and mine.outcome.early is not None:
            n_preempted += int((mine.outcome.early.why == PREEMPTED).sum())
    assert n_preempted > 4


def test_priority_then_age():
    """An unit, three tasks of 10 us at 0, 1 and 2: the urgent one runs as it comes, then the oldest goes on."""
    assert ends(case([0.0, 1.0, 2.0], [10.0] * 3, "priority", priority=[0.0, 0.0, 1.0])) == [20.0, 30.0, 12.0]


def test_the_shortest_remaining_time():
    """At 4 the first has 6 left: 7 us wait, 5 us preempt it."""
    assert ends(case([0.0, 4.0], [10.0, 7.0], "srtf")) == [10.0, 17.0]
    assert ends(case([0.0, 4.0], [10.0, 5.0], "srtf")) == [15.0, 9.0]


def test_the_scheduler_goes_by_its_estimates():
    assert ends(case([0.0, 4.0], [10.0, 5.0], "srtf", estimate_us=[8.0, 5.0])) == [10.0, 15.0]


def of_units(scenario, units, shelf):
    """The scenario with this number of units for each task, and units on these shelves."""
    work, center = replace(scenario.workload, units=units), replace(scenario.datacenter, shelf=shelf)
    return replace(scenario, workload=work, datacenter=center)


def las(options, *given, **more):
    return replace(case(*given, "las", **more), options=options)


def test_las_takes_the_unit_from_a_task_that_reaches_the_next_level():
    """Of 10 us each, from 0 on and 1: the first has had its quantum of 4 at 4, the second at 8."""
    scenario = las({"quantum_us": 4.0}, [0.0, 1.0], [10.0, 10.0])
    assert ends(scenario) == [14.0, 20.0]
    assert ends(replace(scenario, options={"quantum_us": 4.0, "levels": 1})) == [10.0, 20.0]
    assert ends(replace(scenario, options={"quantum_us": 20.0})) == [10.0, 20.0]


def test_the_factor_is_between_the_levels():
    """The levels end at 2 and 4, or at 2 and 6: then the task is preempted for the one of the same level."""
    scenario = las({"quantum_us": 2.0, "levels": 3, "factor": 2.0}, [0.0, 0.0], [10.0, 10.0])
    assert vs.simulate(scenario, engine="reference").segments["end_us"].tolist() == [2.0, 6.0, 14.0, 4.0, 8.0, 20.0]
    table = vs.simulate(replace(scenario, options={**scenario.options, "factor": 3.0}), engine="reference").segments
    assert table["end_us"].tolist() == [2.0, 8.0, 16.0, 4.0, 12.0, 20.0]


def test_las_counts_units_times_time():
    """Two units for 2 us are a quantum of 4, and of one task that holds one of them 4 us are."""
    scenario = las({"quantum_us": 4.0}, [0.0, 1.0], [10.0, 10.0], units=2)
    segments = vs.simulate(of_units(scenario, [2, 1], [0, 0]), engine="reference").segments
    first = np.asarray(segments["part"]) == 0
    assert np.asarray(segments["end_us"])[first].tolist()[:2] == [2.0, 14.0]


@pytest.mark.parametrize("option", [{"levels": 0}, {"factor": 0.5}, {"quantum_us": 0.0}])
def test_wrong_options_of_las(option):
    with pytest.raises(vs.InputError, match=next(iter(option))):
        vs.simulate(las(option, [0.0], [1.0]), engine="reference")


def test_only_what_is_in_the_way_leaves():
    """Two nodes of two units, three tasks of one unit. At 1 comes a short one of two units: the youngest, at the second
    node, makes room; the older ones of the first node stay."""
    scenario = case([0.0, 0.0, 0.0, 1.0], [10.0, 10.0, 10.0, 3.0], "srtf", units=4)
    assert ends(of_units(scenario, [1, 1, 1, 2], [0, 0, 1, 1])) == [10.0, 10.0, 13.0, 4.0]


def test_room_that_a_task_of_equal_priority_leaves_is_found():
    """Of 3 units, a task of all 3 is preempted by an urgent one of 2: the third is for the next that takes one."""
    scenario = case([0.0, 1.0, 2.0], [10.0, 5.0, 20.0], "priority", units=3, priority=[0.0, 0.0, 1.0])
    assert ends(of_units(scenario, [3, 1, 2], np.zeros(3))) == [30.0, 7.0, 22.0]


def test_a_gang_leaves_and_returns_as_a_whole():
    """Two units: a gang of two tasks of 10 us leaves at 4 for an urgent task of 3 us, which needs one of them."""
    work = vs.Workload(
        [0, 0], [0, 2, 3], [0.0, 4.0], [10.0, 10.0, 3.0], *np.zeros((3, 3)), np.full(3, -1),
        gang_within=[ANYWHERE, NO_GANG], priority=[0.0, 1.0],
        task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter(np.zeros(2), np.zeros(2), np.arange(2), (vs.ProcessorType("P"),))
    result = vs.simulate(vs.Scenario(center, work, "priority", affinity=[[1.0]]), engine="reference")
    assert result.tasks["finish_us"].tolist() == [13.0, 13.0, 7.0]


def test_a_preemption_makes_room_in_a_quota_at_once():
    """Four units, of which users have at most four: at 20 an urgent task of two preempts the first, and the second, of
    the same user, starts on the others."""
    scenario = case([0.0, 10.0, 20.0], [100.0, 10.0, 10.0], "priority", units=4, priority=[0.0, 5.0, 5.0])
    scenario = of_units(scenario, [4, 2, 2], [0] * 4)
    users = {"user": [0, 0, 1], "user_names": ("ada", "bob"), "partition": [0] * 3, "partition_names": ("p",)}
    work, partitions = replace(scenario.workload, **users), (vs.Partition("p", user_quota={"P": 4.0}),)
    scenario = replace(scenario, workload=work, partitions=partitions)
    assert vs.simulate(scenario, engine="reference").tasks["init_us"].tolist() == [30.0, 20.0, 20.0]


def counted(monkeypatch, module, name):
    """Count the calls of a function; return the list that grows by one with each."""
    calls, function = [], getattr(module, name)

    def and_count(*given):
        calls.append(name)
        return function(*given)

    monkeypatch.setattr(module, name, and_count)
    return calls


@pytest.mark.parametrize(
    ("name", "module", "rank"), [("las", las_module, "by_level"), ("srtf", srtf, "longest_left_us")]
)
def test_a_round_does_not_look_at_all_running_tasks(monkeypatch, name, module, rank):
    """On 60 units run 60 long tasks, and 60 short ones preempt them one by one: not all ranks are found each time."""
    calls = counted(monkeypatch, module, rank)
    long, short = 1000.0 + 200.0 * np.arange(60), np.full(60, 100.0)
    options = {"quantum_us": 200.0} if name == "las" else {}
    arrival = np.concatenate([np.zeros(60), 220.0 + np.arange(60)])
    scenario = replace(case(arrival, np.concatenate([long, short]), name, 60), options=options)
    result = vs.simulate(scenario, engine="reference")
    assert (result.outcome.early.why == PREEMPTED).sum() == 60
    assert len(calls) < 12 * 120


def test_a_group_without_room_is_not_tried_again_for_each_arrival(monkeypatch):
    """A task of 8 units waits for two nodes of 8, of which 4 units would make room; 30 tasks of lower priority come."""
    calls = counted(monkeypatch, victims, "fastest_free")
    arrival = np.concatenate([np.zeros(16), [0.5], 1.0 + np.arange(30)])
    priority = np.repeat([3.0, 1.0, 2.0, 0.0], [12, 4, 1, 30])
    scenario = case(arrival, np.full(47, 1000.0), "priority", units=16, priority=priority)
    scenario = of_units(scenario, [1] * 16 + [8] + [1] * 30, np.arange(16) // 8)
    vs.simulate(replace(scenario, horizon_us=900.0), engine="reference")
    assert 0 < len(calls) < 10
