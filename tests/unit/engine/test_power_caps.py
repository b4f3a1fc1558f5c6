"""Power caps by hand."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.most_room import MostRoom
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.identity import content_id
from vinesim.state.queries import nothing, oldest_pending, start

POLICIES = ["high", "flat", "pref", "fcfs", "edf", "delay", "easy_backfill", "conservative_backfill", "priority",
            "srtf", "drf", "fgd", "gpu_packing", "earliest_finish", "symphony"]  # fmt: skip
PLAIN = vs.ProcessorType("GPU", idle_power_w=50.0, dynamic_power_w=100.0)


def scenario(policy, jobs, n_racks=1, kind=PLAIN, power_w=None, units=4, caps=(), cap=None, **columns):
    """Racks of nodes with one unit each. A job: arrival, time, tasks. ``caps`` are those of the racks."""
    arrival, time, n_tasks = zip(*jobs, strict=True)
    n = sum(n_tasks)
    work = vs.Workload(
        [0] * len(jobs), np.cumsum([0, *n_tasks]), list(map(float, arrival)), np.repeat(np.array(time, float), n_tasks),
        *np.zeros((3, n)), [-1] * n, task_types=(vs.TaskType("T"),), **columns,
    )  # fmt: skip
    center = vs.Datacenter.of([(kind.name, rack, shelf) for rack in range(n_racks) for shelf in range(units)], [kind])
    center = replace(center, power_cap_w=cap, rack_power_cap_w=np.array(caps, float) if caps else None)
    table = None if power_w is None else [[power_w]]
    return vs.Scenario(center, work, policy, affinity=[[1.0]], power_w=table)


def begins(case, engine="reference"):
    return vs.simulate(case, engine=engine).tasks["init_us"].tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("k", [1, 3])
def test_of_equal_tasks_as_many_run_at_once_as_the_cap_has_power_for(policy, k):
    """Eight idle units draw 400 W, each task adds 100 W: k of them run at once, whatever units are free."""
    case = scenario(policy, [(0, 10, 9)], n_racks=2, cap=400.0 + 100.0 * k)
    assert sorted(begins(case)) == [10.0 * (i // k) for i in range(9)]


def test_both_engines_count_alike():
    case = scenario("high", [(0, 10, 9)], n_racks=2, cap=750.0)
    assert begins(case, "compiled") == begins(case)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_rack_without_power_leaves_its_units_idle_and_other_racks_take_the_tasks(policy):
    case = scenario(policy, [(0, 10, 6)], n_racks=2, caps=[300.0, np.inf])
    done = vs.simulate(case, engine="reference")
    init_us = done.tasks["init_us"]
    assert sorted(init_us.tolist()) == [0.0] * 5 + [10.0]  # what backfilling plans ahead knows of no cap
    assert sorted(done.tasks["rack"][init_us == 0.0].tolist()) == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])  # compiles: 25 s
@pytest.mark.parametrize(
    ("power", "n_units", "rack"),
    [(300.0, 1, 1), (400.0, 1, 0), (300.0, 2, 1), (400.0, 2, 0)],
)
def test_the_tasks_that_a_node_has_room_for_together_share_the_power_of_its_rack(engine, power, n_units, rack):
    """Six units of a node, whose rack has some power left, and four of one with all that it needs."""
    center = vs.Datacenter([0] * 10, [0] * 6 + [1] * 4, [0] * 10, (PLAIN,))
    center = replace(center, rack_power_cap_w=np.array([300.0 + power, np.inf]))
    work = vs.Workload(
        [0, 0], [0, 1, 2], [0.0, 50.0], [10.0, 10.0], *np.zeros((3, 2)), [-1, -1], task_types=(vs.TaskType("T"),),
        units=[n_units, 2],
    )  # fmt: skip
    done = vs.simulate(vs.Scenario(center, work, MostRoom(), affinity=[[1.0]]), engine=engine)
    assert done.tasks["rack"][0] == rack


def test_the_summary_says_each_cap_and_the_peak():
    case = scenario("high", [(0, 10, 6)], n_racks=2, caps=[350.0, np.inf], cap=5e3)
    found = vs.simulate(case, engine="reference").summary["power_caps"]
    assert found == {"rack 0": {"cap_w": 350.0, "peak_w": 300.0}, "the datacenter": {"cap_w": 5e3, "peak_w": 900.0}}


def test_without_a_cap_the_summary_says_nothing_and_the_id_is_as_before():
    case = scenario("high", [(0, 10, 6)])
    assert "power_caps" not in vs.simulate(case, engine="reference").summary
    infinite = replace(case, datacenter=replace(case.datacenter, rack_power_cap_w=np.array([np.inf])))
    assert content_id(infinite) == content_id(case)
    assert content_id(replace(case, datacenter=replace(case.datacenter, power_cap_w=9e3))) != content_id(case)


@pytest.mark.parametrize(
    ("kind", "power_w", "most"),
    [
        (replace(PLAIN, sleep_power_w=10.0), None, 10.0 * 3 + 150.0),
        (vs.ProcessorType("GPU", idle_power_w=20.0), 120.0, 20.0 * 3 + 120.0),
        (vs.ProcessorType("GPU", idle_power_w=20.0), 5.0, 20.0 * 4),  # the least is the idle power
        (vs.ProcessorType("GPU", power_curve_w=(30.0, *[60.0] * 9, 40.0)), None, 30.0 * 3 + 60.0),  # never less
    ],
)
def test_one_task_fits_under_a_cap_of_just_what_it_draws(kind, power_w, most):
    case = scenario("high", [(0, 10, 2)], kind=kind, power_w=power_w, caps=[most])
    is_free = most == 80.0  # a task whose unit draws no more than an idle one
    assert begins(case) == [0.0, 0.0 if is_free else 10.0]
    if not is_free:
        with pytest.raises(vs.InputError, match="adds at most"):
            vs.simulate(replace(case, datacenter=replace(case.datacenter, rack_power_cap_w=np.array([most - 0.001]))))


def test_the_curve_is_followed_between_its_points():
    """Slots of a quarter each: 30 W idle, then 42.5, 55, 65, 70 W."""
    curve = (30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 59.0, 63.0, 67.0, 68.0, 70.0)
    kind = vs.ProcessorType("GPU", power_curve_w=curve, capacity=4.0)
    for cap, n in ((42.4, 0), (42.5, 1), (54.9, 1), (55.0, 2), (64.9, 2), (65.0, 3), (70.0, 4)):
        case = scenario("high", [(0, 10, 5)], kind=kind, units=1, caps=[cap])
        if n == 0:
            with pytest.raises(vs.InputError):
                vs.simulate(case)
        else:
            assert begins(case)[:n] == [0.0] * n
            assert begins(case)[n] == 10.0


@pytest.mark.parametrize("policy", ["fcfs", "easy_backfill", "priority"])
def test_a_gang_goes_to_the_racks_that_have_power_for_its_tasks(policy):
    """Packed it would fill the first rack, which has power for one task."""
    columns = {"gang_within": [3], "gang_spread": [False], "tasks_per_node": [0]}
    case = scenario(policy, [(0, 10, 3)], n_racks=3, caps=[300.0, 300.0, 300.0], **columns)
    done = vs.simulate(case, engine="reference")
    assert done.tasks["init_us"].tolist() == [0.0] * 3
    assert sorted(done.tasks["rack"].tolist()) == [0, 1, 2]


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_a_task_of_higher_priority_preempts_another_one_for_its_power(engine):
    """The units of its rack are free; the power is that of the first task."""
    case = scenario("priority", [(0, 10, 1), (3, 4, 1)], units=2, caps=[200.0], priority=np.array([0.0, 1.0]))
    done = vs.simulate(case, engine=engine)
    assert done.tasks["init_us"].tolist() == [7.0, 3.0]
    assert done.tasks["finish_us"].tolist() == [14.0, 7.0]


def test_what_ends_at_an_instant_frees_its_power_for_what_starts_then():
    case = scenario("high", [(0, 10, 1), (10, 10, 1)], caps=[300.0])
    assert begins(case) == [0.0, 10.0]


@dataclass(frozen=True)
class Greedy(OnlinePolicy):
    name: ClassVar[str] = "test_greedy"

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        return start(task, task) if task >= 0 else nothing()


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_start_that_breaks_a_cap_is_an_error_that_names_the_rule(engine):
    case = scenario(Greedy, [(0, 10, 2)], caps=[300.0])
    with pytest.raises(vs.PolicyError, match="only if the power caps of the rack and of the datacenter leave power"):
        vs.simulate(case, engine=engine)


def test_caps_below_the_draw_of_idle_units_are_listed():
    with pytest.raises(vs.InputError) as wrong:
        scenario("high", [(0, 10, 1)], n_racks=2, caps=[199.0, 150.0], cap=300.0)
    assert [problem.where for problem in wrong.value.problems] == [
        "datacenter.rack_power_cap[0]", "datacenter.rack_power_cap[1]", "datacenter.power_cap",
    ]  # fmt: skip
    assert "at least 400 W" in str(wrong.value)


def test_a_cap_needs_the_powers_of_all_types_that_run_tasks():
    with pytest.raises(vs.InputError, match="the power of GPU, which runs tasks"):
        scenario("high", [(0, 10, 1)], kind=vs.ProcessorType("GPU"), cap=300.0)


@pytest.mark.parametrize("policy", ["ff", "rb_fifo", "optimal"])
def test_a_policy_that_does_not_ask_what_fits_is_refused(policy):
    given = replace(scenario(policy, [(0, 10, 1)], cap=900.0), reservations=(vs.Reservation("upgrade", 5.0, 6.0),))
    with pytest.raises(vs.InputError, match="does not ask what fits") as refused:
        vs.simulate(given)
    places = [problem.where for problem in refused.value.problems if "does not ask what fits" in problem.expected]
    assert places == ["datacenter.power_cap", "reservations"]


def test_a_live_scheduler_refuses_caps():
    with pytest.raises(vs.InputError, match="does not know what its nodes draw"):
        vs.Scheduler(scenario("high", [(0, 10, 1)], cap=900.0).datacenter, "fcfs")
